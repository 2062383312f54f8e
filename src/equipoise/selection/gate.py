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
    unsure_below: float = 0.0,
) -> Decision:
    """Whether to balance, and why, reading as few labels as the answer needs.

    Balanced are questions where both sides are present and sure enough within the pool, whatever
    their wording, and questions worded as asking what ought to be where at least one side shows
    within depth. A question that asks for a fact is never balanced, and no label is read for it.

    `unsure_below`, in [0, 1), is the probability under which a label shows no side at all, whatever
    the wording; 0 makes every label count. Sure enough within the pool is then the larger of it
    and `gate.sure`. `why` says so where a side was seen in unsure labels only.

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
    sure = _sides(scores, pool, sure=max(gate.sure, unsure_below))
    if len(sure) == 2:
        return Decision(Verdict.CONTESTED, "both sides are present in the pool", balance=True)
    if kind is QuestionKind.OPEN:
        return _open_question(sure, _seen(scores, pool, unsure_below), quota)
    depth = [i for i in range(min(len(scores), quota.depth)) if i not in skip]
    return _normative_question(_seen(scores, depth, unsure_below))


@dataclass(frozen=True, slots=True)
class _Seen:
    """Which of pro and con were seen: in labels that count, and in unsure ones only."""

    sides: set[Stance]
    unsure_only: set[Stance]


def _seen(scores: Sequence[StanceScore], indices: Sequence[int], unsure_below: float) -> _Seen:
    sides = _sides(scores, indices, sure=unsure_below)
    # Reads nothing new: where a side is still missing, every label was read to look for it.
    return _Seen(sides, _sides(scores, indices, sure=0.0) - sides if len(sides) < 2 else set())


def _normative_question(seen: _Seen) -> Decision:
    if len(seen.sides) == 2:
        return Decision(Verdict.CONTESTED, "the question asks what ought to be", balance=True)
    if not seen.sides:
        why = "no document takes a side" + (" but unsure ones" if seen.unsure_only else "")
        return Decision(Verdict.NOT_CONTESTED, why, balance=False)
    missing = next(iter(seen.sides)).opposite
    but = " but unsure ones" if missing in seen.unsure_only else ""
    why = f"no {missing.value} document down to the depth{but}"
    return Decision(Verdict.ONE_SIDED, why, balance=True)


def _open_question(sure: set[Stance], seen: _Seen, quota: Quota) -> Decision:
    top = f"in the top {quota.pool}"
    if sure:
        missing = next(iter(sure)).opposite
        if missing in seen.unsure_only:
            why = f"no {missing.value} document {top} but unsure ones; it may be a fact"
        else:
            why = f"no sure {missing.value} document {top}; it may be a fact"
        return Decision(Verdict.ONE_SIDED, why, balance=False, missing=missing)
    if seen.unsure_only and not seen.sides:
        why = f"no document {top} takes a side but unsure ones"
    else:
        why = f"no document {top} takes a side with confidence"
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
