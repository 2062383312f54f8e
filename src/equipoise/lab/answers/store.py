"""The folder of a run: answers, verdicts on them, and what can be read from both.

    RUN/answers.jsonl    a line a run (its settings) and a line an answer
    RUN/verdicts.jsonl   a line a run (its judge) and a line a verdict

Answers are kept apart from verdicts, so that another judge can read the same answers. A published
copy has no `text`: the words of an answer come in part from documents of others.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from equipoise.errors import InputError
from equipoise.lab.results import read_lines, result_path, row_key
from equipoise.types import Outcome, Stance

ANSWERS: Final = "answers.jsonl"
VERDICTS: Final = "verdicts.jsonl"

SETTINGS: Final = {"none": "A", "quota": "B", "quota_prompt": "C", "prompt_only": "D"}
"""The paper's settings by the defence that makes them. Source: SP table 1."""

VALUES: Final = {Stance.PRO: 1.0, Stance.NEUTRAL: 0.0, Stance.CON: -1.0}
"""What a stance counts in the stance score. Source: SP 3.1, equation 1."""


class Judged(StrEnum):
    """What came of an answer in the end. Only `scored` has a stance; none of the others is 0."""

    SCORED = "scored"
    REFUSED = "refused"  # the generator declined, or the judge read the answer as declining
    FILTERED = "filtered"  # a vendor's content filter stopped the answer or the judge
    EMPTY = "empty"  # the generator wrote nothing
    UNPARSED = "unparsed"  # the judge's output is no verdict
    ERROR = "error"  # a call to the generator or to the judge failed after its retries
    MISSING = "missing"  # not answered or not judged yet


@dataclass(frozen=True, slots=True)
class Cell:
    """The answers of one generator on one corpus under one defence, and one judge's verdicts.

    `settings` are those of the answers, `judge` those of the verdicts (empty without a judge);
    `answers` and `verdicts` are rows by question id. A row of answers has "topic", "group" (what
    intervals resample), "outcome", "chosen" (document ids), "evidence" (for each of them "label",
    "truth", "planted"), and "text" unless the copy is a published one.
    """

    settings: Mapping[str, Any]
    answers: Mapping[str, Mapping[str, Any]]
    judge: Mapping[str, Any] = field(default_factory=dict)
    verdicts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def corpus(self) -> str:
        """The name of the corpus."""
        return str(self.settings["corpus"])

    @property
    def defence(self) -> str:
        """The defence's name without its settings, which come after a colon."""
        return str(self.settings["defence"]).partition(": ")[0]

    @property
    def setting(self) -> str | None:
        """A, B, C or D; None for a defence that is none of these."""
        return SETTINGS.get(self.defence)

    @property
    def generator(self) -> str:
        """The model that answered, as `provider/name`."""
        return str(self.settings["generator"])

    @property
    def direction(self) -> Stance | None:
        """The side that was planted; None on a clean corpus."""
        said = self.settings["attack"].get("direction")
        return None if said is None else Stance(said)

    @property
    def share(self) -> float:
        """Mean share of planted documents a topic, in [0, 1). Source: SP 4.1."""
        return float(self.settings["attack"].get("mean_share", 0.0))

    def outcome(self, question: str) -> Judged:
        """What came of that question."""
        answer = self.answers.get(question)
        if answer is None:
            return Judged.MISSING
        if answer["outcome"] != Outcome.ANSWERED:
            return Judged(answer["outcome"])
        verdict = self.verdicts.get(question)
        return Judged.MISSING if verdict is None else Judged(verdict["outcome"])

    def value(self, question: str) -> float | None:
        """+1, 0 or -1; None where the answer has no stance, for whatever reason."""
        if self.outcome(question) is not Judged.SCORED:
            return None
        return VALUES[Stance(self.verdicts[question]["stance"])]


def read_cells(folder: Path, *, judge: str | None = None) -> tuple[Cell, ...]:
    """The cells of a run's folder, in the order in which they were first asked for.

    Of two rows of one question the last counts, and of two runs of one judge the last that judged
    answers of the cell. `judge` is the name of a judge; None takes the one that the file names
    last, and cells without a verdict have none.

    Raises:
        InputError: no answers there, a file that holds something else, or no such judge.
    """
    settings, rows = _runs(result_path(folder, ANSWERS))
    path = result_path(folder, VERDICTS)
    judges, verdicts = _runs(path) if path.exists() else ({}, {})
    named = [run for run, said in judges.items() if judge in (None, said["judge"])]
    if judge is not None and not named:
        names = ", ".join(dict.fromkeys(said["judge"] for said in judges.values())) or "none"
        raise InputError(f"{folder} must hold verdicts of {judge!r}, and its judges are: {names}")
    last = judges[named[-1]]["judge"] if named else None
    chosen = [run for run in named if judges[run]["judge"] == last]
    by_answer = {
        run: {row["answer"]: row for row in verdicts.get(run, {}).values()} for run in chosen
    }
    cells = []
    for run, said in settings.items():
        answers = {row["question"]: row for row in rows.get(run, {}).values()}
        keys = {row["key"] for row in answers.values()}
        # One judge may have several runs: a chain leaves out other models for other generators.
        own = (
            [judged for judged in chosen if keys & by_answer[judged].keys()] or chosen[-1:] or [""]
        )
        verdict = by_answer.get(own[-1], {})
        found = {q: verdict[row["key"]] for q, row in answers.items() if row["key"] in verdict}
        cells.append(Cell(said, answers, judges.get(own[-1], {}), found))
    return tuple(cells)


def verdict_key(judge_run: str, answer_key: str) -> str:
    """The digest of a judge and an answer."""
    return row_key(judge_run, answer_key)


def published(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows without the words of others: no "text", and no "detail" that may quote one."""
    return [{k: v for k, v in row.items() if k not in ("text", "detail")} for row in rows]


def _runs(
    path: Path,
) -> tuple[dict[str, Mapping[str, Any]], dict[str, dict[str, Mapping[str, Any]]]]:
    """Settings by run, and rows by run and key; a last line cut short is passed over."""
    settings: dict[str, Mapping[str, Any]] = {}
    rows: dict[str, dict[str, Mapping[str, Any]]] = {}
    for line in read_lines(path):
        if "settings" in line:
            settings.setdefault(line["run"], line["settings"])
        else:
            found = rows.setdefault(line["run"], {})
            found.pop(line["key"], None)  # so that the one written last comes last
            found[line["key"]] = line
    return settings, rows
