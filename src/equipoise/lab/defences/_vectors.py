"""What several defences read from candidates: unit vectors, cosines, finite relevance."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import InputError
from equipoise.types import Candidate

Matrix = NDArray[np.float64]


def unit_rows(candidates: Sequence[Candidate], *, needed_by: str) -> Matrix:
    """The embeddings as rows of length 1, shape (n, dimension), float64; (0, 0) for none.

    Raises:
        InputError: a candidate has no embedding, or one of another length, or all zeros.
    """
    if not candidates:
        return np.zeros((0, 0))
    rows = []
    for candidate in candidates:
        if candidate.embedding is None:
            raise InputError(
                f"{needed_by} needs an embedding for every document; {candidate.id!r} has none. "
                "Retrieve with embeddings, or use another defence"
            )
        rows.append(candidate.embedding)
    if len({len(row) for row in rows}) > 1:
        raise InputError(f"{needed_by} needs embeddings of one length; these have several")
    matrix = np.asarray(rows, dtype=np.float64)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if (lengths == 0.0).any():
        at = int(np.flatnonzero(lengths[:, 0] == 0.0)[0])
        raise InputError(f"the embedding of document {candidates[at].id!r} is all zeros")
    return np.asarray(matrix / lengths)


def relevance(candidates: Sequence[Candidate], *, needed_by: str) -> Matrix:
    """The scores, shape (n,), float64, as the retriever gave them: higher is better.

    Raises:
        InputError: a candidate has no finite score.
    """
    for candidate in candidates:
        if candidate.score is None or not math.isfinite(candidate.score):
            raise InputError(
                f"{needed_by} needs a finite score for every document; {candidate.id!r} has "
                f"{candidate.score!r}"
            )
    return np.asarray([candidate.score for candidate in candidates], dtype=np.float64)


def best_first(values: Matrix) -> list[int]:
    """Positions by falling value; what differs by rounding only (1e-9) keeps its rank."""
    return [int(at) for at in np.argsort(-np.round(values, 9), kind="stable")]
