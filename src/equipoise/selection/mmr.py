"""Maximal marginal relevance: relevant, and unlike what was already taken."""

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Literal

from equipoise.errors import InputError
from equipoise.types import Candidate, Pick, Reason, StanceScore


@dataclass(frozen=True, slots=True)
class MmrRule:
    """Greedy maximal marginal relevance over the top `pool`.

    Each step takes the document with the largest

        weight * relevance(d) - (1 - weight) * max over taken e of cosine(d, e)

    where the penalty of the first step is 0 and ties go to the better rank. `relevance` is the
    candidate's `score`: as it is for `normalise="none"` (the paper: a cosine, on the same scale as
    the penalty), or min-max scaled to [0, 1] over the pool for `"minmax"` (scores of another
    scale, such as BM25). A candidate with no usable score cannot be compared; such candidates come
    after all others, in rank order.

    Cost: O(k * pool * dimension). Not a defence against one-sided evidence: two documents of one
    side can be unlike each other. Source: SP 2.3.2 and 4.1 (weight 0.5); Carbonell and Goldstein
    1998.

    Raises:
        InputError: on `select`, a scored document of the pool has no embedding, or the embeddings
            differ in length, or one is all zeros.
    """

    k: int = 5
    pool: int = 20
    weight: float = 0.5
    normalise: Literal["none", "minmax"] = "none"

    @property
    def name(self) -> str:
        """`mmr(5 of 20, weight 0.5, scores none)`."""
        return f"mmr({self.k} of {self.pool}, weight {self.weight}, scores {self.normalise})"

    def select(
        self,
        candidates: Sequence[Candidate],
        scores: Sequence[StanceScore],
        *,
        skip: Set[int] = frozenset(),
    ) -> list[Pick]:
        """At most `k` picks, in the order taken."""
        pool = [index for index in range(min(len(candidates), self.pool)) if index not in skip]
        relevance = self._relevance({i: candidates[i].score for i in pool})
        vectors = {index: _unit(candidates[index]) for index in relevance}
        if len({len(vector) for vector in vectors.values()}) > 1:
            raise InputError("MMR needs embeddings of one length; the pool has several")
        penalty = dict.fromkeys(relevance, 0.0)
        taken: list[int] = []
        while len(taken) < min(self.k, len(relevance)):
            best = max(
                (index for index in relevance if index not in taken),
                key=lambda i: (
                    self.weight * relevance[i] - (1 - self.weight) * penalty[i],
                    -i,
                ),
            )
            for index in relevance:
                closeness = sum(a * b for a, b in zip(vectors[index], vectors[best], strict=True))
                penalty[index] = max(penalty[index], closeness) if taken else closeness
            taken.append(best)
        unscored = [index for index in pool if index not in relevance]
        return [Pick(index, Reason.MMR) for index in (taken + unscored)[: self.k]]

    def _relevance(self, scores: dict[int, float | None]) -> dict[int, float]:
        usable = {
            i: score for i, score in scores.items() if score is not None and math.isfinite(score)
        }
        if self.normalise == "none" or not usable:
            return usable
        low, high = min(usable.values()), max(usable.values())
        return {
            i: (score - low) / (high - low) if high > low else 1.0 for i, score in usable.items()
        }


def _unit(candidate: Candidate) -> tuple[float, ...]:
    if candidate.embedding is None:
        raise InputError(
            f"MMR needs an embedding for every scored document of the pool; {candidate.id!r} has "
            "none. Retrieve with embeddings, or use another rule"
        )
    length = math.hypot(*candidate.embedding)
    if length == 0.0:
        raise InputError(f"the embedding of document {candidate.id!r} is all zeros")
    return tuple(value / length for value in candidate.embedding)
