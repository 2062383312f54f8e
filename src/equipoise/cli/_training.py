"""How a training shows itself at the terminal: a summary of rows, then progress with time left."""

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from equipoise.cli._io import note

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from equipoise.train.data import Row
    from equipoise.train.mixture import Mixture
    from equipoise.train.run import Stage

SECONDS = 30.0
"""Between two lines of progress, where standard error is no terminal."""


class TerminalWatcher:
    """Tells on standard error what a run does: a bar on a terminal, else a line now and then."""

    def __init__(self, bar: "Progress") -> None:
        self._bar = bar
        self._task: TaskID | None = None
        self._name = ""
        self._first: tuple[float, int] | None = None
        self._said = 0.0

    def rows(self, mixture: "Mixture") -> None:
        """Say how many rows there are, by source."""
        parts: list[tuple[str, Sequence[Row]]] = [
            ("warm-up pairs", mixture.warm_up),
            ("training rows", mixture.train),
            ("crossed pairs for the teacher", mixture.crossed),
            ("held-out rows", mixture.held),
        ]
        for name, rows in parts:
            if rows:
                counts = Counter(row.source for row in rows).most_common()
                listed = ", ".join(f"{source} {count:,}" for source, count in counts)
                note(f"{len(rows):,} {name}: {listed}")

    def stage(self, stage: "Stage") -> None:
        """Begin a new bar, and say what it is for."""
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task, self._first, self._said = None, None, time.monotonic()
        self._name = stage.name
        parts = [f"{stage.examples:,} pairs"] if stage.examples else []
        parts += [f"{stage.tokens:,} tokens"] if stage.tokens else []
        parts += [f"{stage.steps:,} steps"] if stage.steps else []
        note(f"{stage.name}: {', '.join(parts)}" if parts else stage.name)

    def step(self, done: int, total: int, loss: float | None) -> None:
        """Move the bar; without a terminal, say now and then how far it is."""
        now = time.monotonic()
        shown = "" if loss is None else f", loss {loss:.3f}"
        if not self._bar.disable:
            if self._task is None:
                self._task = self._bar.add_task(self._name, total=total)
            self._bar.update(self._task, completed=done, description=self._name + shown)
            return
        if self._first is None:
            self._first = (now, done)
        if now - self._said >= SECONDS or done == total:
            self._said = now
            note(f"{self._name} {done:,} of {total:,}{shown}{self._left(now, done, total)}")

    def _left(self, now: float, done: int, total: int) -> str:
        began, at = self._first or (now, done)
        if done in (total, at):
            return ""
        return f", {time_left((now - began) / (done - at) * (total - done))} left"


def time_left(seconds: float) -> str:
    """Seconds as a person says them.

    >>> time_left(40), time_left(125), time_left(7_500)
    ('40 s', '2 min', '2 h 5 min')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
