"""The data that flows through equipoise: candidates, stances, quotas, picks and answers.

Standard library only. Ranks start at 1, indices at 0.
"""

import math
import unicodedata
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from numbers import Real
from typing import Any, Protocol, runtime_checkable

from equipoise.errors import InputError


def is_number(value: object) -> bool:
    """True for an int or a float (of numpy too) that is not a bool."""
    return isinstance(value, Real) and not isinstance(value, bool)


class Stance(StrEnum):
    """Where a text stands toward answering the question YES. Source: SP 3.3."""

    PRO = "pro"
    CON = "con"
    NEUTRAL = "neutral"

    @property
    def opposite(self) -> "Stance":
        """Con for pro, pro for con, neutral for neutral."""
        return {Stance.PRO: Stance.CON, Stance.CON: Stance.PRO}.get(self, self)


@dataclass(frozen=True, slots=True)
class StanceScore:
    """Three probabilities in [0, 1] that sum to 1, for one text toward one question.

    `windows` is how many overlapping windows of the text were read to get them (1 for a text that
    fits the model at once; 0 where nothing could be read, so that the label is always unsure).

    Raises:
        InputError: a probability is not finite or not in [0, 1], or they do not sum to 1.

    >>> StanceScore(pro=0.7, con=0.2, neutral=0.1).label
    <Stance.PRO: 'pro'>
    """

    pro: float
    con: float
    neutral: float
    windows: int = 1

    def __post_init__(self) -> None:
        values = (self.pro, self.con, self.neutral)
        if (
            not all(is_number(value) and 0.0 <= value <= 1.0 for value in values)
            or abs(sum(values) - 1.0) > 1e-3
        ):
            raise InputError(f"stance probabilities must lie in [0, 1] and sum to 1, got {values}")

    @property
    def label(self) -> Stance:
        """The side that is strictly the most probable; neutral on a tie: it takes no side."""
        if self.pro > max(self.con, self.neutral):
            return Stance.PRO
        if self.con > max(self.pro, self.neutral):
            return Stance.CON
        return Stance.NEUTRAL

    @property
    def confidence(self) -> float:
        """The probability of `label`, in [0, 1]."""
        return float(getattr(self, self.label.value))

    def swapped(self) -> "StanceScore":
        """The same score toward the negated question: pro and con change places."""
        return StanceScore(self.con, self.pro, self.neutral, self.windows)

    def to_dict(self) -> dict[str, float]:
        """`{"pro": ..., "con": ..., "neutral": ...}` as plain floats."""
        return {"pro": self.pro, "con": self.con, "neutral": self.neutral}


@dataclass(frozen=True, slots=True)
class Candidate:
    """One retrieved document.

    `score` is the retriever's own relevance, of any scale, higher is better, or None. `embedding`
    is a vector of any length, finite. Where a document stands in the retriever's list is not kept
    here: the order of the list says it.

    Raises:
        InputError: `text` or `id` is not a str, `score` is no number, or `embedding` is no sequence
            of finite numbers.
    """

    id: str
    text: str
    score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    embedding: Sequence[float] | None = None

    def __post_init__(self) -> None:
        for name in ("id", "text"):
            if not isinstance(getattr(self, name), str):
                kind = type(getattr(self, name)).__name__
                raise InputError(f"a candidate's {name} must be a str, got {kind}")
        if self.score is not None and not is_number(self.score):
            raise InputError(f"the score of {self.id!r} must be a number, got {self.score!r}")
        if self.embedding is not None:
            try:
                values = tuple(float(value) for value in self.embedding)
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"the embedding of document {self.id!r} must be a sequence of numbers"
                ) from error
            if not all(map(math.isfinite, values)):
                raise InputError(f"the embedding of document {self.id!r} must be finite numbers")
            object.__setattr__(self, "embedding", values)

    @property
    def is_blank(self) -> bool:
        """True when there is no text to read: only white space and invisible characters."""
        return all(unicodedata.category(character)[0] in "ZC" for character in self.text)


