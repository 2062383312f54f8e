"""TrustRAG's first stage: a cluster that is too tight was written by one hand."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise._extras import require
from equipoise.errors import InputError
from equipoise.lab.defences._vectors import Matrix, unit_rows
from equipoise.lab.defences.overlap import overlaps
from equipoise.types import Candidate, is_number

Near = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TrustRagFilter:
    """Flags tight clusters and near-copies among the retrieved documents.

    1. Unless some two texts overlap (ROUGE-L over `overlap`), nothing is flagged.
    2. K-means with k = 2 on the standardised embeddings.
    3. A cluster whose mean pairwise cosine is over `tight` is flagged whole: both may be, and
       then nothing goes on, as in the original, whose model then answers from memory.
    4. In a cluster that is not tight, texts that overlap with another of it are flagged.
    5. A cluster of one document is the odd one out. Next to a tight cluster it is kept, unless it
       is that close to it; next to a loose one it is flagged.

    Left out: the second stage, in which the model weighs documents against its own memory.
    Simplified: ROUGE-L without stemming; in step 4 both texts of an overlapping pair are flagged
    (the original's loop keeps a few of them, by order). Inferred: with fewer than three documents
    nothing is flagged, as clusters then mean nothing. Steps and numbers (0.25, 0.88) are those of
    the authors' published program.

    Cost: O(n^2 * (dimension + words)) and ten runs of K-means. Not to be used on a topic where
    honest documents share much wording, nor against planted documents in varied words.

    Raises:
        InputError: a threshold is out of range, or the seed no int >= 0; on `flag`, a document has
            no usable embedding.
        MissingExtraError: on `flag`, scikit-learn is not installed.

    Source: Zhou et al. 2025 (arXiv 2501.00879) and SP 2.2.2.
    """

    tight: float = 0.88
    overlap: float = 0.25
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("tight", "overlap"):
            value = getattr(self, name)
            if not is_number(value) or not 0.0 < value <= 1.0:
                raise InputError(f"TrustRagFilter.{name} must lie in (0, 1], got {value!r}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise InputError(f"TrustRagFilter.seed must be an int >= 0, got {self.seed!r}")

    @property
    def name(self) -> str:
        """`trustrag(2 clusters, tight 0.88, overlap 0.25, seed 0)`."""
        return (
            f"trustrag(2 clusters, tight {self.tight:g}, overlap {self.overlap:g}, "
            f"seed {self.seed})"
        )

    def flag(self, question: str, candidates: Sequence[Candidate]) -> frozenset[int]:
        """Indices of what the clusters and the overlaps tell against."""
        if len(candidates) < 3:
            return frozenset()
        rows = unit_rows(candidates, needed_by="trustrag")
        near = overlaps([candidate.text for candidate in candidates]) > self.overlap
        np.fill_diagonal(near, False)
        if not near.any():
            return frozenset()
        clusters = two_clusters(rows, seed=self.seed)
        if min(map(len, clusters)) == 1:
            single, others = sorted(clusters, key=len)
            return self._odd_one_out(rows, single, others, near)
        return frozenset().union(*(self._within(rows, cluster, near) for cluster in clusters))

    def _within(self, rows: Matrix, cluster: list[int], near: Near) -> frozenset[int]:
        """A tight cluster whole; of a loose one, what overlaps."""
        if tightness(rows, cluster) > self.tight:
            return frozenset(cluster)
        return frozenset(at for at in cluster if near[at, cluster].any())

    def _odd_one_out(
        self, rows: Matrix, single: list[int], others: list[int], near: Near
    ) -> frozenset[int]:
        flagged = self._within(rows, others, near)
        if tightness(rows, others) <= self.tight:
            return flagged | set(single)
        close = float((rows[others] @ rows[single[0]]).mean()) > self.tight
        return flagged | set(single) if close else flagged


def tightness(rows: Matrix, cluster: Sequence[int]) -> float:
    """The mean cosine over the pairs of a cluster, in [-1, 1]; 0 for fewer than two.

    `rows` is (n, dimension), each of length 1.
    """
    if len(cluster) < 2:
        return 0.0
    part = rows[list(cluster)]
    count = len(part)
    # The sum over all ordered pairs is the squared length of the sum; each row with itself is 1.
    total = float(np.sum(part.sum(axis=0) ** 2)) - count
    return total / (count * (count - 1))


def two_clusters(rows: Matrix, *, seed: int) -> tuple[list[int], ...]:
    """The positions in two clusters by K-means; one cluster where all rows are alike.

    Columns are brought to mean 0 and deviation 1, then rows to length 1. `rows` is (n, dimension).
    """
    deviation = rows.std(axis=0)
    # Rounding leaves a deviation of 1e-17 in a column that does not vary.
    spread = np.where(deviation > 1e-12, deviation, 1.0)
    scaled = np.where(deviation > 1e-12, (rows - rows.mean(axis=0)) / spread, 0.0)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    scaled = scaled / np.where(lengths > 1e-12, lengths, 1.0)
    if len(np.unique(scaled.round(9), axis=0)) < 2:
        return (list(range(len(rows))),)
    cluster = require("sklearn.cluster", extra="lab")
    model = cluster.KMeans(n_clusters=2, n_init=10, max_iter=500, random_state=seed % 2**32)
    labels = model.fit(scaled).labels_
    return tuple([int(at) for at in np.flatnonzero(labels == one)] for one in (0, 1))
