"""Who says which side a document takes: a detector, the pack's own truth, or truth with errors."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, Self

from equipoise.errors import InputError
from equipoise.lab.pack import Document, Question
from equipoise.stance.base import LazyScores
from equipoise.types import Stance, StanceDetector, StanceScore

SEED = 20260905
REMEMBERED = 500_000
"""Labels kept in memory: more than any comparison has."""


class Labels(Protocol):
    """Gives the stance scores of a question's documents."""

    @property
    def name(self) -> str:
        """Where they come from, as results report it."""
        ...

    def scores(self, question: Question, documents: Sequence[Document]) -> Sequence[StanceScore]:
        """One score a document, in order; may be lazy."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class DetectorLabels:
    """What a detector says, read only as far as a defence reads.

    With `path`, an SQLite file remembers them between runs; corpora and defences share them. Use
    it with `with`, which closes the file.
    """

    def __init__(self, detector: StanceDetector, path: Path | None = None) -> None:
        from equipoise.stance.cached import CachedDetector

        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        self._detector = CachedDetector(detector, max_items=REMEMBERED, path=path)

    @property
    def name(self) -> str:
        """The detector's name."""
        return self._detector.name

    @property
    def asked(self) -> int:
        """Texts that went to the detector itself."""
        return self._detector.misses

    def scores(self, question: Question, documents: Sequence[Document]) -> LazyScores:
        """Lazy scores; asking for them labels nothing."""
        return LazyScores(self._detector, question.text, [d.text for d in documents])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._detector.close()


class OracleLabels:
    """The truth of the pack, or the truth with seeded errors.

    A document of another topic, and background, takes no side: neutral. An error puts one of the
    two other labels in place of the right one, each as likely; it depends on `seed`, question and
    document alone, so every corpus and defence meets the same errors. A label's probability is
    `accuracy` (1 for the truth). Real detectors err alike on like texts; these errors are drawn
    one by one, so do not read them as a forecast for a detector of that accuracy.

    Args:
        accuracy: share of labels that are right, in (1/3, 1].
        seed: of the errors.

    Raises:
        InputError: `accuracy` is out of range.

    Source: ours.
    """

    def __init__(self, accuracy: float = 1.0, *, seed: int = SEED) -> None:
        if not 1 / 3 < accuracy <= 1:
            raise InputError(f"the accuracy of labels must be in (1/3, 1], got {accuracy}")
        self._accuracy = accuracy
        self._seed = seed

    @property
    def name(self) -> str:
        """`oracle`, or `degraded:0.8 (seed 20260905)`."""
        if self._accuracy == 1.0:
            return "oracle"
        return f"degraded:{self._accuracy:g} (seed {self._seed})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def scores(self, question: Question, documents: Sequence[Document]) -> tuple[StanceScore, ...]:
        """One score a document, in order."""
        return tuple(self._score(question, document) for document in documents)

    def _score(self, question: Question, document: Document) -> StanceScore:
        stance = true_stance(question, document) or Stance.NEUTRAL
        draw = self._draw(question, document)
        if draw >= self._accuracy:
            others = [other for other in Stance if other is not stance]
            stance = others[draw < (1 + self._accuracy) / 2]
        rest = (1.0 - self._accuracy) / 2
        pro, con, neutral = (self._accuracy if s is stance else rest for s in Stance)
        return StanceScore(pro, con, neutral)

    def _draw(self, question: Question, document: Document) -> float:
        """A number in [0, 1) that question and document always get."""
        text = repr((self._seed, question.id, document.id))
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:6], "big") / 2**48


def true_stance(question: Question, document: Document) -> Stance | None:
    """Where the document stands toward the question; None for one of another topic."""
    return document.stance if document.topic == question.topic else None


def load_labels(spec: str, cache: Path | None = None, *, threads: int | None = None) -> Labels:
    """The labels that `spec` names.

    "oracle": the pack's truth. "degraded:0.8": the truth with errors, at that accuracy. Anything
    else is a detector, as `equipoise.stance.load_detector` takes it; `cache` is its SQLite file.

    Raises:
        InputError: no such detector, or an accuracy out of range.
        DetectorError: its model is damaged.

    >>> load_labels("degraded:0.8").name
    'degraded:0.8 (seed 20260905)'
    """
    if spec == "oracle":
        return OracleLabels()
    kind, _, accuracy = spec.partition(":")
    if kind == "degraded":
        try:
            return OracleLabels(float(accuracy))
        except ValueError as error:
            raise InputError(
                "degraded labels are written degraded:0.8, with an accuracy in (1/3, 1]; "
                f"got {spec!r}"
            ) from error
    from equipoise.stance import load_detector

    return DetectorLabels(load_detector(spec, threads=threads), cache)
