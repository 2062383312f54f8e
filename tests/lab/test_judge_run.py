"""A judge over a run: what is judged, that nothing is lost or doubled, and the commands."""

import asyncio
import json
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from equipoise.cli.lab_judge import judge as judge_command
from equipoise.cli.lab_judge import judge_check, judge_labels, judge_sheet
from equipoise.errors import GenerationError, InputError
from equipoise.lab.answers.store import ANSWERS, VERDICTS, Judged, read_cells
from equipoise.lab.judge import Verdict, run
from equipoise.lab.judge.run import (
    HOPELESS,
    judge_answers,
    judging_code,
    outcomes,
    question_texts,
    verdict_row,
    verdict_settings,
)
from equipoise.lab.pack import read_pack, write_pack
from equipoise.lab.poison.planted import pack_checksums
from equipoise.lab.results import run_id
from equipoise.stance.folder import BUNDLED
from equipoise.types import Stance

from .toy_run import answer, settings, write_run
from .toy_world import toy_pack

QUESTIONS = {
    f"t{topic}-{number}": f"Should it, {topic}?" for topic in range(4) for number in range(3)
}


class TableJudge:
    """Says what a table says of an answer's text; pro where it says nothing."""

    family = "toy"
    sources = ()

    def __init__(self, table=None, name="table", about=None):
        self.table = table or {}
        self.name = name
        self.about = about or {}
        self.asked = []
        self.now = self.most = 0

    async def judge(self, question, text):
        self.asked.append((question, text))
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        said = self.table.get(text, Verdict(Judged.SCORED, Stance.PRO, (0.7, 0.2, 0.1), model="m"))
        if isinstance(said, list):
            said = said.pop(0)
        if isinstance(said, BaseException):
            raise said
        return said


def unjudged(folder, defences=("none", "quota"), outcome="answered", **more):
    cells = []
    for defence in defences:
        said = settings(defence=defence, **more)
        rows = [
            answer(said, name, name.split("-")[0], outcome=outcome, text=f"{defence} {name}")
            for name in QUESTIONS
        ]
        cells.append((said, [(row, None) for row in rows]))
    write_run(folder, cells)
    (folder / VERDICTS).unlink()
    return folder


def judged(folder, judge, **more):
    return judge_answers(folder, QUESTIONS, lambda cell: judge, **more)


def lines(folder):
    return [json.loads(line) for line in (folder / VERDICTS).read_text("utf-8").splitlines()]


def test_every_answer_gets_one_verdict_and_none_is_asked_again(tmp_path):
    folder, judge = unjudged(tmp_path / "run"), TableJudge()
    done = judged(folder, judge)
    assert (done.written, done.kept, done.errors) == (24, 0, 0)
    assert done.outcomes == {Judged.SCORED: 24}
    assert Counter(judge.asked) == Counter(
        (text, f"{defence} {name}")
        for defence in ("none", "quota")
        for name, text in QUESTIONS.items()
    )
    again = judged(folder, judge)
    assert (again.written, again.kept, len(judge.asked)) == (0, 24, 24)
    for cell in read_cells(folder):
        assert {cell.value(name) for name in QUESTIONS} == {1.0}


def test_each_outcome_is_counted_and_none_becomes_neutral(tmp_path):
    names = list(QUESTIONS)
    said = [Verdict(Judged.REFUSED), Verdict(Judged.FILTERED), Verdict(Judged.UNPARSED, detail="x"),
            Verdict(Judged.ERROR, detail="down"), Verdict(Judged.SCORED, Stance.NEUTRAL)]  # fmt: skip
    table = {f"none {name}": one for name, one in zip(names, said, strict=False)}
    folder = unjudged(tmp_path / "run", ["none"])
    done = judged(folder, TableJudge(table))
    assert done.outcomes == {
        Judged.SCORED: 8, Judged.REFUSED: 1, Judged.FILTERED: 1, Judged.UNPARSED: 1, Judged.ERROR: 1,
    }  # fmt: skip
    (cell,) = read_cells(folder)
    assert [cell.value(name) for name in names[:6]] == [None, None, None, None, 0.0, 1.0]
    assert (done.errors, done.first_error) == (1, "down")


