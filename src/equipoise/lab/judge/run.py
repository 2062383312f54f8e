"""A judge over the answers of a run: what it has not judged yet, each verdict written at once."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import equipoise
from equipoise.errors import GenerationError, InputError
from equipoise.lab.answers.book import locked
from equipoise.lab.answers.store import VERDICTS, Cell, Judged, read_cells, verdict_key
from equipoise.lab.answers.texts import check_pack, text_of
from equipoise.lab.judge.base import FORMAT, Judge, Verdict
from equipoise.lab.pack import read_pack
from equipoise.lab.results import ResultFile, run_id
from equipoise.types import Outcome

AT_ONCE: Final = 8
HOPELESS: Final = 20
"""Failures in a row from the start after which nothing more is asked."""

Progress = Callable[[str, int, int], None]
"""Is told what is done, how many are, and of how many."""

Task = tuple[Judge, str, Mapping[str, Any], str]
"""A judge, its run, an answer's row, and the question's text."""


@dataclass(frozen=True, slots=True)
class Judging:
    """What a call did.

    `written` verdicts of this call, `kept` ones that were there, `errors` those of this call that
    failed; `outcomes` counts every answer of the folder, judged or not, by what came of it.
    """

    judge: str
    written: int
    kept: int
    errors: int
    outcomes: Mapping[Judged, int]
    first_error: str = ""


def verdict_settings(judge: Judge) -> dict[str, Any]:
    """The settings of a judge's verdicts: format, judge, family, code, and what it adds itself.

    A judge adds what its `about` (JSON) says, where it has one; "code" is of its `sources`.
    """
    about = getattr(judge, "about", {})
    return {
        "format": FORMAT,
        "judge": judge.name,
        "family": judge.family,
        **about,
        "code": judging_code(getattr(judge, "sources", ())),
    }


def verdict_row(run: str, answer: Mapping[str, Any], verdict: Verdict) -> dict[str, Any]:
    """The line of one verdict in the file.

    Args:
        run: the id of the verdict run, `run_id(verdict_settings(judge))`.
        answer: the row of the answer.
        verdict: on it. An `error` has an "error" too, so that it is asked for again.
    """
    row: dict[str, Any] = {
        "key": verdict_key(run, answer["key"]),
        "run": run,
        "question": answer["question"],
        "answer": answer["key"],
        "outcome": verdict.outcome.value,
        "stance": verdict.stance and verdict.stance.value,
        "probabilities": verdict.probabilities and [round(p, 6) for p in verdict.probabilities],
        "model": verdict.model,
        "detail": verdict.detail,
    }
    if verdict.outcome is Judged.ERROR:
        row["error"] = verdict.detail
    return row


def judge_answers(
    folder: Path,
    questions: Mapping[str, str],
    load: Callable[[Cell], Judge],
    *,
    at_once: int = AT_ONCE,
    progress: Progress | None = None,
) -> Judging:
    """Judge what `folder` holds and the judge has not judged; verdicts are appended at once.

    Args:
        folder: of a run.
        questions: text by question id.
        load: the judge for the answers of a cell; called once a generator and detector.
        at_once: answers judged side by side, >= 1.
        progress: for people who wait.

    Raises:
        InputError: no answers; an answer without its text, or a question without one; `at_once`
            < 1; the judge may not judge these answers.
        GenerationError: the first 20 calls all failed: nothing more was asked.
        StoreError: verdicts cannot be written.
    """
    if at_once < 1:
        raise InputError(f"at_once must be >= 1, got {at_once}")
    judges = _judges(read_cells(folder), load)
    with locked(folder):
        results = ResultFile(folder / VERDICTS)
        todo, kept = _todo(judges, questions, results)
        runs = {run: verdict_settings(judge) for judge, run, _ in judges}
        results.append({"run": run, "settings": said} for run, said in runs.items())
        done = _Done(results, len(todo), progress)
        asyncio.run(_all(todo, done, at_once))
    name = judges[-1][0].name
    return Judging(name, done.written, kept, done.errors, outcomes(folder, name), done.first_error)


def outcomes(folder: Path, judge: str) -> Mapping[Judged, int]:
    """How many answers of a run came to what, by that judge, in the order of `Judged`."""
    cells = read_cells(folder, judge=judge)
    tally = Counter(cell.outcome(question) for cell in cells for question in cell.answers)
    return {outcome: tally[outcome] for outcome in Judged if tally[outcome]}


def question_texts(pack: Path, cells: Sequence[Cell]) -> dict[str, str]:
    """Text by question id, of the pack that the answers were asked from.

    Raises:
        InputError: it is no pack, or another one than the answers name.
    """
    read = read_pack(pack)
    check_pack(cells, read)
    return {question.id: question.text for question in read.questions}


@cache
def judging_code(sources: tuple[str, ...] = ()) -> str:
    """The package's version and a digest of the sources (patterns) that a verdict depends on.

    Not of the whole lab: a change to a table must not have every answer judged anew.
    """
    home = Path(equipoise.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(path for pattern in sources for path in home.glob(pattern)):
        digest.update(path.relative_to(home).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return f"{equipoise.__version__}+{digest.hexdigest()[:8]}"


class _Done:
    """Writes verdicts and counts them; used from one thread only."""

    def __init__(self, results: ResultFile, total: int, progress: Progress | None) -> None:
        self._results = results
        self._total = total
        self._progress = progress
        self.written = self.errors = 0
        self.first_error = ""

    def __call__(self, row: Mapping[str, Any]) -> None:
        self._results.append([row])
        self.written += 1
        if "error" in row:
            self.errors += 1
            self.first_error = self.first_error or str(row["error"])
        if self._progress is not None:
            self._progress("judging", self.written, self._total)
        if self.errors == self.written == HOPELESS:
            raise GenerationError(
                f"the first {HOPELESS} calls to the judge all failed, so nothing more was asked. "
                f"The first failure: {self.first_error}"
            )


async def _all(todo: Sequence[Task], done: _Done, at_once: int) -> None:
    """Workers that take from one queue, so that few tasks have to be ended by a stop."""
    waiting = iter(todo)

    async def work() -> None:
        for judge, run, row, question in waiting:
            done(verdict_row(run, row, await judge.judge(question, row["text"])))

    tasks = [asyncio.create_task(work()) for _ in range(min(at_once, len(todo)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _judges(cells: Iterable[Cell], load: Callable[[Cell], Judge]) -> list[tuple[Judge, str, Cell]]:
    """Judge, its run and cell; loaded once for each generator and detector, alike ones once."""
    loaded: dict[tuple[str, str], str] = {}
    alike: dict[str, Judge] = {}
    found = []
    for cell in cells:
        pair = (cell.generator, str(cell.settings["labels"]))
        if pair not in loaded:
            judge = load(cell)
            loaded[pair] = run_id(verdict_settings(judge))
            alike.setdefault(loaded[pair], judge)
        found.append((alike[loaded[pair]], loaded[pair], cell))
    if not found:
        raise InputError("a judge needs answers, and there are none")
    return found


def _todo(
    judges: Iterable[tuple[Judge, str, Cell]], questions: Mapping[str, str], results: ResultFile
) -> tuple[list[Task], int]:
    """What is to be judged, and how many verdicts are there."""
    todo: list[Task] = []
    kept = 0
    for judge, run, cell in judges:
        for row in cell.answers.values():
            if row["outcome"] != Outcome.ANSWERED:
                continue
            if results.has(verdict_key(run, row["key"])):
                kept += 1
            else:
                todo.append((judge, run, row, _question(row, questions)))
    return todo, kept


def _question(row: Mapping[str, Any], questions: Mapping[str, str]) -> str:
    """The text of the question of an answer that has a text itself."""
    text_of(row)
    if row["question"] not in questions:
        raise InputError(f"every question must have its text, and {row['question']!r} has none")
    return questions[row["question"]]
