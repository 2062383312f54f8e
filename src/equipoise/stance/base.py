"""Labels read as far as they are needed, and what every detector owes its callers."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, cast, overload

from equipoise.errors import DetectorError, InputError
from equipoise.stance.question import is_blank
from equipoise.types import StanceDetector, StanceScore

LAZY_BATCH: Final = 8
BLANK: Final = StanceScore(pro=0.0, con=0.0, neutral=1.0, windows=0)
FOREIGN: Final = StanceScore(pro=1 / 3, con=1 / 3, neutral=1 / 3, windows=0)
"""Of a text in a language that the model does not know: nothing was read, so nothing is known."""
"""The score of a text that shows nothing: no side, and no window was read."""


def check_count(name: str, count: int | None) -> None:
    """Nothing, when `count` is None or an int >= 1.

    Raises:
        InputError: it is neither.
    """
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise InputError(f"{name} must be an int >= 1, got {count!r}")


def checked_texts(texts: Sequence[str]) -> list[str]:
    """`texts` as a list.

    Raises:
        InputError: `texts` is one str, or an item is not a str.
    """
    if isinstance(texts, str):
        raise InputError("texts must be a sequence of str, got one str: put it into a list")
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"text {index} must be a str, got {type(text).__name__}")
    return list(texts)


def detect_checked(
    detector: StanceDetector, question: str, texts: Sequence[str]
) -> list[StanceScore]:
    """`detector.detect(question, texts)`, made sure to be one `StanceScore` a text.

    Raises:
        DetectorError: another number of scores came, or something else than a `StanceScore`.
    """
    scores = list(detector.detect(question, texts))
    if len(scores) != len(texts):
        raise DetectorError(
            f"a detector must give one score a text; {type(detector).__name__} gave {len(scores)} "
            f"for {len(texts)} texts"
        )
    for index, score in enumerate(scores):
        if not isinstance(score, StanceScore):
            raise DetectorError(
                f"a detector must give StanceScore objects; {type(detector).__name__} gave "
                f"{type(score).__name__} for text {index}"
            )
    return scores


def detect_shown(
    texts: Sequence[str], label: Callable[[list[int]], Sequence[StanceScore]]
) -> list[StanceScore]:
    """One score a text, where `label` is asked only for the indices of texts that show something.

    Blank texts get `BLANK`; when all are blank, `label` is not called.
    """
    scores = [BLANK] * len(texts)
    shown = [index for index, text in enumerate(texts) if not is_blank(text)]
    if shown:
        for index, score in zip(shown, label(shown), strict=True):
            scores[index] = score
    return scores


class LazyScores(Sequence[StanceScore]):
    """Scores of `texts` toward `question`, labelled in small batches and only as far as read.

    Reading index i labels, in rank order and `batch` texts a call, whatever is not labelled yet
    up to i. Blank texts and copies of labelled texts cost no call. Safe to share between threads.

    Args:
        detector: a detector, or a function that returns one and is called by the first label that
            is needed (so that a model is loaded only when it is used).
        question: passed to the detector as it is.
        texts: in retrieval order.
        batch: texts a call, >= 1; None takes the detector's own `lazy_batch` where it has one (the
            number of threads for a model that reads texts side by side), else 8.
        same_as: index of a copy -> index of the text whose label it shares.

    Raises:
        InputError: `batch` < 1, or `same_as` names an index that is not there or runs in a circle.

    >>> from equipoise.testing import FakeDetector
    >>> scores = LazyScores(FakeDetector({"a": "pro", "b": "con"}), "?", ["a", " ", "b"], batch=1)
    >>> scores[0].label.value, scores.labelled, sorted(scores.seen)
    ('pro', 1, [0, 1])
    """

    def __init__(
        self,
        detector: StanceDetector | Callable[[], StanceDetector],
        question: str,
        texts: Sequence[str],
        *,
        batch: int | None = None,
        same_as: Mapping[int, int] | None = None,
    ) -> None:
        check_count("batch", batch)
        self._detector = detector
        self._question = question
        self._texts = checked_texts(texts)
        self._batch = batch
        self._original = _originals(len(self._texts), same_as or {})
        self._scores: dict[int, StanceScore] = {
            index: BLANK for index, text in enumerate(self._texts) if is_blank(text)
        }
        self._todo = [i for i in dict.fromkeys(self._original) if i not in self._scores]
        self._labelled = 0
        self._seconds = 0.0
        self._lock = threading.RLock()

    @property
    def labelled(self) -> int:
        """How many texts went to the detector so far."""
        return self._labelled

    @property
    def label_ms(self) -> float:
        """Time spent in the detector so far, its loading included, in milliseconds."""
        return 1e3 * self._seconds

    @property
    def seen(self) -> dict[int, StanceScore]:
        """Index -> score of what is known by now; reading it labels nothing.

        Blank texts are known from the start, copies as soon as the text they share a label with.
        """
        with self._lock:
            known = ((i, self._scores.get(root)) for i, root in enumerate(self._original))
            return {index: score for index, score in known if score is not None}

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[StanceScore]:
        return (self[index] for index in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> StanceScore: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[StanceScore, ...]: ...

    def __getitem__(self, index: int | slice) -> StanceScore | tuple[StanceScore, ...]:
        if isinstance(index, slice):
            return tuple(self[at] for at in range(*index.indices(len(self))))
        root = self._original[index]
        with self._lock:
            while root not in self._scores:
                self._label_next()
            return self._scores[root]

    def __repr__(self) -> str:
        return f"LazyScores({len(self)} texts, {self._labelled} labelled)"

    def _label_next(self) -> None:
        began = time.perf_counter()
        try:
            detector = self._detector = _loaded(self._detector)
            now = self._todo[: self._batch or lazy_batch(detector)]
            texts = [self._texts[index] for index in now]
            scores = detect_checked(detector, self._question, texts)
            self._labelled += len(now)
        finally:
            self._seconds += time.perf_counter() - began
        self._scores.update(zip(now, scores, strict=True))
        # Only now: a call that failed leaves its texts to be asked for again.
        del self._todo[: len(now)]


def lazy_batch(detector: StanceDetector) -> int:
    """Texts a call that suit the detector when labels are read one after the other, >= 1."""
    return int(getattr(detector, "lazy_batch", LAZY_BATCH))


def _loaded(detector: StanceDetector | Callable[[], StanceDetector]) -> StanceDetector:
    # Not isinstance: on Python 3.11 that would read `name`, which may cost a request or a hash.
    if hasattr(detector, "detect"):
        return cast(StanceDetector, detector)
    return detector()


def _originals(count: int, same_as: Mapping[int, int]) -> list[int]:
    """For each index the index whose label it shares: its own, or where `same_as` leads."""
    for pair in same_as.items():
        if not all(0 <= index < count for index in pair):
            raise InputError(f"same_as must map indices below {count}, got {pair[0]} -> {pair[1]}")
    originals = []
    for index in range(count):
        path = [index]
        while (following := same_as.get(path[-1], path[-1])) != path[-1]:
            if following in path:
                raise InputError(f"same_as must not run in a circle, got {[*path, following]}")
            path.append(following)
        originals.append(path[-1])
    return originals
