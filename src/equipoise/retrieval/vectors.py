"""Checks and arithmetic on arrays of vectors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import EmbedderError
from equipoise.retrieval.base import Embedder


def normalized(rows: Any, *, made_by: str, dimension: int | None = None) -> NDArray[np.float32]:
    """`rows` (n, d) as float32 with every row scaled to Euclidean length 1.

    `made_by` names the model in an error; `dimension` is the d to insist on, if known.

    Raises:
        EmbedderError: not two-dimensional, another d, a value that is not finite, or a zero row.

    >>> normalized([[3.0, 4.0]], made_by="toy").tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    array = np.asarray(rows, dtype=np.float32)
    if array.ndim != 2 or (dimension is not None and array.shape[1] != dimension):
        wanted = "d" if dimension is None else dimension
        raise EmbedderError(
            f"{made_by} must give an array of shape (n, {wanted}), got {array.shape}. "
            "Check the model's name and its dimension setting."
        )
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    bad = np.flatnonzero(~(np.isfinite(lengths[:, 0]) & (lengths[:, 0] > 0)))
    if bad.size:
        raise EmbedderError(
            f"{made_by} must give finite vectors that are not zero; text number {bad[0]} of "
            f"{len(array)} (from 0) got another kind. Leave that text out or use another model."
        )
    return np.asarray(array / lengths, dtype=np.float32)


def question_vector(embedder: Embedder, question: str) -> NDArray[np.float32]:
    """The question's vector (d,), float32, length 1, whatever the embedder gave.

    Raises:
        EmbedderError: it has another length than d, is not finite, or is zero.
    """
    rows = np.asarray(embedder.embed_question(question))[None, ...]
    vector: NDArray[np.float32] = normalized(
        rows, made_by=embedder.name, dimension=embedder.dimension
    )[0]
    return vector


def best_rows(scores: NDArray[np.float32], k: int) -> list[int]:
    """Indices of the `k` largest of `scores` (n,), largest first, ties by lower index.

    Fewer when n < k. Cost O(n + k log k), plus ties at the cut.

    >>> best_rows(np.array([0.1, 0.9, 0.9, 0.5], dtype=np.float32), 3)
    [1, 2, 3]
    """
    k = min(k, len(scores))
    if k == 0:
        return []
    cut = np.partition(scores, len(scores) - k)[len(scores) - k]
    # Subtle: every score equal to the cut is kept until ties are settled by index.
    among = np.flatnonzero(scores >= cut)
    return [int(i) for i in among[np.argsort(-scores[among], kind="stable")][:k]]
