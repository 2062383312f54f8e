"""`equipoise lab quality`, `shift`, `latency` and `publish` from the command line."""

import csv
import io
import json

import pytest

from equipoise.cli import main
from equipoise.lab.answers.publish import check_wordless
from equipoise.lab.pack import Document, Origin, Pack, Question, Topic, write_pack
from equipoise.lab.quality.form import FIELDS, read_key

from .toy_answers import A, C, answer, said, write

SIDES = {"pro": "good for children", "con": "bad for animals", "neutral": "open since long ago"}
PACK = Pack(
    "small",
    (Topic("zoos", "animals", "Zoos"), Topic("cats", "pets", "Cats")),
    (
        Question("zoos-1", "zoos", "Should zoos stay open?"),
        Question("cats-1", "cats", "Should cats stay inside?"),
    ),
    tuple(
        Document(f"{topic}-{side}-{n}", f"{topic} are {words} in case {n}.",
                 Origin.NEUTRAL if side == "neutral" else Origin.GENUINE, "toy", topic, side)
        for topic in ("zoos", "cats")
        for side, words in SIDES.items()
        for n in (1, 2)
    ),
)  # fmt: skip


@pytest.fixture
def folders(tmp_path):
    write_pack(PACK, tmp_path / "pack")
    for defence, corpus in ((A, "clean"), (C, "clean"), (A, "stance-pro-3"), (C, "stance-pro-3")):
        settings = said(defence, corpus, PACK)
        rows = [
            {**answer(settings, "zoos-1", f"{topic} are good for children."), "topic": topic,
             "group": group, "question": f"{topic}-1", "key": f"{defence[0]}{corpus}{topic}",
             "chosen": [f"{topic}-pro-1", f"{topic}-con-1"]}
            for topic, group in (("zoos", "animals"), ("cats", "pets"))
        ]  # fmt: skip
        write(tmp_path / "run", (settings, rows))
    return tmp_path


def call(capsys, monkeypatch, *arguments):
    """Exit status, what stands on stdout, and on stderr."""
    monkeypatch.setattr("sys.argv", ["equipoise", "lab", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    said_of_it = capsys.readouterr()
    return end.value.code, said_of_it.out, said_of_it.err


def test_a_form_goes_out_and_comes_back_with_two_raters(folders, capsys, monkeypatch):
    run, form = folders / "run", folders / "form"
    done = call(capsys, monkeypatch, "quality", "form", run, folders / "pack", "-o", form, "--json")
    assert (done[0], json.loads(done[1])["pairs"]) == (0, 2)
    items = read_key(form / "key.json")["items"]
    for name in ("ann", "bob"):
        lines = io.StringIO()
        writer = csv.DictWriter(lines, ["item", *FIELDS])
        writer.writeheader()
        for item, entry in items.items():
            marks = {
                field: "5" if entry["order"][int(field[-1]) - 1] == "C" else "3"
                for field in FIELDS
                if field != "preference"
            }
            best = str(entry["order"].index("C") + 1)
            writer.writerow({"item": item, **marks, "preference": best})
        (form / f"{name}.csv").write_text(lines.getvalue(), "utf-8")
    code, out, _ = call(
        capsys, monkeypatch, "quality", "score", run, "--key", form / "key.json", "--json",
        *("--filled", form / "ann.csv", "--rater", "Ann"),
        *("--filled", form / "bob.csv", "--rater", "Bob"),
    )  # fmt: skip
    found = json.loads(out)
    assert code == 0
    assert [one["rater"] for one in found["raters"]] == ["Ann", "Bob"]
    for one in found["raters"]:
        assert {c["name"]: c["change"]["value"] for c in one["changes"]}["coverage"] == 2.0
        assert one["preferences"]["C"] == 2
    assert found["agreement"][0]["on"][0]["kappa"] == 1.0
    code, out, _ = call(capsys, monkeypatch, "quality", "score", run)
    assert "### Ann and Bob" in out


def test_measures_are_printed_with_what_they_are_not(folders, capsys, monkeypatch):
    code, out, _ = call(
        capsys, monkeypatch, "quality", "measure", folders / "run", folders / "pack"
    )
    assert code == 0
    assert "| both_sides |" in out
    assert "no ratings" in out


def test_shifts_are_written_and_printed(folders, capsys, monkeypatch):
    code, out, err = call(capsys, monkeypatch, "shift", folders / "run", folders / "pack")
    assert code == 0
    assert "| hf/toy-1 | stance-pro-3 | quota_prompt | 0.000" in out
    assert "shift.jsonl" in err


def test_latencies_are_written_and_printed(folders, capsys, monkeypatch):
    path = folders / "latency.json"
    code, out, _ = call(
        capsys, monkeypatch, "latency", folders / "pack", "-o", path,
        *("--questions", 1, "--counts", "1,2", "--threads", 1),
    )  # fmt: skip
    found = json.loads(path.read_text("utf-8"))
    assert code == 0
    assert [row["count"] for row in found["labelling"]] == [1, 2]
    assert all(row["median_ms"] > 0 for row in found["labelling"])
    assert found["no_counterpart"]["six-fold routing"].startswith("no")
    assert "| 2 | 1 |" in out
    check_wordless(found, path.name)  # so that it can be published


def test_a_published_copy_holds_no_answer(folders, capsys, monkeypatch):
    for name in (("quality", "measure"), ("shift",)):
        assert call(capsys, monkeypatch, *name, folders / "run", folders / "pack")[0] == 0
    code, out, _ = call(
        capsys, monkeypatch, "publish", folders / "run", "-o", folders / "copy", "--json"
    )
    lines = {"answers.jsonl": 12, "quality.jsonl": 3, "shift.jsonl": 13}
    assert (code, json.loads(out)["lines"]) == (0, lines)
    assert "good for children" not in (folders / "copy" / "answers.jsonl").read_text("utf-8")


@pytest.mark.parametrize(
    "arguments",
    [
        ("quality", "score", "run", "--filled", "x.csv"),
        ("quality", "score", "run", "--key", "key.json"),
        ("quality", "judge", "run", "pack", "--model", "hf/toy-2"),
        ("shift", "run", "pack", "--reference", "mine"),
        ("latency", "pack", "-o", "latency.json", "--counts", "one"),
        ("latency", "pack", "-o", "latency.json", "--generator", "openai/gpt-5"),
        ("publish", "run", "-o", "run"),
    ],
)
def test_misuse_ends_with_two_and_a_message(folders, capsys, monkeypatch, arguments):
    monkeypatch.chdir(folders)
    code, out, err = call(capsys, monkeypatch, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("equipoise: ") or "Without a pair" in err
