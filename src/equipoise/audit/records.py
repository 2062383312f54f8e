"""What an audit is made of: passages near a question, what they add up to, and what was found.

An `Audit` holds what was seen (one `Passage` a passage, without its text). Everything else, counts
and findings, is worked out from that, so that a file that is read again says the same.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from equipoise.audit.chance import Mix, wilson
from equipoise.errors import InputError
from equipoise.types import Stance, is_number

UNKNOWN: Final = "unknown"
"""What stands for a source, language or month that the metadata do not tell."""
SHOWN: Final = (5, 20, 50)
"""Depths at which what retrieval shows is held against all that is near."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Metadata keys to read, the first that a passage has counts; none of them: `UNKNOWN`.

    `arrived` holds ISO dates (2026-11-30, also with a time behind); their month is kept.
    """

    source: tuple[str, ...] = ("source",)
    language: tuple[str, ...] = ("language", "lang")
    arrived: tuple[str, ...] = ("arrived", "date")


@dataclass(frozen=True, slots=True)
class Settings:
    """What is looked at, and when it counts as one-sided.

    Attributes:
        near: passages a question, best first, >= 1.
        floor: the lowest cosine that is still near, in [-1, 1]; None takes all `near`.
        shown: the depth whose stance is held against all that is near, >= 1.
        level: adjusted p-values up to this count, in (0, 1).
        share: a side's share of the families that take a side, in (0.5, 1], from which one leads.
        least: families of a side that a lead needs, >= 2.
        seats: families of each side that a balanced selection needs, >= 1 (as in `Quota`).
        depth: ranks among which those are looked for, and shifts, >= 1 (as in `Quota`).
        copies: documents of one family within `shown` that are reported, >= 2.
        fields: metadata keys.

    Raises:
        InputError: a value out of its range.
    """

    near: int = 100
    floor: float | None = None
    shown: int = 20
    level: float = 0.05
    share: float = 0.75
    least: int = 2
    seats: int = 2
    depth: int = 50
    copies: int = 3
    fields: Fields = field(default_factory=Fields)

    def __post_init__(self) -> None:
        lowest = {"near": 1, "shown": 1, "least": 2, "seats": 1, "depth": 1, "copies": 2}
        for name, low in lowest.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < low:
                raise InputError(f"Settings.{name} must be an int >= {low}, got {value!r}")
        if not (is_number(self.level) and 0 < self.level < 1):
            raise InputError(f"Settings.level must lie in (0, 1), got {self.level!r}")
        if not (is_number(self.share) and 0.5 < self.share <= 1):
            raise InputError(f"Settings.share must lie in (0.5, 1], got {self.share!r}")
        if self.floor is not None and not (is_number(self.floor) and -1 <= self.floor <= 1):
            raise InputError(f"Settings.floor must lie in [-1, 1] or be None, got {self.floor!r}")


@dataclass(frozen=True, slots=True)
class Question:
    """A question that is asked of the corpus."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage near a question. Its place in the list is its rank.

    `digest` names its text (folded, so that white space and case do not matter); `lean` is the
    probability of pro less that of con, in [-1, 1]; `score` is the retriever's; `family` is the
    rank, from 1, of the first passage of which this one is a copy or near-copy of the same stance.
    """

    id: str
    digest: str
    stance: Stance
    lean: float
    score: float | None
    family: int
    source: str = UNKNOWN
    language: str = UNKNOWN
    month: str = UNKNOWN


class Kind(StrEnum):
    """What can be found, in the words of `--fail-on`."""

    ONE_SIDED = "one-sided"  # one side leads among all that is near
    MISSING_SIDE = "missing-side"  # a balanced selection cannot be filled
    SHOWN = "shown"  # the top leans otherwise than what is near
    SOURCE = "source"  # one source leans otherwise than the rest
    MONTH = "month"  # what arrived in one month leans otherwise than the rest
    COPIES = "copies"  # copies of one text take several places at the top
    SHIFT = "shift"  # what came or went since the earlier audit leans otherwise


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found at one question.

    `side` leads (for a missing side: is missing). `group` is the source, month, "arrived" or "gone"
    that it is about. `mix` counts the families in question, `against` those they were held against.
    `p` and `adjusted` are in (0, 1], None where no test was made.
    """

    kind: Kind
    side: Stance
    group: str
    mix: Mix
    against: Mix
    p: float | None = None
    adjusted: float | None = None
    passages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spread:
    """Polarization Scores of the passages near one question, in the unit of the embeddings.

    Along the first principal component of these very passages, positive toward pro where
    `sign_fixed`. `explained` is its share of their variance, `alignment` its cosine with the way
    from the con mean to the pro mean (None without both sides): far from 1, the axis measures
    something else than stance. `shown` is the mean of the top less the mean of all.
    """

    sd: float
    low: float
    high: float
    shown: float
    explained: float
    alignment: float | None
    sign_fixed: bool


@dataclass(frozen=True, slots=True)
class Audited:
    """One question with the passages near it, best first."""

    question: Question
    passages: tuple[Passage, ...]
    spread: Spread | None = None
    findings: tuple[Finding, ...] = ()

    def mix(self, depth: int | None = None, *, once: bool = True) -> Mix:
        """The stances of the first `depth` passages; `once` counts each family once."""
        return mix_of(self.passages[:depth], once=once)

    def by(self, key: Callable[[Passage], str]) -> dict[str, tuple[Passage, ...]]:
        """The passages by what `key` says of them, the largest group first."""
        groups: dict[str, list[Passage]] = {}
        for passage in self.passages:
            groups.setdefault(key(passage), []).append(passage)
        order = sorted(groups, key=lambda name: (-len(groups[name]), name))
        return {name: tuple(groups[name]) for name in order}


@dataclass(frozen=True, slots=True)
class Audit:
    """An audit of one corpus.

    `corpus` names what was audited, `detector` who labelled it, `date` when, as it was given.
    `against` is the date of the earlier audit that shifts were looked for against, or None.
    """

    corpus: str
    detector: str
    date: str
    settings: Settings
    questions: tuple[Audited, ...]
    against: str | None = None

    def with_finding(self, kind: Kind) -> tuple[Audited, ...]:
        """The questions at which something of that kind was found."""
        return tuple(q for q in self.questions if any(f.kind is kind for f in q.findings))


def once_each(passages: Iterable[Passage]) -> tuple[Passage, ...]:
    """The first passage of each family, in order."""
    first: dict[int, Passage] = {}
    for passage in passages:
        first.setdefault(passage.family, passage)
    return tuple(first.values())


def mix_of(passages: Iterable[Passage], *, once: bool = True) -> Mix:
    """How many passages, or with `once` families, stand on each side."""
    stances = [passage.stance for passage in (once_each(passages) if once else passages)]
    return Mix(*(stances.count(side) for side in (Stance.PRO, Stance.CON, Stance.NEUTRAL)))


def shares(mix: Mix) -> Mapping[str, Any]:
    """Counts, and each side's share of all with its 95% interval, for files."""
    return {
        side.value: {
            "n": getattr(mix, side.value),
            **dict(
                zip(
                    ("share", "low", "high"), wilson(getattr(mix, side.value), mix.total),
                    strict=True,
                )
            ),
        }
        for side in Stance
    }  # fmt: skip


def leaning(mix: Mix) -> Stance:
    """The side with more families; neutral where they are equal."""
    if mix.net == 0:
        return Stance.NEUTRAL
    return Stance.PRO if mix.net > 0 else Stance.CON
