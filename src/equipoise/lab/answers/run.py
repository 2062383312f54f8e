"""A whole run: every setting before one generator, an evaluation of inspect each, until the end."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from equipoise.errors import InputError, StoreError
from equipoise.lab.answers.book import Book, Limits, open_book
from equipoise.lab.answers.evidence import Setting
from equipoise.lab.answers.generators import Asked
from equipoise.lab.answers.judging import Judging
from equipoise.lab.answers.plan import Cell, plan
from equipoise.lab.answers.store import Judged, read_cells
from equipoise.lab.judge import Judge
from equipoise.lab.results import run_id
from equipoise.prompt import Template
from equipoise.types import Outcome

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

LOGS: Final = "inspect"
"""The folder of inspect's logs in the folder of a run."""
MISSING: Final = Judged.MISSING.value

Progress = Callable[[str, int, int], None]
"""Is told of which setting, how many of its questions are done, and of how many."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a run did.

    `asked` counts the calls of this sitting by outcome and `judged` its verdicts; `kept` questions
    had their answer already. `outcomes` counts the questions of the settings asked for by what
    stands in the folder now, "missing" included, and `settings` says the same of each. `stopped`
    says why the run ended before its end, "" where it did not. `spent` is in US dollars, over all
    sittings and settings in the folder; None without a price. `first_failure` is this sitting's.
    """

    asked: Mapping[str, int]
    judged: Mapping[str, int]
    kept: int
    outcomes: Mapping[str, int]
    settings: Sequence[Mapping[str, Any]]
    stopped: str = ""
    spent: float | None = None
    first_failure: str = ""

    @property
    def failed(self) -> int:
        """Questions whose call failed, or was never made."""
        return self.outcomes.get(Outcome.ERROR, 0) + self.outcomes.get(MISSING, 0)

    @property
    def unjudged(self) -> int:
        """Verdicts of this sitting that failed."""
        return self.judged.get(Outcome.ERROR, 0)

    @property
    def hopeless(self) -> bool:
        """True where calls were made and every one of them failed."""
        return sum(self.asked.values()) == self.asked.get(Outcome.ERROR, 0) > 0


def answer_all(
    settings: Sequence[Setting],
    generator: Asked,
    template: Template,
    folder: Path,
    *,
    judge: Judge | None = None,
    limits: Limits | None = None,
    batch: int = 1,
    progress: Progress | None = None,
) -> Answered:
    """Ask what `folder` lacks; each answer and each verdict is written as soon as it is known.

    A call that fails gives a row of outcome "error" that is asked again next time.

    Args:
        settings: the chosen documents, from `evidence.gather`.
        generator: who is asked.
        template: the words around the documents.
        folder: of the run.
        judge: reads each answer; None leaves that to `lab judge`.
        limits: when to stop before the end.
        batch: calls at a time, >= 1.
        progress: for people who wait.

    Raises:
        InputError: the folder holds something else; a limit on cost without a price; batch < 1.
        StoreError: the folder cannot be written to, or another process writes to it.
        KeyboardInterrupt: the person at the terminal wants to stop. What is known is written.
    """
    limits = limits or Limits()
    if batch < 1:
        raise InputError(f"batch must be >= 1, got {batch}")
    check_price(limits, generator)
    with open_book(folder, limits) as book:
        judging = None if judge is None else Judging.of(judge)
        if judging is not None:
            book.begin_judging(judging.run, judging.settings)
        cells = [
            plan(
                setting,
                generator.said,
                template,
                book,
                judge_run=None if judging is None else judging.run,
            )
            for setting in settings
        ]
        for cell in cells:
            if cell.asks and not book.stopped:
                book.listener = _Told(cell.label, len(cell.asks), progress)
                _evaluate(cell, generator, book, judging, batch)
        return _summary(cells, book, generator)


def check_price(limits: Limits, generator: Asked) -> None:
    """Nothing, where a limit on cost can be kept: for commands, before they do anything long.

    Raises:
        InputError: there is a limit and no price.
    """
    if limits.max_cost is not None and generator.price is None:
        raise InputError(
            f"a limit on cost needs a price, and nobody knows that of {generator.name!r}: give "
            "--price with dollars a million tokens in and out"
        )


class _Told:
    """Counts what is done of one setting."""

    def __init__(self, label: str, total: int, progress: Progress | None) -> None:
        self._label = label
        self._total = total
        self._progress = progress
        self._done = 0

    def __call__(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._label, self._done, self._total)


def _evaluate(
    cell: Cell, generator: Asked, book: Book, judging: Judging | None, batch: int
) -> None:
    from inspect_ai import eval

    from equipoise.lab.answers.task import make_task

    logs = eval(
        make_task(cell, generator, book, judging),
        model=generator.model,
        display="none",
        log_level="error",
        log_dir=str(book.folder / LOGS),
        log_realtime=False,
        log_model_api=False,
        ctl_server=False,
        max_samples=batch,
        score=judging is not None,
        # A failed call never raises here, so what does is ours: a full disk, a mistake.
        fail_on_error=True,
    )
    _check(logs, book.folder)


def _check(logs: "Sequence[EvalLog]", folder: Path) -> None:
    # inspect takes an interrupt for itself: it gives back a cancelled log, or none where the
    # evaluation had only begun or was just ending.
    if not logs or any(log.status == "cancelled" for log in logs):
        raise KeyboardInterrupt
    for log in (log for log in logs if log.status == "error"):
        said = log.error.message if log.error is not None else "inspect gives no reason"
        raise StoreError(
            f"the evaluation ended before its end: {said}. What is in {folder} is kept; "
            f"inspect's log has more: {log.location}"
        )


def _summary(cells: Sequence[Cell], book: Book, generator: Asked) -> Answered:
    """Counts of what stands in the folder now, for the settings that were asked for."""
    there = {run_id(cell.settings): cell.answers for cell in read_cells(book.folder)}
    outcomes: Counter[str] = Counter()
    lines = []
    for cell in cells:
        rows = there[cell.run]
        mine = Counter(str(rows[q]["outcome"]) for q in cell.questions if q in rows)
        mine[MISSING] = len(cell.questions) - mine.total()
        outcomes += mine  # which leaves out what is 0
        lines.append({"setting": cell.label, "run": cell.run, "outcomes": dict(+mine)})
    return Answered(
        asked=dict(book.asked),
        judged=dict(book.judged),
        kept=sum(len(cell.questions) - len(cell.asks) for cell in cells),
        outcomes=dict(outcomes),
        settings=tuple(lines),
        stopped=book.stopped,
        spent=None if generator.price is None else book.spent,
        first_failure=book.first_failure,
    )
