"""Fakes for tests: a detector from a table, one that fails, an echo, a list that retrieves.

They keep the contracts of the real parts, and count what was asked of them.
"""

import hashlib
import json
import threading
from collections.abc import Iterable, Mapping, Sequence

from equipoise.errors import DetectorError, InputError
from equipoise.types import Answer, Candidate, Outcome, Stance, StanceScore

__all__ = ["EchoGenerator", "FailingDetector", "FakeDetector", "ListRetriever"]


def _score(given: Stance | str | StanceScore, confidence: float) -> StanceScore:
    if isinstance(given, StanceScore):
        return given
    try:
        stance = Stance(given)
    except ValueError:
        known = ", ".join(Stance)
        raise InputError(f"a stance must be one of {known}, got {given!r}") from None
    rest = (1.0 - confidence) / 2
    values = {name: confidence if name is stance else rest for name in Stance}
    return StanceScore(values[Stance.PRO], values[Stance.CON], values[Stance.NEUTRAL])


class FakeDetector:
    """A detector that looks texts up in a table. The question plays no part.

    Args:
        table: text -> stance, or a full score.
        default: for texts that are not in the table; None makes them an InputError. Texts of only
            white space are neutral with probability 1 unless the table has them.
        confidence: the probability of the named stance, in (1/3, 1]; the others share the rest.

    `calls`, `texts` and `questions` say what was asked. Safe to share between threads.

    >>> detector = FakeDetector({"for it": "pro"}, default="neutral")
    >>> [score.label.value for score in detector.detect("?", ["for it", "other"])]
    ['pro', 'neutral']
    >>> detector.calls, detector.texts
    (1, ['for it', 'other'])
    """

    def __init__(
        self,
        table: Mapping[str, Stance | str | StanceScore],
        *,
        default: Stance | str | StanceScore | None = None,
        confidence: float = 0.9,
    ) -> None:
        if not 1 / 3 < confidence <= 1:
            raise InputError(f"confidence must be in (1/3, 1], got {confidence!r}")
        self._table = {text: _score(given, confidence) for text, given in table.items()}
        self._default = None if default is None else _score(default, confidence)
        self._lock = threading.Lock()
        self.calls = 0
        self.texts: list[str] = []
        self.questions: list[str] = []

    @property
    def name(self) -> str:
        """`fake:` and a hash of the table: equal tables, equal names."""
        rows = [(text, score.to_dict()) for text, score in sorted(self._table.items())]
        default = self._default and self._default.to_dict()
        text = json.dumps([rows, default])
        return "fake:" + hashlib.sha256(text.encode()).hexdigest()[:12]

    def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
        """One score a text, in order.

        Raises:
            InputError: a text is not in the table and there is no default.
        """
        scores = [self._look_up(text) for text in texts]
        with self._lock:
            self.calls += 1
            self.texts += texts
            self.questions.append(question)
        return scores

    def _look_up(self, text: str) -> StanceScore:
        if text in self._table:
            return self._table[text]
        if not text.strip():
            return StanceScore(pro=0.0, con=0.0, neutral=1.0, windows=0)
        if self._default is None:
            raise InputError(f"FakeDetector has no stance for {text[:60]!r}: add it or a default")
        return self._default


class FailingDetector:
    """A detector that raises the same error each time, and counts how often.

    >>> FailingDetector().detect("?", ["a"])
    Traceback (most recent call last):
    equipoise.errors.DetectorError: this detector always fails
    """

    name = "failing"

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error or DetectorError("this detector always fails")
        self.calls = 0

    def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
        """Raises the error it was made with, also for an empty list of texts."""
        self.calls += 1
        raise self.error


class EchoGenerator:
    """A generator without a model: answers with a given text, or with what it was sent.

    Args:
        text: the answer; None echoes the first `max_chars` characters of the prompt.
        outcome: what came of it; any other than answered has an empty text.
        max_chars: >= 1.

    `prompts` holds every prompt it was sent.

    >>> EchoGenerator("Both sides have a case.").generate("...").text
    'Both sides have a case.'
    """

    name = "echo"

    def __init__(
        self,
        text: str | None = None,
        *,
        outcome: Outcome | str = Outcome.ANSWERED,
        max_chars: int = 2_000,
    ) -> None:
        if max_chars < 1:
            raise InputError(f"max_chars must be >= 1, got {max_chars}")
        self.text = text
        self.outcome = Outcome(outcome)
        self.max_chars = max_chars
        self.prompts: list[str] = []

    def generate(self, prompt: str) -> Answer:
        """The given text, or the beginning of the prompt."""
        self.prompts.append(prompt)
        text = prompt[: self.max_chars] if self.text is None else self.text
        answered = self.outcome is Outcome.ANSWERED
        outcome = Outcome.EMPTY if answered and not text.strip() else self.outcome
        return Answer(
            outcome=outcome,
            text=text if outcome is Outcome.ANSWERED else "",
            model=self.name,
            latency_ms=0.0,
            detail="" if outcome is Outcome.ANSWERED else f"EchoGenerator: {outcome.value}",
        )


class ListRetriever:
    """A retriever that gives the same candidates, in the same order, for every question.

    Args:
        candidates: best first; a str becomes a Candidate with its place from 1 as id.

    >>> [candidate.id for candidate in ListRetriever(["a", "b", "c"]).retrieve("?", 2)]
    ['1', '2']
    """

    name = "list"

    def __init__(self, candidates: Iterable[Candidate | str]) -> None:
        self.candidates = tuple(
            Candidate(str(place), item) if isinstance(item, str) else item
            for place, item in enumerate(candidates, start=1)
        )
        self.questions: list[str] = []

    def retrieve(self, question: str, k: int) -> list[Candidate]:
        """The first `k` candidates, or all there are.

        Raises:
            InputError: k < 1.
        """
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise InputError(f"k must be an int >= 1, got {k!r}")
        self.questions.append(question)
        return list(self.candidates[:k])
