import json

import pytest
import typer
from typer.testing import CliRunner

from equipoise.cli.lab_ps import ps
from equipoise.errors import InputError

FOR = ["Ban tea: it ruins sleep.", "Tea should be forbidden at once, for it harms us all."]
AGAINST = ["Let people drink tea, it does good.", "Tea is a harmless joy and must stay legal."]
ANCHORS = [(text, "pro") for text in FOR] + [(text, "con") for text in AGAINST]
TEXTS = [
    ("A ban on tea would protect the sleep of many people.", "pro"),
    ("Tea does good and harms nobody.", "con"),
]


def write(path, rows, *, stances=True):
    lines = [
        json.dumps({"text": text, **({"stance": stance} if stances else {})})
        for text, stance in rows
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def run(*arguments):
    app = typer.Typer()
    app.command()(ps)
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def files(tmp_path):
    return write(tmp_path / "a.jsonl", ANCHORS), write(tmp_path / "t.jsonl", TEXTS)


def test_the_axis_the_variance_and_the_score_of_each_text_are_printed(files):
    told = run(*files)
    assert "4 anchors; variance along the axis: " in told
    assert "Positive is pro." in told
    assert "A ban on tea would protect" in told


def test_json_holds_scores_of_every_component_and_the_check(files):
    data = json.loads(run(*files, "--components", "2", "--json"))
    assert data["anchors"] == 4
    assert len(data["explained"]) == len(data["signs_fixed"]) == 2
    assert 0 < data["explained"][1] <= data["explained"][0] <= 1
    assert [len(row["score"]) for row in data["texts"]] == [2, 2]
    assert data["check"]["texts"] == 2
    assert "minilm" in data["embedder"].lower()


def test_an_axis_of_means_puts_the_text_for_it_above_the_one_against(files):
    data = json.loads(run(*files, "--means", "--json"))
    pro, con = (row["score"][0] for row in data["texts"])
    assert pro > con
    assert data["check"]["auc"] == 1.0


def test_without_stances_the_end_that_is_pro_is_not_claimed(tmp_path):
    anchors = write(tmp_path / "a.jsonl", ANCHORS, stances=False)
    texts = write(tmp_path / "t.jsonl", TEXTS, stances=False)
    told = run(anchors, texts)
    assert "Which end is pro is not known" in told
    assert "spearman" not in told
    assert json.loads(run(anchors, texts, "--json"))["check"] is None


def test_files_that_will_not_do_are_refused(tmp_path, files):
    anchors, texts = files
    empty = write(tmp_path / "e.jsonl", [])
    blank = write(tmp_path / "b.jsonl", [(" ", "pro")])
    bare = write(tmp_path / "n.jsonl", ANCHORS, stances=False)
    half = tmp_path / "h.jsonl"
    half.write_text('{"text": "a", "stance": "pro"}\n{"text": "b"}\n', encoding="utf-8")
    for arguments, match in (
        ((empty, texts), "at least one text"),
        ((anchors, blank), "row 1 must be an object with a 'text'"),
        ((str(half), texts), "row 2 must have a 'stance'.*Mark every row, or none"),
        ((bare, texts, "--means"), "row 1 must have a 'stance'"),
        ((anchors, texts, "--means", "--components", "2"), "leave out --components"),
        ((anchors, texts, "--components", "9"), "9 components"),
    ):
        with pytest.raises(InputError, match=match):
            run(*arguments)
