"""Vectors as the modules of this folder need them: float64, two-dimensional, finite."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import InputError

Floats = NDArray[np.float64]


def matrix(rows: Any, *, what: str, dimension: int | None = None) -> Floats:
    """`rows` as float64 of shape (n, d), n >= 0 and d >= 1.

    `what` names the rows in an error; `dimension` is the d to insist on, if known.

    Raises:
        InputError: not two-dimensional, another d, or a value that is not finite.
    """
    try:
        array = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be vectors of one length, got {error}") from error
    wanted = "d" if dimension is None else dimension
    if array.ndim != 2 or array.shape[1] < 1 or dimension not in (None, array.shape[1]):
        raise InputError(f"{what} must have the shape (n, {wanted}), got {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if bad.size:
        raise InputError(f"{what} must be finite; row {bad[0]} of {len(array)} (from 0) is not")
    return array


def unit(vector: Floats) -> Floats | None:
    """`vector` (d,) scaled to length 1, or None where its length is 0 within rounding."""
    # Scaled first: the square of a very small or very large number would vanish or overflow.
    largest = float(np.abs(vector).max())
    if largest == 0.0:
        return None
    scaled = vector / largest
    return np.asarray(scaled / np.linalg.norm(scaled))
