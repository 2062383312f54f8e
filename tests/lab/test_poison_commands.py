import csv
import json

import pytest
import typer
from typer.testing import CliRunner

from equipoise.cli import lab_poison
from equipoise.data import contested
from equipoise.errors import InputError
from equipoise.lab.pack import Document, Origin, Pack, Question, Topic, read_pack, write_pack
from equipoise.lab.poison.folder import read_poisoned
from equipoise.types import Stance

TOPICS = contested()[:2]


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    documents = [
        Document(
            d.id, d.text, Origin(d.metadata["origin"]), "own", t.name, Stance(d.metadata["stance"])
        )
        for t in TOPICS
        for d in t.documents
    ]
    made = Pack(
        "two topics",
        tuple(Topic(t.name, t.name, t.name) for t in TOPICS),
        tuple(Question(t.name, t.name, t.question) for t in TOPICS),
        tuple(documents),
    )
    folder = tmp_path_factory.mktemp("pack")
    write_pack(made, folder)
    return folder


@pytest.fixture
def run(tmp_path, monkeypatch):
    app = typer.Typer(pretty_exceptions_enable=False)
    for command in (lab_poison.poison, lab_poison.attack, lab_poison.properties, lab_poison.form):
        app.command()(command)
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        done = CliRunner().invoke(app, [str(a) for a in arguments])
        if isinstance(done.exception, InputError):
            raise done.exception
        assert done.exit_code == 0, (done.output, done.exception)
        return done.stdout

    return call


def test_all_writes_the_eight_corpora(run, pack, tmp_path):
    rows = json.loads(run("poison", pack, "--all", "-o", "out", "--json"))
    assert [(r["direction"], r["n"], r["planted"]) for r in rows] == [
        (side, n, 2 * n) for side in ("pro", "con") for n in (2, 4, 5, 7)
    ]
    read = read_pack(pack)
    for row in rows:
        made = read_poisoned(tmp_path / row["folder"], read)
        assert made.mean_share == row["mean_share"] == pytest.approx(row["n"] / (16 + row["n"]))


def test_one_corpus_goes_into_the_folder_itself(run, pack, tmp_path):
    said = run("poison", pack, "--direction", "con", "--n", 3, "-o", "out")
    assert said.startswith("out: 6 documents planted, mean share 15.8%")
    assert (tmp_path / "out" / "planted.jsonl").exists()


@pytest.mark.parametrize(
    "options", [(), ("--all", "--direction", "pro"), ("--all", "--n", "2"), ("--direction", "up")]
)
def test_what_to_plant_must_be_said_once(run, pack, options):
    with pytest.raises(InputError):
        run("poison", pack, "-o", "out", *options)


def test_a_model_without_an_nli_checkpoint_needs_a_word_that_support_is_not_checked(run, pack):
    with pytest.raises(InputError, match="--allow-unchecked support"):
        run("poison", pack, "--direction", "pro", "--model", "local", "-o", "out")
    with pytest.raises(InputError, match="--allow-unchecked support"):
        run("attack", pack, "--direction", "pro", "--model", "local", "-o", "out")


def test_the_attack_says_how_many_came_above_the_benign(run, pack, tmp_path):
    (row,) = json.loads(run("attack", pack, "--direction", "pro", "--n", 2, "-o", "out", "--json"))
    assert row["about"]["reached"]["above_best"] == row["planted"] == 4
    made = read_poisoned(tmp_path / "out", read_pack(pack))
    assert made.attack == "ebi"
    assert made.about["axis"] == "component"


def test_properties_of_a_pack_and_of_a_corpus(run, pack):
    run("poison", pack, "--direction", "pro", "--n", 2, "-o", "out")
    rows = json.loads(run("properties", pack, "out", "--json"))["rows"]
    sizes = {row["group"]: row["documents"] for row in rows}
    assert (sizes["genuine"], sizes["injected pro"], sizes["injected con"]) == (32, 4, 0)
    assert all(row["nearest_median"] is not None for row in rows if row["documents"])
    assert "| injected con | 14 |" in run("properties", pack, "--embedder", "none")


def test_a_form_is_written_filled_in_and_scored(run, pack, tmp_path):
    run("poison", pack, "--all", "-o", "out")
    run("form", pack, "out/pro-7", "out/con-7", "-o", "form")
    key = json.loads((tmp_path / "form" / "key.json").read_text())["items"]
    assert len(key) == 12
    with (tmp_path / "filled.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["item", "side", "one_sided", "supported"])
        lines.writerows([item, entry["intended"], "yes", "no"] for item, entry in key.items())
    scored = json.loads(run("form", "--score", "filled.csv", "--score", "filled.csv",
                            "--key", "form/key.json", "--json"))  # fmt: skip
    (counts,) = scored["counts"].values()
    assert {row["criterion"]: row["rate"] for row in counts} == {
        "supported": 0.0,
        "one_sided": 1.0,
        "direction": 1.0,
    }
    assert scored["agreement"][0]["kappa"] == 1.0
    said = run("form", "--score", "filled.csv", "--key", "form/key.json")
    assert "direction: 12 passed, 0 failed" in said


@pytest.mark.parametrize(
    "options", [(), ("--score", "x.csv"), ("-o", "form"), ("--score", "x", "--key", "k", "-o", "o")]
)
def test_a_form_needs_to_know_what_to_do(run, options):
    with pytest.raises(InputError):
        run("form", *options)
