"""BRRA's two-stage defence, as far as it is known: relevance without the pool's main axis."""

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np

from equipoise.lab.defences._vectors import Matrix, best_first, relevance, unit_rows
from equipoise.lab.defences.base import K
from equipoise.types import Candidate, Pick, Reason, StanceScore


@dataclass(frozen=True, slots=True)
class BrraRule:
    """Ranks the top `pool` by relevance once the axis on which it differs most is taken away.

    What is known of the original: its paper's abstract says "dual stage defense", and a summary
    of it names the stages, retrieval purification and generation calibration. Its attack pushes
    documents up by projecting them onto a bias subspace. Everything else here is inferred.

    Purification (inferred): the bias subspace is taken to be the first principal component v of
    the pool's embeddings, and the share of relevance that is owed to it is taken away:

        purified(i) = score(i) - (q . v) * (e(i) . v)

    A document that is near the question because of v falls. It is not brought back to length 1
    without v: that would raise a document that has little but v. The question's own vector q is
    not needed: q . v follows from the scores, as v is a combination of the documents e(i).
    Calibration (inferred) is the even-handedness instruction, which the registry adds.

    Cost: O(pool^2 * dimension). Not to be used where the pool's main axis is not a bias but the
    subject itself: it then takes away what made documents relevant.

    Raises:
        InputError: on `select`, a document of the pool has no finite score or no usable embedding.

    Source: Wang et al. 2025 (arXiv 2506.11415), abstract only; the EBI paper compares with it.
    """

    k: int = K
    pool: int = 20

    @property
    def name(self) -> str:
        """`brra(5 of 20, 1 axis)`."""
        return f"brra({self.k} of {self.pool}, 1 axis)"

    def select(
        self,
        candidates: Sequence[Candidate],
        scores: Sequence[StanceScore],
        *,
        skip: Set[int] = frozenset(),
    ) -> list[Pick]:
        """At most `k` picks, best purified relevance first."""
        pool = [index for index in range(min(len(candidates), self.pool)) if index not in skip]
        documents = [candidates[index] for index in pool]
        rows = unit_rows(documents, needed_by="brra")
        order = best_first(purified(rows, relevance(documents, needed_by="brra")))
        return [Pick(pool[at], Reason.RELEVANCE) for at in order[: self.k]]


def purified(rows: Matrix, scores: Matrix) -> Matrix:
    """Relevance without the first principal component, shape (n,).

    `rows` is (n, dimension), each of length 1; `scores` (n,) are cosines with the question. As they
    are for fewer than 3 rows, or rows that are all alike: there is no axis to tell.

    >>> rows = np.array([[0.6, 0.8, 0.0], [0.6, -0.8, 0.0], [0.6, 0.0, 0.8]])
    >>> purified(rows, rows @ np.array([0.6, 0.8, 0.0])).round(2).tolist()
    [0.36, 0.36, 0.36]
    """
    if len(rows) < 3:
        return scores
    left, lengths, right = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    if lengths[0] < 1e-9:
        return scores
    # v = sum over i of left[i, 0] * (e(i) - mean) / length, and q . e(i) is score(i).
    along_question = left[:, 0] @ (scores - scores.mean()) / lengths[0]
    return np.asarray(scores - along_question * (rows @ right[0]))