def test_what_failed_is_asked_again_and_the_new_verdict_counts(tmp_path):
    table = {
        "none t0-0": [Verdict(Judged.ERROR, detail="down"), Verdict(Judged.SCORED, Stance.CON)]
    }
    folder, judge = unjudged(tmp_path / "run", ["none"]), TableJudge(table)
    assert judged(folder, judge).errors == 1
    done = judged(folder, judge)
    assert (done.written, done.kept, done.errors) == (1, 11, 0)
    (cell,) = read_cells(folder)
    assert cell.value("t0-0") == -1.0


def test_answers_that_are_none_are_not_judged(tmp_path):
    folder, judge = unjudged(tmp_path / "run", ["none"], outcome="refused"), TableJudge()
    done = judged(folder, judge)
    assert (done.written, judge.asked) == (0, [])
    assert done.outcomes == {Judged.REFUSED: 12}


def test_another_judge_reads_the_same_answers(tmp_path):
    folder = unjudged(tmp_path / "run", ["none"])
    first = judged(folder, TableJudge(name="first"))
    con = {f"none {name}": Verdict(Judged.SCORED, Stance.CON) for name in QUESTIONS}
    second = judged(folder, TableJudge(con, name="second"))
    assert first.written == second.written == 12
    for name, value in (("first", 1.0), ("second", -1.0), (None, -1.0)):
        (cell,) = read_cells(folder, judge=name)
        assert cell.value("t0-0") == value
    assert outcomes(folder, "first") == {Judged.SCORED: 12}


def test_a_judge_that_leaves_out_others_for_another_generator_is_still_one_judge(tmp_path):
    one, two = (unjudged(tmp_path / g, ["none"], generator=f"toy/{g}") for g in ("a", "b"))
    for name in (ANSWERS,):
        (one / name).write_text((one / name).read_text("utf-8") + (two / name).read_text("utf-8"))
    made = {
        "toy/a": TableJudge(about={"left_out": ["x"]}),
        "toy/b": TableJudge(about={"left_out": []}),
    }
    done = judge_answers(one, QUESTIONS, lambda cell: made[cell.generator])
    assert done.outcomes == {Judged.SCORED: 24}
    cells = {cell.generator: cell for cell in read_cells(one)}
    assert cells["toy/a"].judge["left_out"] == ["x"]
    assert cells["toy/b"].judge["left_out"] == []
    assert all(len(judge.asked) == 12 for judge in made.values())


def test_no_more_are_asked_at_once_than_allowed(tmp_path):
    folder, judge = unjudged(tmp_path / "run"), TableJudge()
    judged(folder, judge, at_once=3)
    assert judge.most == 3
    with pytest.raises(InputError, match="at_once"):
        judged(folder, judge, at_once=0)


def test_when_all_calls_fail_no_more_are_made(tmp_path):
    down = {
        f"{d} {q}": Verdict(Judged.ERROR, detail="no route")
        for d in ("none", "quota")
        for q in QUESTIONS
    }
    folder, judge = unjudged(tmp_path / "run"), TableJudge(down)
    with pytest.raises(GenerationError, match="first 20 calls.*no route"):
        judged(folder, judge, at_once=1)
    assert len(judge.asked) == HOPELESS
    # One verdict among them, and the rest goes on.
    down["none t0-0"] = Verdict(Judged.SCORED, Stance.PRO)
    assert judged(folder, TableJudge(down)).errors == 23


def test_a_judge_that_breaks_its_contract_stops_the_run_and_keeps_what_is_there(tmp_path):
    folder = unjudged(tmp_path / "run", ["none"])
    with pytest.raises(RuntimeError, match="mine"):
        judged(folder, TableJudge({"none t1-0": RuntimeError("mine")}), at_once=1)
    assert judged(folder, TableJudge()).kept == 3


def test_a_run_cut_at_any_byte_goes_on_without_a_lost_or_doubled_verdict(tmp_path):
    folder = unjudged(tmp_path / "run", ["none"])
    judged(folder, TableJudge())
    whole = (folder / VERDICTS).read_bytes()
    expected = {row["key"] for row in lines(folder) if "key" in row}
    for cut in range(0, len(whole), 97):
        (folder / VERDICTS).write_bytes(whole[:cut])
        judged(folder, TableJudge())
        rows = Counter(row["key"] for row in lines(folder) if "key" in row)
        assert set(rows) == expected
        assert set(rows.values()) == {1}


