"""Labels asked for by many callers at once, put together into shared batches."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from equipoise.stance.base import check_count, checked_texts, detect_checked, lazy_batch
from equipoise.types import StanceDetector, StanceScore

OnBatch = Callable[[int, int], None]


@dataclass(slots=True)
class _Ask:
    """One caller's question and texts, and what came of them."""

    question: str
    texts: list[str]
    scores: list[StanceScore] = field(default_factory=list)
    error: BaseException | None = None
    done: threading.Event = field(default_factory=threading.Event)


class BatchingDetector:
    """Any detector, shared by threads: what is asked while the model is busy goes next, as one.

    One batch runs at a time, by one of the callers that wait for it. A batch takes waiting asks in
    order of arrival up to `max_texts`; equal texts of one question are read once. A detector with
    `detect_many` (the local ones) gets all questions in one call, another a call a question. When
    a shared batch fails, each ask is tried alone, so that a bad text fails its own caller only.

    Args:
        detector: the detector to share.
        max_texts: texts of one batch, >= 1; a single ask may have more and is never cut.
        on_batch: called after each batch with the number of distinct texts and of asks in it.

    Raises:
        InputError: `max_texts` < 1.

    Cost: a lock for a lone caller. Do not use it around a `CachedDetector`: put the cache
    outside, or hits wait for the model.

    Source: ours.

    >>> from equipoise.testing import FakeDetector
    >>> shared = BatchingDetector(FakeDetector({"a": "pro"}))
    >>> shared.detect("?", ["a"])[0].label.value
    'pro'
    """

    def __init__(
        self, detector: StanceDetector, *, max_texts: int = 16, on_batch: OnBatch | None = None
    ) -> None:
        check_count("max_texts", max_texts)
        self.detector = detector
        self._max_texts = max_texts
        self._on_batch = on_batch
        self._waiting: deque[_Ask] = deque()
        self._turn = threading.Lock()

    @property
    def name(self) -> str:
        """The name of the detector inside, for the scores are its own."""
        return self.detector.name

    @property
    def lazy_batch(self) -> int:
        """That of the detector inside."""
        return lazy_batch(self.detector)

    def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
        """One score a text, in order.

        Raises:
            InputError, DetectorError: as the detector inside, for this caller's texts.
        """
        ask = _Ask(question, checked_texts(texts))
        if not ask.texts:
            return []
        self._waiting.append(ask)
        while not ask.done.is_set():
            # Subtle: whoever gets the turn runs the oldest asks, which may not be its own.
            with self._turn:
                if not ask.done.is_set():
                    self._run(self._next_batch())
        if ask.error is not None:
            raise ask.error
        return ask.scores

    def _next_batch(self) -> list[_Ask]:
        batch = [self._waiting.popleft()]
        size = len(batch[0].texts)
        while self._waiting and size + len(self._waiting[0].texts) <= self._max_texts:
            batch.append(self._waiting.popleft())
            size += len(batch[-1].texts)
        return batch

    def _run(self, batch: list[_Ask]) -> None:
        try:
            self._label(batch)
        except Exception as error:
            if len(batch) == 1:
                batch[0].error = error
            else:
                for ask in batch:
                    self._run([ask])
        except BaseException as error:  # Ctrl-C in one caller must not leave the others waiting
            for ask in batch:
                ask.error = error
        finally:
            for ask in batch:
                ask.done.set()

    def _label(self, batch: list[_Ask]) -> None:
        wanted: dict[str, dict[str, None]] = {}
        for ask in batch:
            wanted.setdefault(ask.question, {}).update(dict.fromkeys(ask.texts))
        asked = [(question, list(texts)) for question, texts in wanted.items()]
        found: dict[tuple[str, str], StanceScore] = {}
        for (question, texts), scores in zip(asked, self._detect(asked), strict=True):
            found.update({(question, t): s for t, s in zip(texts, scores, strict=True)})
        for ask in batch:
            ask.scores = [found[ask.question, text] for text in ask.texts]
        if self._on_batch is not None:
            self._on_batch(len(found), len(batch))

    def _detect(self, asked: list[tuple[str, list[str]]]) -> Sequence[Sequence[StanceScore]]:
        together: Any = getattr(self.detector, "detect_many", None)
        if together is not None and len(asked) > 1:
            return list(together(asked))
        return [detect_checked(self.detector, question, texts) for question, texts in asked]
