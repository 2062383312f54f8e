"""End to end, with the bundled detector, on two topics of the embedded corpus."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from equipoise import data
from equipoise.types import Candidate

pytest.importorskip("faiss")
pytest.importorskip("bm25s")

TOPICS = ("nuclear-power", "zoos")


def run(*arguments: str | Path, given: str | None = None, expect: int = 0) -> tuple[str, str]:
    command = [sys.executable, "-m", "equipoise", *map(str, arguments)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == expect, done.stderr
    return done.stdout, done.stderr


def lines(documents: list[Candidate], **more: str) -> str:
    rows = ({"id": d.id, "text": d.text, "source": "toy", **more} for d in documents)
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a clean and a poisoned index, questions, and a clean audit."""
    folder = tmp_path_factory.mktemp("audit")
    topics = [topic for topic in data.contested() if topic.name in TOPICS]
    assert len(topics) == 2
    clean = [document for topic in topics for document in topic.clean()]
    planted = list(topics[0].planted("pro"))
    (folder / "clean.jsonl").write_text(lines(clean, date="2026-01-05"))
    (folder / "planted.jsonl").write_text(lines(planted, date="2026-02-01"))
    both = lines(clean, date="2026-01-05") + lines(planted, date="2026-02-01")
    (folder / "both.jsonl").write_text(both)
    (folder / "q.txt").write_text("".join(f"{topic.question}\n" for topic in topics))
    for name in ("clean", "both"):
        run("index", folder / f"{name}.jsonl", "-o", folder / name)
    common = ("--near", "40", "--labels", folder / "labels")
    run("audit", "-i", folder / "clean", "-q", folder / "q.txt", "-o", folder / "clean.audit",
        "--date", "2026-01-31", *common)  # fmt: skip
    return folder


@pytest.mark.slow
def test_planted_documents_are_a_shift_at_their_question_alone(world: Path) -> None:
    common = ("--near", "40", "--labels", world / "labels", "--html", world / "page.html")
    options = ("--against", world / "clean.audit", "--fail-on", "shift", "--date", "2026-02-28")
    out, err = run("audit", "-i", world / "both", "-q", world / "q.txt", "--json",
                   *options, *common, expect=1)  # fmt: skip
    head, first, second = map(json.loads, out.splitlines())
    assert (head["date"], head["against"]) == ("2026-02-28", "2026-01-31")
    shifts = [[f for f in q["findings"] if f["kind"] == "shift"] for q in (first, second)]
    assert [(f["group"], f["side"]) for f in shifts[0]] == [("arrived", "pro")]
    assert shifts[1] == []
    assert "Failed: shift: 1 of 2 questions" in err
    assert first["months"]["2026-02"]["pro"] >= 4
    assert first["spread"]["sd"] > 0
    assert (world / "page.html").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.slow
def test_the_same_audit_again_is_the_same_and_passes(world: Path) -> None:
    out, _ = run("audit", "-i", world / "clean", "-q", world / "q.txt", "--near", "40",
                 "--labels", world / "labels", "--date", "2026-01-31", "--json",
                 "--fail-on", "shift,copies", "--against", world / "clean.audit")  # fmt: skip
    old = (world / "clean.audit").read_text().splitlines()
    assert out.splitlines()[1:] == old[1:]


@pytest.mark.slow
def test_the_gate_reads_a_pipe_and_keeps_the_planted_apart(world: Path) -> None:
    given = (world / "planted.jsonl").read_text()
    options = ("-i", world / "clean", "-q", world / "q.txt", "--near", "40")
    cache = ("--labels", world / "labels")
    apart = world / "apart.jsonl"
    out, err = run("audit", "ingest", *options, *cache, "--quarantine", apart, given=given)
    held = [json.loads(line) for line in apart.read_text().splitlines()]
    accepted = [json.loads(line)["id"] for line in out.splitlines()]
    assert len(held) >= 4
    assert sorted([*accepted, *(row["id"] for row in held)]) == sorted(
        json.loads(line)["id"] for line in given.splitlines()
    )
    assert all(row["reasons"] and row["document"]["text"] for row in held)
    assert "held" in err
    out, _ = run("audit", "ingest", *options, *cache, "--mode", "strict", given=given, expect=1)
    assert out == ""
    out, _ = run("audit", "ingest", *options, *cache, "--mode", "warn", given=given)
    assert len(out.splitlines()) == 7


def test_misuse_ends_with_2(world: Path) -> None:
    _, err = run("audit", expect=2)
    assert "give --index and --questions" in err
    options = ("-i", world / "clean", "-q", world / "q.txt")
    _, err = run("audit", *options, "--fail-on", "bias", expect=2)
    assert "--fail-on takes" in err
    _, err = run("audit", *options, "--fail-on", "one-sided,shift", expect=2)
    assert "--fail-on shift needs an earlier audit" in err
    _, err = run("audit", *options, "--date", "2026-13-01", expect=2)
    assert "--date must be a date such as" in err
    twice = world / "twice.txt"
    twice.write_text("Should zoos be banned?\nshould  zoos be banned?\n")
    _, err = run("audit", "-i", world / "clean", "-q", twice, expect=2)
    assert "'2' asks what '1' asks" in err
    standing = ("-i", world / "clean", "--standing", world / "clean.audit", "--mode", "warn")
    _, err = run("audit", "ingest", *standing, "--near", "50", given="", expect=2)
    assert "--near and --floor are those of the --standing audit" in err
    _, err = run("audit", "ingest", *options, given="", expect=2)
    assert "--quarantine" in err
    run("audit", "propose", expect=2)


@pytest.mark.slow
def test_a_store_is_audited_as_its_folder_is(world: Path) -> None:
    common = ("-q", world / "q.txt", "--near", "40", "--labels", world / "labels", "--json")
    folder, _ = run("audit", "-i", world / "both", *common, "--date", "2026-02-28")
    store, _ = run("audit", "-i", f"faiss:{world / 'both'}", *common, "--date", "2026-02-28")
    (head, *by_folder), (other, *by_store) = (
        [json.loads(line) for line in text.splitlines()] for text in (folder, store)
    )
    assert by_store == by_folder
    assert other["corpus"].startswith("faiss:")
    assert other["corpus"] != head["corpus"]
    _, err = run("audit", "-i", f"faiss:{world / 'both'}", *common, "--mode", "bm25", expect=2)
    assert "searched by vectors only" in err


@pytest.mark.slow
def test_labels_by_ray_are_the_same(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    common = ("-q", world / "q.txt", "--near", "12", "--json", "--date", "2026-02-28")
    here, _ = run("audit", "-i", world / "both", *common, "--labels", world / "here")
    there, _ = run("audit", "-i", world / "both", *common, "--labels", world / "there",
                   "--engine", "ray", "--workers", "2")  # fmt: skip
    assert there == here
    _, err = run("audit", "-i", world / "both", *common, "--engine", "spark", expect=2)
    assert '--engine must be "local" or "ray"' in err