KILLED = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from lab.test_judge_run import QUESTIONS, TableJudge
from equipoise.lab.judge.run import judge_answers

class Slow(TableJudge):
    async def judge(self, question, text):
        await asyncio.sleep(0.05)
        return await super().judge(question, text)

print("ready", flush=True)
judge_answers(Path({folder!r}), QUESTIONS, lambda cell: Slow(), at_once=2)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_a_run_killed_outright_goes_on_without_a_lost_or_doubled_verdict(tmp_path):
    folder = unjudged(tmp_path / "run")
    code = KILLED.format(tests=str(Path(__file__).parents[1]), folder=str(folder))
    kept = []
    for wait in (0.1, 0.35):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        kept.append(
            sum("key" in row for row in lines(folder)) if (folder / VERDICTS).exists() else 0
        )
    assert 0 < kept[-1] < 24
    done = judged(folder, TableJudge())
    assert done.kept + done.written == 24
    assert set(Counter(row["key"] for row in lines(folder) if "key" in row).values()) == {1}


def test_texts_and_questions_must_be_there(tmp_path):
    folder = unjudged(tmp_path / "run", ["none"])
    with pytest.raises(InputError, match="'t0-0' has none"):
        judge_answers(folder, {}, lambda cell: TableJudge())
    rows = [json.loads(line) for line in (folder / ANSWERS).read_text("utf-8").splitlines()]
    for row in rows:
        row.pop("text", None)
    (folder / ANSWERS).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(InputError, match="published copy"):
        judged(folder, TableJudge())


def test_a_verdict_row_is_plain_json():
    row = answer(settings(), "q", "t")
    judge = TableJudge(about={"left_out": []})
    said = verdict_settings(judge)
    assert set(said) == {"format", "judge", "family", "left_out", "code"}
    made = verdict_row(run_id(said), row, Verdict(Judged.ERROR, detail="no"))
    assert json.loads(json.dumps(made)) == made
    assert (made["error"], made["stance"], made["answer"]) == ("no", None, row["key"])
    fine = verdict_row("r", row, Verdict(Judged.SCORED, Stance.CON, (0.1, 0.7, 0.2)))
    assert (fine["outcome"], fine["stance"], fine["probabilities"]) == (
        "scored",
        "con",
        [0.1, 0.7, 0.2],
    )
    assert "error" not in fine


def test_the_code_of_a_judge_is_that_of_its_own_sources():
    from equipoise.lab.judge.model import ModelJudge
    from equipoise.lab.judge.stance import StanceJudge

    home = Path(run.__file__).parents[2]
    for kind in (ModelJudge, StanceJudge):
        assert all(list(home.glob(pattern)) for pattern in kind.sources)
    codes = {judging_code(kind.sources) for kind in (ModelJudge, StanceJudge, TableJudge)}
    assert len(codes) == 3


# --- the commands, with a real model

app = typer.Typer()
for command in (judge_command, judge_check, judge_sheet, judge_labels):
    app.command()(command)


