"""k documents drawn at random from the pool: a baseline."""

import random
from collections.abc import Sequence, Set
from dataclasses import dataclass

from equipoise.types import Candidate, Pick, Reason, StanceScore


@dataclass(frozen=True, slots=True)
class RandomRule:
    """Draws `k` documents without replacement from the top `pool`.

    The draw depends on `seed` and on the ids of the pool: the same list always gives the same
    draw, different lists give different ones, and the order of calls does not matter.

    Cost: O(pool). A baseline; not for production. Source: SP 4.1 (Random-5, seed 20260909).
    """

    k: int = 5
    pool: int = 20
    seed: int = 20260909

    @property
    def name(self) -> str:
        """`random(5 of 20, seed 20260909)`."""
        return f"random({self.k} of {self.pool}, seed {self.seed})"

    def select(
        self,
        candidates: Sequence[Candidate],
        scores: Sequence[StanceScore],
        *,
        skip: Set[int] = frozenset(),
    ) -> list[Pick]:
        """At most `k` picks, in the order drawn."""
        free = [index for index in range(min(len(candidates), self.pool)) if index not in skip]
        rng = random.Random(repr((self.seed, [candidates[index].id for index in free])))
        drawn = rng.sample(free, min(self.k, len(free)))
        return [Pick(index, Reason.RANDOM) for index in drawn]
