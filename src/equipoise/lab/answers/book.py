"""The open folder of a run: what is answered and judged already, what it cost, when to stop."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from equipoise.errors import InputError, StoreError
from equipoise.lab.answers.store import ANSWERS, VERDICTS
from equipoise.lab.results import ResultFile, read_lines, row_key
from equipoise.types import Outcome

LEAST: Final = 20
"""Answers before a share of empty or failed ones says something."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a run must stop before its end.

    `max_cost`: US dollars over the whole run, earlier sittings included, > 0; None: no limit.
    `max_empty`: the share of empty answers of this sitting, in [0, 1], looked at from the 20th on.

    Raises:
        InputError: a number is out of range.
    """

    max_cost: float | None = None
    max_empty: float = 0.2

    def __post_init__(self) -> None:
        if self.max_cost is not None and not 0 < self.max_cost < float("inf"):
            raise InputError(f"the most that a run may cost must be > 0, got {self.max_cost}")
        if not 0 <= self.max_empty <= 1:
            raise InputError(f"the share of empty answers must be in [0, 1], got {self.max_empty}")


class Book:
    """Answers and verdicts of a folder, to go on with. Use it through `open_book`.

    `stopped` says why no more calls are to be made; "" while they may. `asked` counts this
    sitting's calls by outcome, `judged` its verdicts; `spent` is in US dollars, over all sittings.
    `listener` is told of each answer that is written.
    """

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder = folder
        self.stopped = ""
        self.asked: Counter[str] = Counter()
        self.judged: Counter[str] = Counter()
        self.first_failure = ""
        self.listener: Callable[[], None] = _nobody
        self._limits = limits
        self._answers = ResultFile(folder / ANSWERS)
        self._verdicts = ResultFile(folder / VERDICTS)
        self._last: dict[tuple[str, str], Mapping[str, Any]] = {}
        self.spent = 0.0
        for row in _rows(folder / ANSWERS):
            self._last[row["run"], row["question"]] = row
            self.spent += row.get("cost") or 0.0
        self._check_cost()

    def begin(self, run: str, settings: Mapping[str, Any]) -> None:
        """Note that answers of these settings are asked for."""
        self._answers.append([{"run": run, "settings": settings}])

    def begin_judging(self, run: str, settings: Mapping[str, Any]) -> None:
        """Note that verdicts of this judge are asked for."""
        self._verdicts.append([{"run": run, "settings": settings}])

    def answer(self, run: str, question: str, prompt_sha: str) -> Mapping[str, Any] | None:
        """The row that is there, where it answers this very prompt and did not fail.

        Subtle: the last row of a question counts for whoever reads the file, so only it counts
        here: an older one that answers this prompt has been replaced.
        """
        row = self._last.get((run, question))
        fits = row is not None and row["prompt_sha"] == prompt_sha and "error" not in row
        return row if fits else None

    def add_answer(self, row: Mapping[str, Any], *, called: bool = True) -> None:
        """Write a row now, and stop the run where a limit is reached.

        `called` is False for a row that no model was asked for.
        """
        self._answers.append([row])
        self._last[row["run"], row["question"]] = row
        self.spent += row.get("cost") or 0.0
        if "error" in row and not self.first_failure:
            self.first_failure = str(row["error"])
        if called:
            self.asked[row["outcome"]] += 1
        self._check_cost()
        self._check_outcomes()
        self.listener()

    def has_verdict(self, key: str) -> bool:
        """True where this judge has read this answer and did not fail."""
        return self._verdicts.has(key)

    def add_verdict(self, row: Mapping[str, Any]) -> None:
        """Write a verdict now."""
        self._verdicts.append([row])
        self.judged[row["outcome"]] += 1

    def _check_cost(self) -> None:
        limit = self._limits.max_cost
        if limit is not None and self.spent >= limit and not self.stopped:
            self.stopped = (
                f"${self.spent:.4f} of at most ${limit:g} are spent. The same command with a "
                "larger --max-cost goes on from here"
            )

    def _check_outcomes(self) -> None:
        total, empty = self.asked.total(), self.asked[Outcome.EMPTY]
        if total < LEAST or self.stopped:
            return
        if empty > self._limits.max_empty * total:
            self.stopped = (
                f"{empty} of {total} answers are empty, more than the share of "
                f"{self._limits.max_empty:g} that --max-empty allows: look at the template, the "
                "model and --max-tokens"
            )
        elif self.asked[Outcome.ERROR] == total:
            self.stopped = (
                f"each of the first {total} calls failed. The first: {self.first_failure}"
            )


@contextmanager
def open_book(folder: Path, limits: Limits | None = None) -> Iterator[Book]:
    """The book of a folder, which no other process may write to meanwhile.

    Raises:
        InputError: the folder holds something else.
        StoreError: another process writes to it, or it cannot be written to.
    """
    with locked(folder):
        yield Book(folder, limits or Limits())


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nothing, while no other process of this kind writes to the folder.

    The lock ends with the process, however that ends. Where the system has no `fcntl` (Windows)
    there is no lock.

    Raises:
        StoreError: another process holds it, or the folder cannot be written to.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("w")
    except OSError as error:
        raise StoreError(f"answers cannot be kept in {folder}: {error}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StoreError(
                f"one process at a time may write to {folder}, and another one does: wait for it, "
                "or end it"
            ) from error
        yield


def _nobody() -> None:
    """Listens to nothing."""


def digest(text: str) -> str:
    """The first 16 hex digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def answer_key(run: str, question: str, prompt_sha: str) -> str:
    """The key of an answer: of its run, its question and its prompt.

    The prompt is in it so that a verdict on an answer is never taken for one on its successor.
    """
    return row_key(run, f"{question}/{prompt_sha}")


def _rows(path: Path) -> list[dict[str, Any]]:
    rows = [line for line in read_lines(path) if "key" in line] if path.exists() else []
    for row in rows:
        if not {"question", "prompt_sha", "outcome"} <= set(row):
            raise InputError(f"{path} must hold answers, and has a row {sorted(row)}")
    return rows