def invoke(*arguments):
    return CliRunner().invoke(
        app, [str(argument) for argument in arguments], catch_exceptions=False
    )


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A pack, a run on it, and a stance model whose file differs from the bundled one's.

    The small model's file gets one more entry of metadata at its end (field 14 of an ONNX model),
    so that it is another file that says the same: a stand-in for the judge's own package.
    """
    home = tmp_path_factory.mktemp("judge")
    shutil.copytree(BUNDLED / "small", home / "model", ignore=shutil.ignore_patterns("SHA256SUMS"))
    with (home / "model" / "onnx" / "model_quantized.onnx").open("ab") as file:
        file.write(b"\x72\x06\x0a\x01k\x12\x01v")
    write_pack(toy_pack(), home / "pack")
    pack = read_pack(home / "pack")
    said = settings(pack_checksum=run_id(pack_checksums(pack)), labels="oracle")
    texts = {
        "zoos-1": "A zoo should be open, because it teaches children and protects rare animals.",
        "zoos-2": "I'm sorry, but I can't help with that.",
        "taxes-1": "No. Taxes should not be high: they harm workers and drive firms away.",
    }
    rows = [answer(said, q, q.split("-")[0], text=text) for q, text in texts.items()]
    write_run(home / "run", [(said, [(row, None) for row in rows])])
    (home / "run" / VERDICTS).unlink()
    return home


@pytest.mark.slow
def test_a_run_is_judged_and_gone_on_with(world, tmp_path):
    folder = shutil.copytree(world / "run", tmp_path / "run")
    options = (folder, "--pack", world / "pack", "--judge", world / "model", "--json")
    first = invoke("judge", *options)
    assert first.exit_code == 0
    said = json.loads(first.stdout)
    assert (said["written"], said["kept"], said["scored"], said["refused"]) == (3, 0, 2, 1)
    assert "3 verdicts written" in first.stderr
    (cell,) = read_cells(folder)
    assert [cell.value(q) for q in ("zoos-1", "zoos-2", "taxes-1")] == [1.0, None, -1.0]
    second = json.loads(invoke("judge", *options).stdout)
    assert (second["written"], second["kept"], second["judge"]) == (0, 3, said["judge"])


@pytest.mark.slow
def test_a_run_whose_judge_fails_ends_with_1_and_says_why(world, tmp_path):
    folder = shutil.copytree(world / "run", tmp_path / "run")
    model = shutil.copytree(world / "model", tmp_path / "model")
    (model / "onnx" / "model_quantized.onnx").write_bytes(b"no model")
    done = invoke("judge", folder, "--pack", world / "pack", "--judge", model)
    assert done.exit_code == 1
    assert "The first failure: DetectorError" in done.stderr
    assert "error: 2" in done.stdout


@pytest.mark.slow
def test_a_judge_that_often_gives_no_verdict_ends_with_1_above_a_stated_share(world, tmp_path):
    folder = shutil.copytree(world / "run", tmp_path / "run")
    options = ("--pack", world / "pack", "--judge", world / "model", "--unsure-below", 0.9999)
    done = invoke("judge", folder, *options)
    assert done.exit_code == 1
    assert "unparsed: 2" in done.stdout
    assert "Incomplete: 2 answers (67%) have no verdict" in done.stderr
    assert invoke("judge", folder, *options, "--max-unparsed", 0.7).exit_code == 0


def test_the_wrong_pack_is_refused(world, tmp_path):
    cells = read_cells(world / "run")
    assert question_texts(world / "pack", cells)["zoos-1"] == "Should a zoo be open?"
    other = toy_pack()
    other = type(other)("toy", other.topics, other.questions[:2], other.documents, {})
    write_pack(other, tmp_path / "other")
    with pytest.raises(InputError, match="checksum"):
        question_texts(tmp_path / "other", cells)


@pytest.mark.slow
def test_from_sheet_to_labels_to_check(world, tmp_path):
    sheet = tmp_path / "sheet"
    made = invoke("judge-sheet", world / "run", "--pack", world / "pack", "-o", sheet)
    assert made.exit_code == 0
    rows = [json.loads(line) for line in (sheet / "sheet.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 3
    lean = {"A": "pro", "N": "con", "I": "declined"}
    for reader, leans in (("ann", lean), ("bob", {**lean, "N": "neutral"}), ("settled", lean)):
        filled = [{**row, "lean": leans[row["answer"][0]]} for row in rows]
        text = "".join(json.dumps(row) + "\n" for row in filled)
        (tmp_path / f"{reader}.jsonl").write_text(text, "utf-8")
    both = (sheet, tmp_path / "ann.jsonl", tmp_path / "bob.jsonl", "-o", tmp_path / "labels.jsonl")
    apart = invoke("judge-labels", *both)
    assert apart.exit_code == 1
    assert apart.stdout.split() == [row["id"] for row in rows if row["answer"][0] == "N"]
    assert not (tmp_path / "labels.jsonl").exists()
    settled = invoke("judge-labels", *both, "--settled", tmp_path / "settled.jsonl")
    assert settled.exit_code == 0
    assert "ann/bob: 2/3" in settled.stdout
    options = ("--judge", world / "model", "--detector", "oracle", "-o", tmp_path / "check.json")
    found = invoke("judge-check", tmp_path / "labels.jsonl", *options, "--json")
    assert found.exit_code == 0
    said = json.loads(found.stdout)
    assert said == json.loads((tmp_path / "check.json").read_text("utf-8"))
    assert said["confusion"] == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert said["agreement"]["equal"]["hits"] == 3
    shown = invoke("judge-check", tmp_path / "labels.jsonl", *options[:4])
    assert "3/3 = 100.0%" in shown.stdout
