"""The gate: is this question contested at all? If not, the order of relevance must stand."""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from equipoise.errors import InputError
from equipoise.types import Quota, Stance, StanceScore, is_number

GateMode = Literal["always", "auto", "never"]


@dataclass(frozen=True, slots=True)
class Gate:
    """When to balance.

    `mode`: "always" balances every question (the paper's behaviour), "never" keeps the order of
    relevance, "auto" reads the question and the labels. `sure` in [0, 1] is the probability from
    which a pro or con label counts as evidence that the question is contested.

    Raises:
        InputError: unknown mode, or `sure` not in [0, 1].
    """

    mode: GateMode = "auto"
    sure: float = 0.6

    def __post_init__(self) -> None:
        if self.mode not in ("always", "auto", "never"):  # also for values that are no str
            raise InputError(f'gate must be "always", "auto" or "never", got {self.mode!r}')
        if not is_number(self.sure) or not 0.0 <= self.sure <= 1.0:
            raise InputError(f"Gate.sure must lie in [0, 1], got {self.sure!r}")

    @classmethod
    def named(cls, mode: str) -> "Gate":
        """The gate of that mode, with the default threshold.

        Raises:
            InputError: unknown mode.
        """
        return cls(mode)  # type: ignore[arg-type]


class Verdict(StrEnum):
    """What the gate found. `always` and `never` mean that it was told not to look."""

    CONTESTED = "contested"
    ONE_SIDED = "one_sided"
    NOT_CONTESTED = "not_contested"
    ALWAYS = "always"
    NEVER = "never"
    UNLABELLED = "unlabelled"


@dataclass(frozen=True, slots=True)
class Decision:
    """The gate's verdict, the reason in words, and whether the quota is to be applied.

    `missing` is the side that a one-sided verdict did not find.
    """

    verdict: Verdict
    why: str
    balance: bool
    missing: Stance | None = None


class QuestionKind(StrEnum):
    """What the wording of a question tells, without reading any document."""

    NORMATIVE = "normative"  # asks what ought to be: people answer it by their values
    FACTUAL = "factual"  # asks who, what, when, where, which, how many
    OPEN = "open"  # everything else: yes/no questions of fact, topics, claims, other languages


_NORMATIVE = re.compile(
    r"\b(should(n['\N{RIGHT SINGLE QUOTATION MARK}]t)?|ought|pros and cons"
    r"|arguments? (for|against|in favou?r)|case (for|against)|justified|justifiable"
    r"|ethical|unethical|moral|immoral|morally|ethically)\b"
)
_YES_NO = re.compile(
    r"^(is|are|am|was|were|do|does|did|can|could|will|would|may|might|must|shall|has|have|had)\b"
)
_ASKING = r"(who|whom|whose|what|when|where|which|how)\b"
_STARTS_ASKING = re.compile(
    rf"^((in|on|at|by|for|from|to|of|with|under|during|after|before|since|until|about) )?{_ASKING}"
    r"|^(name|define|list)\b"
)
_ENDS_ASKING = re.compile(rf"\b{_ASKING}[^?]*\?$")
# A question with one of these may ask for a judgement: its documents are looked at.
_WEIGHS = re.compile(
    r"\b(better|best|worse|worst|right|wrong|good|bad|harmful|dangerous|safe|fair|unfair|cruel"
    r"|necessary|worth)\b"
)


def question_kind(question: str) -> QuestionKind:
    """The kind of a question, from its English wording alone. Source: ours.

    >>> question_kind("Should tea be banned?").value, question_kind("Is tea green?").value
    ('normative', 'open')
    """
    text = " ".join(question.casefold().split())
    if _NORMATIVE.search(text):
        return QuestionKind.NORMATIVE
    asks = _STARTS_ASKING.match(text) or (not _YES_NO.match(text) and _ENDS_ASKING.search(text))
    if asks and not _WEIGHS.search(text):
        return QuestionKind.FACTUAL
    return QuestionKind.OPEN


def decide(
    gate: Gate,
    question: str,
    scores: Sequence[StanceScore],
    *,
    quota: Quota,
    skip: Set[int] = frozenset(),
) -> Decision:
    """Whether to balance, and why, reading as few labels as the answer needs.

    Balanced are questions where both sides are present and sure enough within the pool, whatever
    their wording, and questions worded as asking what ought to be where at least one side shows
    within depth. A question that asks for a fact is never balanced, and no label is read for it.

    Cost: at most `quota.depth` labels. Source: ours.
    """
    if gate.mode == "always":
        return Decision(Verdict.ALWAYS, "told to balance every question", balance=True)
    if gate.mode == "never":
        return Decision(Verdict.NEVER, "told to keep the order of relevance", balance=False)
    kind = question_kind(question)
    if kind is QuestionKind.FACTUAL:
        return Decision(Verdict.NOT_CONTESTED, "the question asks for a fact", balance=False)
    pool = [i for i in range(min(len(scores), quota.pool)) if i not in skip]
    sure = _sides(scores, pool, sure=gate.sure)
    if len(sure) == 2:
        return Decision(Verdict.CONTESTED, "both sides are present in the pool", balance=True)
    if kind is QuestionKind.OPEN:
        return _open_question(sure, quota)
    depth = [i for i in range(min(len(scores), quota.depth)) if i not in skip]
    sides = _sides(scores, depth, sure=0.0)
    if len(sides) == 2:
        return Decision(Verdict.CONTESTED, "the question asks what ought to be", balance=True)
    if not sides:
        return Decision(Verdict.NOT_CONTESTED, "no document takes a side", balance=False)
    missing = next(iter(sides)).opposite
    return Decision(
        Verdict.ONE_SIDED,
        f"no {missing.value} document down to the depth",
        balance=True,
    )


def _open_question(sure: set[Stance], quota: Quota) -> Decision:
    if sure:
        missing = next(iter(sure)).opposite
        why = f"no sure {missing.value} document in the top {quota.pool}; it may be a fact"
        return Decision(Verdict.ONE_SIDED, why, balance=False, missing=missing)
    why = f"no document in the top {quota.pool} takes a side with confidence"
    return Decision(Verdict.NOT_CONTESTED, why, balance=False)


def _sides(scores: Sequence[StanceScore], indices: Sequence[int], *, sure: float) -> set[Stance]:
    """Which of pro and con occur with at least `sure`; stops reading when both do."""
    found: set[Stance] = set()
    for index in indices:
        score = scores[index]
        if score.label is not Stance.NEUTRAL and score.confidence >= sure:
            found.add(score.label)
            if len(found) == 2:
                break
    return found
