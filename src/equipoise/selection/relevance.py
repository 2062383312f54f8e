"""The first k documents, as retrieved."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import islice

from equipoise.types import Candidate, Pick, Reason, StanceScore


@dataclass(frozen=True, slots=True)
class RelevanceRule:
    """Takes the first `k` documents in retrieval order and reads no label.

    Cost: O(k). Not for contested questions: whatever ranks highest decides the answer.
    Source: SP 4.1, settings A and D.
    """

    k: int = 5

    @property
    def name(self) -> str:
        """`relevance(5)`."""
        return f"relevance({self.k})"

    def select(
        self,
        candidates: Sequence[Candidate],
        scores: Sequence[StanceScore],
        *,
        skip: Set[int] = frozenset(),
    ) -> list[Pick]:
        """At most `k` picks, best rank first."""
        free = (index for index in range(len(candidates)) if index not in skip)
        return [Pick(index, Reason.RELEVANCE) for index in islice(free, self.k)]
