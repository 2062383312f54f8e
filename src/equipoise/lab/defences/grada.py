"""GRADA: documents that other documents resemble rise, isolated ones fall."""

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np

from equipoise.errors import InputError
from equipoise.lab.defences._vectors import Matrix, best_first, relevance, unit_rows
from equipoise.lab.defences.base import K
from equipoise.types import Candidate, Pick, Reason, StanceScore, is_number


@dataclass(frozen=True, slots=True)
class GradaRule:
    """Re-ranks the top `pool` by PageRank on the graph of document similarity.

    The original's idea: a planted document is made to be close to the question and resembles the
    other documents little. So an edge weighs what two documents share beyond what each shares
    with the question,

        w(i, j) = max(0, cosine(i, j) - alpha * (score(i) + score(j)))

    and the `k` documents of highest PageRank are kept. Simplified: the original's best variant
    measures similarity by BM25 of one text in the other; this one uses the cosines at hand (the
    original has an embedding variant too). Inferred: `alpha` = 0.5 (an edge is what is above the
    mean of both relevances) and `damping` = 0.85, PageRank's usual value.

    Cost: O(pool^2 * dimension). Not to be used where several planted documents resemble one
    another: together they are the densest part of the graph, and rise.

    Raises:
        InputError: alpha < 0 or damping not in [0, 1); on `select`, a document of the pool has no
            finite score or no usable embedding.

    Source: Zheng et al. 2025 (arXiv 2505.07546) and SP 2.2.2.
    """

    k: int = K
    pool: int = 20
    alpha: float = 0.5
    damping: float = 0.85

    def __post_init__(self) -> None:
        if not is_number(self.alpha) or not 0.0 <= self.alpha < float("inf"):
            raise InputError(f"GradaRule.alpha must be a finite number >= 0, got {self.alpha!r}")
        if not is_number(self.damping) or not 0.0 <= self.damping < 1.0:
            raise InputError(f"GradaRule.damping must lie in [0, 1), got {self.damping!r}")

    @property
    def name(self) -> str:
        """`grada(5 of 20, alpha 0.5, damping 0.85)`."""
        return f"grada({self.k} of {self.pool}, alpha {self.alpha:g}, damping {self.damping:g})"

    def select(
        self,
        candidates: Sequence[Candidate],
        scores: Sequence[StanceScore],
        *,
        skip: Set[int] = frozenset(),
    ) -> list[Pick]:
        """At most `k` picks, highest rank in the graph first; ties keep the retriever's order."""
        pool = [index for index in range(min(len(candidates), self.pool)) if index not in skip]
        documents = [candidates[index] for index in pool]
        rows = unit_rows(documents, needed_by="grada")
        near = relevance(documents, needed_by="grada")
        edges = np.maximum(rows @ rows.T - self.alpha * (near[:, None] + near[None, :]), 0.0)
        np.fill_diagonal(edges, 0.0)
        order = best_first(page_rank(edges, damping=self.damping))
        return [Pick(pool[at], Reason.RELEVANCE) for at in order[: self.k]]


def page_rank(edges: Matrix, *, damping: float = 0.85) -> Matrix:
    """The share of time a random walk spends at each node, shape (n,), summing to 1.

    `edges` is (n, n), weights >= 0; a node without edges jumps anywhere. Solved as n linear
    equations: exact, and cheap for the few nodes here.

    >>> page_rank(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])).round(3).tolist()
    [0.486, 0.257, 0.257]
    """
    count = len(edges)
    if count == 0:
        return np.zeros(0)
    sums = edges.sum(axis=1, keepdims=True)
    # Subtle: rounding can leave a weight of 1e-17 where there is none, and it would be scaled to 1.
    steps = np.where(sums > 1e-12, edges / np.where(sums > 1e-12, sums, 1.0), 1.0 / count)
    jump = np.full(count, (1.0 - damping) / count)
    return np.linalg.solve(np.eye(count) - damping * steps.T, jump)
