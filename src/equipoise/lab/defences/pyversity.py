"""The strategies of the package pyversity, as selection rules."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Final

import numpy as np

from equipoise._extras import require
from equipoise.errors import InputError
from equipoise.lab.defences._vectors import relevance, unit_rows
from equipoise.lab.defences.base import K
from equipoise.types import Candidate, Pick, Reason, StanceScore, is_number

STRATEGIES: Final = ("mmr", "msd", "dpp", "cover", "ssd")


@dataclass(frozen=True, slots=True)
class PyversityRule:
    """Diversifies the top `pool` by one strategy of the package pyversity.

    `strategy` is one of: mmr (maximal marginal relevance), msd (largest sum of distances), dpp
    (determinantal point process), cover (facility location), ssd (sliding spectrum
    decomposition). `diversity` in [0, 1] is the package's own dial: 0 is relevance alone, 1
    diversity alone; 0.5 is the package's default. Nothing is inferred: the package is called as it
    is. Its mmr cuts negative cosines to 0 and always takes the most relevant document first;
    `MmrRule` does neither.

    Cost: at most O(k * pool^2). None of them reads a stance, so none should be used as a defence
    against evidence that is one-sided in varied words.

    Raises:
        InputError: an unknown strategy or a diversity out of range; on `select`, a document of the
            pool has no finite score or no usable embedding.
        MissingExtraError: on `select`, pyversity is not installed.

    Source: pyversity 0.2 (MIT licence), which cites the papers of each strategy.
    """

    strategy: str
    k: int = K
    pool: int = 20
    diversity: float = 0.5

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            known = ", ".join(STRATEGIES)
            raise InputError(f"the strategy must be one of {known}, got {self.strategy!r}")
        if not is_number(self.diversity) or not 0.0 <= self.diversity <= 1.0:
            raise InputError(f"PyversityRule.diversity must lie in [0, 1], got {self.diversity!r}")

    @property
    def name(self) -> str:
        """`pyversity(mmr, 5 of 20, diversity 0.5)`."""
        return f"pyversity({self.strategy}, {self.k} of {self.pool}, diversity {self.diversity:g})"

    def select(
        self,
        candidates: Sequence[Candidate],
        scores: Sequence[StanceScore],
        *,
        skip: Set[int] = frozenset(),
    ) -> list[Pick]:
        """At most `k` picks, in the order the strategy took them."""
        package = require("pyversity", extra="lab")
        pool = [index for index in range(min(len(candidates), self.pool)) if index not in skip]
        if not pool:
            return []
        documents = [candidates[index] for index in pool]
        result = package.diversify(
            unit_rows(documents, needed_by="pyversity").astype(np.float32),
            relevance(documents, needed_by="pyversity").astype(np.float32),
            k=self.k,
            strategy=self.strategy,
            diversity=self.diversity,
        )
        return [Pick(pool[int(at)], Reason.RELEVANCE) for at in result.indices]
