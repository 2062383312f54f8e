"""How fast requests get through, and so how long a new one would wait."""

import time
from collections.abc import Callable
from typing import Final

_LEAST_S: Final = 0.5
"""Seconds of work between two readings of the pace."""


class Pace:
    """Characters of documents a second, by what came through lately.

    Admitting more than can be done in time serves nobody: all share the cores until all are out of
    time. `wait_s` tells beforehand. Labels that are read no further than needed, or remembered,
    are in the pace as it is seen, so an estimate is right for requests like those of late.

    Args:
        now: a clock in seconds; another one for tests.

    Source: ours.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._rate: float | None = None
        self._pending = 0
        self._done = 0
        self._since: float | None = None

    def first_guess(self, rate: float) -> None:
        """Take this many characters a second until something is seen."""
        if self._rate is None:
            self._rate = rate

    def wait_s(self, size: int) -> float:
        """Seconds until a request of `size` characters would be done; 0 where nothing is known."""
        return (self._pending + size) / self._rate if self._rate else 0.0

    def begin(self, size: int) -> None:
        """A request was admitted."""
        if self._since is None:
            self._since = self._now()
        self._pending += size

    def end(self, size: int, *, served: bool) -> None:
        """A request has ended; one that was not served has used time and brought nothing."""
        self._pending -= size
        self._done += size if served else 0
        assert self._since is not None
        spent = self._now() - self._since
        if spent >= _LEAST_S and (self._done or not served):
            seen = self._done / spent
            self._rate = seen if self._rate is None else (self._rate + seen) / 2
            self._done, self._since = 0, self._now()
        if self._pending == 0:  # idle time is no work
            self._done, self._since = 0, None
