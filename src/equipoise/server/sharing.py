"""One detector for all requests, and what one request sees of it."""

import contextvars
import time
from collections.abc import Callable, Sequence
from typing import Final

from equipoise.errors import DetectorError
from equipoise.server.limits import Limits
from equipoise.server.metrics import Metrics
from equipoise.stance.batching import BatchingDetector
from equipoise.stance.cached import CachedDetector
from equipoise.types import StanceDetector, StanceScore

DEADLINE: Final[contextvars.ContextVar[float | None]] = contextvars.ContextVar(
    "deadline", default=None
)
"""When the request that is worked on must be done, on the monotonic clock."""


class OutOfTimeError(DetectorError):
    """The request's time was over before its next text was read."""


def shared(detector: StanceDetector, limits: Limits, metrics: Metrics) -> StanceDetector:
    """The detector as all requests share it, with labels remembered.

    A model that gains from batches reads what came in meanwhile as one. One that reads each text
    alone needs no batches: requests fill its cores side by side. A server of models makes batches
    itself.
    """
    if hasattr(detector, "detect_many") and not getattr(detector, "reads_alone", False):
        detector = BatchingDetector(detector, max_texts=limits.batch_texts, on_batch=metrics.batch)
    return CachedDetector(detector, max_items=limits.remembered) if limits.remembered else detector


class Timely:
    """The detector of one request: reads nothing more once its time is over."""

    def __init__(self, detector: StanceDetector, lazy_batch: Callable[[], int]) -> None:
        self._inside = detector
        self._lazy_batch = lazy_batch

    @property
    def name(self) -> str:
        """The name of the detector inside."""
        return self._inside.name

    @property
    def lazy_batch(self) -> int:
        """Texts a call, as things are now."""
        return self._lazy_batch()

    def detect(self, question: str, texts: Sequence[str]) -> Sequence[StanceScore]:
        """As the detector inside.

        Raises:
            OutOfTimeError: the request's time is over.
        """
        deadline = DEADLINE.get()
        if deadline is not None and time.monotonic() > deadline:
            raise OutOfTimeError("the time for this request is over")
        return self._inside.detect(question, texts)
