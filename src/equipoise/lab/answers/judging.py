"""A judge at work on one answer: its verdict, and the row that keeps it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from equipoise.generation.base import redacted
from equipoise.lab.answers.book import Book
from equipoise.lab.answers.store import Judged
from equipoise.lab.judge import Judge, Verdict
from equipoise.lab.judge.run import verdict_row, verdict_settings
from equipoise.lab.results import run_id


@dataclass(frozen=True, slots=True)
class Judging:
    """A judge, and the digest of its settings: the run that its verdicts belong to."""

    judge: Judge
    run: str
    settings: Mapping[str, Any]

    @classmethod
    def of(cls, judge: Judge) -> Self:
        """That judge's verdicts, as `lab judge` would write them too."""
        settings = verdict_settings(judge)
        return cls(judge, run_id(settings), settings)

    async def read(self, question: str, row: Mapping[str, Any], book: Book) -> Verdict:
        """The verdict on an answer, written down.

        `row` is the answer's. A judge that raises against its contract gives an error outcome.
        """
        try:
            verdict = await self.judge.judge(question, str(row["text"]))
        except Exception as error:  # one answer's failure must not end a run of thousands
            said = redacted(f"{type(error).__name__}: {error}")
            verdict = Verdict(Judged.ERROR, detail=said)
        book.add_verdict(verdict_row(self.run, row, verdict))
        return verdict