@dataclass(frozen=True, slots=True)
class Quota:
    """How many documents of each stance to choose, and how far down to look for them.

    The top `pool` of the retrieval order is the main source; ranks beyond it, down to `depth`,
    are reached only for a stance that is still short. Source: SP 3.4.

    Raises:
        InputError: a count is negative, all are 0, or not 1 <= pool <= depth.
    """

    pro: int = 2
    con: int = 2
    neutral: int = 1
    pool: int = 20
    depth: int = 50

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InputError(f"Quota.{name} must be an int >= 0, got {value!r}")
        if self.total < 1:
            raise InputError("a Quota must ask for at least one document, got 0 + 0 + 0")
        if not 1 <= self.pool <= self.depth:
            raise InputError(f"a Quota needs 1 <= pool <= depth, got {self.pool} and {self.depth}")

    @property
    def total(self) -> int:
        """Documents to choose in all."""
        return self.pro + self.con + self.neutral

    def of(self, stance: Stance) -> int:
        """The seats of one stance."""
        return int(getattr(self, stance.value))

    def scaled(self, k: int) -> "Quota":
        """A quota of `k` seats in like proportion.

        Where pro and con are equal they stay equal: each side gets k * pro / total rounded half
        up, neutral the rest, so that no odd seat ever goes to a side. Otherwise:
        largest remainders.

        Raises:
            InputError: k < 1.

        >>> [(q.pro, q.con, q.neutral) for q in (Quota().scaled(k) for k in (1, 3, 4, 10))]
        [(0, 0, 1), (1, 1, 1), (2, 2, 0), (4, 4, 2)]
        """
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise InputError(f"k must be an int >= 1, got {k!r}")
        exact = {stance: k * self.of(stance) / self.total for stance in Stance}
        if self.pro == self.con:
            side = min(math.floor(exact[Stance.PRO] + 0.5), k // 2)
            seats = {Stance.PRO: side, Stance.CON: side, Stance.NEUTRAL: k - 2 * side}
        else:
            seats = {stance: math.floor(share) for stance, share in exact.items()}
            by_remainder = sorted(Stance, key=lambda stance: seats[stance] - exact[stance])
            for stance in by_remainder[: k - sum(seats.values())]:
                seats[stance] += 1
        return Quota(
            seats[Stance.PRO],
            seats[Stance.CON],
            seats[Stance.NEUTRAL],
            self.pool,
            self.depth,
        )


class Reason(StrEnum):
    """Why a document was chosen."""

    QUOTA = "quota"  # a seat of its stance, within the pool
    REACHED = "reached"  # a seat of its stance, from beyond the pool
    SOUGHT = "sought"  # a seat of its stance, found when the retriever was asked again
    FILLED = "filled"  # the quota could not be met: next in retrieval order
    RELEVANCE = "relevance"  # the order of relevance stands
    RANDOM = "random"  # drawn at random from the pool
    MMR = "mmr"  # maximal marginal relevance


@dataclass(frozen=True, slots=True)
class Pick:
    """One document a rule chose: its index in the candidates it was given, and why."""

    index: int
    reason: Reason


class Outcome(StrEnum):
    """What came of asking a generator. Only `answered` has a text that answers."""

    ANSWERED = "answered"
    REFUSED = "refused"  # the model declined
    FILTERED = "filtered"  # a vendor's content filter stopped it
    ERROR = "error"  # the call failed after its retries
    EMPTY = "empty"  # the call succeeded with no text


@dataclass(frozen=True, slots=True)
class Answer:
    """What a generator gave back.

    `text` is "" unless something was written; `detail` says what went wrong for outcomes other
    than answered, without secrets; `attempts` counts calls, the first one included.
    """

    outcome: Outcome
    text: str
    model: str
    latency_ms: float
    detail: str = ""
    attempts: int = 1
    input_tokens: int | None = None
    output_tokens: int | None = None


@runtime_checkable
class StanceDetector(Protocol):
    """Labels texts toward a question. `name` identifies model and settings (a cache key)."""

    @property
    def name(self) -> str:
        """Identity of model and settings: two detectors of one name give equal scores."""
        ...

    def detect(self, question: str, texts: Sequence[str]) -> Sequence[StanceScore]:
        """One score a text, in order; an empty list of texts gives an empty list.

        Raises:
            DetectorError: the model could not answer. Never a default in its place.
        """
        ...


@runtime_checkable
class Retriever(Protocol):
    """Finds documents for a question."""

    def retrieve(self, question: str, k: int) -> Sequence[Candidate]:
        """At most `k` candidates, best first."""
        ...


@runtime_checkable
class Generator(Protocol):
    """Writes an answer for a prompt."""

    def generate(self, prompt: str) -> Answer:
        """An answer; a failure is an outcome in it, never an exception and never a default text."""
        ...


@runtime_checkable
class SelectionRule(Protocol):
    """Chooses documents from candidates in retrieval order."""

    @property
    def name(self) -> str:
        """The rule and its settings, as results report it."""
        ...

    def select(
        self,
        candidates: Sequence[Candidate],
        scores: Sequence[StanceScore],
        *,
        skip: Set[int] = frozenset(),
    ) -> Sequence[Pick]:
        """Picks in the order they were made, each index at most once.

        `scores` runs beside `candidates` and may be lazy: a rule reads only what it needs. `skip`
        holds the indices that must not be chosen (copies, blank texts); they keep their rank.
        """
        ...


@runtime_checkable
class DocumentFilter(Protocol):
    """Tells which retrieved documents look planted."""

    @property
    def name(self) -> str:
        """The filter and its settings, as results report it."""
        ...

    def flag(self, question: str, candidates: Sequence[Candidate]) -> frozenset[int]:
        """Indices of candidates, in retrieval order, that should not go on.

        Raises:
            InputError: a candidate lacks what the filter reads (a score, an embedding).
        """
        ...
