"""A detector whose texts are read by actors of a Ray cluster."""

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from equipoise._extras import require
from equipoise.errors import DetectorError, InputError
from equipoise.scale.ray_engine import cluster
from equipoise.stance.base import check_count, checked_texts
from equipoise.types import StanceDetector, StanceScore

_SHARE = 8
"""Texts of one call of an actor: some tenths of a second, so that a dead one costs little."""


class RayDetector:
    """Any detector, copied into actors: a call's texts are shared out over them.

    For work that calls a detector with many texts at once, such as an audit. An actor that dies is
    started again and asked again, `retries` times for the same texts.

    Args:
        detector: a detector that can be pickled, or what `load_detector` takes.
        actors: how many, >= 1; each loads the model and takes one core.
        address: as in `run`.
        retries: >= 0.

    Raises:
        InputError: `actors` < 1, or more than the cluster has cores.
        MissingExtraError: ray is not installed.

    Use `close`, or `with`. Do not use it for few texts a call: a round to an actor costs 1 ms.
    """

    lazy_batch = 64

    def __init__(
        self,
        detector: StanceDetector | str = "default",
        *,
        actors: int = 2,
        address: str | None = None,
        retries: int = 3,
    ) -> None:
        from equipoise.stance import load_detector

        check_count("actors", actors)
        self._ray = require("ray", extra="ray")
        made = load_detector(detector, threads=1)
        self.name = made.name
        self._cluster = cluster(address, actors)
        self._cluster.__enter__()
        cores = int(self._ray.cluster_resources().get("CPU", 0))
        if cores < actors:  # an actor without a core would be waited for without end
            self._cluster.__exit__()
            raise InputError(
                f"the cluster must have a core for each of {actors} actors, has {cores}"
            )
        remote = self._ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=retries)(_Reader)
        self._actors: list[Any] = [remote.remote(made) for _ in range(actors)]

    def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
        """One score a text, in order.

        Raises:
            DetectorError: actors died more often than `retries`; or as the detector itself.
        """
        given = checked_texts(texts)
        shares = [given[start : start + _SHARE] for start in range(0, len(given), _SHARE)]
        pool = self._ray.util.ActorPool(self._actors)
        try:
            parts = list(pool.map(lambda actor, share: actor.read.remote(question, share), shares))
        except self._ray.exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from error
        except self._ray.exceptions.RayError as error:
            raise DetectorError(f"the workers of the cluster failed: {error}") from error
        return [score for part in parts for score in part]

    def close(self) -> None:
        """End the actors, and the cluster where it was started here."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors = []
        self._cluster.__exit__()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Reader:
    """An actor: a detector of its own."""

    def __init__(self, detector: StanceDetector) -> None:
        self._detector = detector

    def read(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
        return list(self._detector.detect(question, texts))

    def process(self) -> int:
        import os

        return os.getpid()
