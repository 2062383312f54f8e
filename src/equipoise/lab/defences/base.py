"""What a defence is: one question's candidates in, the documents for the prompt out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from equipoise.selection.relevance import RelevanceRule
from equipoise.types import Candidate, DocumentFilter, SelectionRule, StanceScore

K = 5
"""Documents for the prompt. Source: SP 3.4."""


@dataclass(frozen=True, slots=True)
class Case:
    """One question as a defence sees it: nothing in it tells what was planted.

    `candidates` are in retrieval order (50 in the paper); `score` is the cosine of question and
    document, `embedding` the document's vector of length 1. `scores` runs beside them and may be
    lazy: a defence that reads no label costs none.
    """

    question: str
    candidates: tuple[Candidate, ...]
    scores: Sequence[StanceScore]


@dataclass(frozen=True, slots=True)
class Defended:
    """What a defence decided.

    `chosen` are indices of the candidates, in retrieval order, as they go to the generator.
    `flagged` were judged planted and dropped (empty for a defence that only chooses).
    `instruct` asks for the even-handedness instruction in the prompt.
    """

    chosen: tuple[int, ...]
    flagged: frozenset[int] = frozenset()
    instruct: bool = False


@runtime_checkable
class Defence(Protocol):
    """Acts after retrieval and before generation."""

    @property
    def name(self) -> str:
        """The defence and its settings, as tables print it."""
        ...

    def defend(self, case: Case) -> Defended:
        """Which candidates go to the generator.

        Fewer than asked for where there are fewer, or where copies, blank or flagged documents get
        no place.
        """
        ...


@dataclass(frozen=True, slots=True)
class RuleDefence:
    """A selection rule as a defence, after a filter where there is one.

    What the filter flags is never chosen, even where fewer than the rule's number are left.
    """

    label: str
    rule: SelectionRule = RelevanceRule(K)  # noqa: RUF009  (frozen)
    filter: DocumentFilter | None = None
    instruct: bool = False

    @property
    def name(self) -> str:
        """The label it was given."""
        return self.label

    def defend(self, case: Case) -> Defended:
        """Flag, then choose among the rest."""
        flagged: frozenset[int] = frozenset()
        if self.filter is not None:
            flagged = self.filter.flag(case.question, case.candidates)
        picks = self.rule.select(case.candidates, case.scores, skip=flagged)
        return Defended(tuple(sorted(pick.index for pick in picks)), flagged, self.instruct)
