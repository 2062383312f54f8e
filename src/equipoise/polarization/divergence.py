"""How different two samples of scores are: estimators of the Kullback-Leibler divergence.

Each estimator sees an ordered row of scores and answers for every cut at once: how far the first
part is from the rest. That is what a search for the best cut needs, and what a test on many
shuffled rows can afford.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np

from equipoise.errors import InputError
from equipoise.polarization._vectors import Floats

Direction = Literal["first||rest", "rest||first", "symmetric"]
"""Which way the divergence is read; "symmetric" is the mean of both."""


@runtime_checkable
class Divergence(Protocol):
    """An estimator of the divergence between the two parts of a cut row."""

    @property
    def name(self) -> str:
        """The estimator and its settings."""
        ...

    def cuts(self, scores: Floats) -> Floats:
        """Rows (..., n) to divergences (..., n - 1): entry i cuts after the first i + 1 scores.

        In nats, finite; 0 where all scores of a row are equal.
        """
        ...


def between(estimator: Divergence, first: Any, rest: Any) -> float:
    """The divergence between two samples (n,) and (m,), n and m >= 1, in nats.

    Raises:
        InputError: a sample is empty, not one-dimensional, or not finite.

    >>> round(between(Gaussian(floor=0.0), [-1.0, 1.0], [2.0, 4.0]), 3)  # means 3 apart, sd 1
    4.5
    """
    parts = [np.asarray(part, dtype=np.float64) for part in (first, rest)]
    for part in parts:
        if part.ndim != 1 or not part.size or not np.isfinite(part).all():
            raise InputError(f"a sample must be one row of finite scores, got {part!r}")
    return float(estimator.cuts(np.concatenate(parts))[len(parts[0]) - 1])


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Both parts taken as normal distributions: closed form, from two means and two variances.

    `floor`, >= 0, is the least variance of a part as a share of the variance of the whole row:
    without it two scores that happen to be close make a part with a divergence without bound.
    Cost: O(n). Fails on parts with two humps (pro and con documents at the two ends): their mean is
    where no score is, and two different shapes of one mean and variance are 0 apart.

    Source: closed form of the divergence of normal distributions; the floor is ours.
    """

    floor: float = 0.3
    direction: Direction = "first||rest"

    def __post_init__(self) -> None:
        _check_direction(self.direction)
        if not 0.0 <= self.floor < math.inf:
            raise InputError(f"the floor must be a number >= 0, got {self.floor!r}")

    @property
    def name(self) -> str:
        """`gaussian(floor 0.3, first||rest)`."""
        return f"gaussian(floor {self.floor:g}, {self.direction})"

    def cuts(self, scores: Floats) -> Floats:
        """See `Divergence.cuts`."""
        rows, flat = _standardised(scores)
        size = rows.shape[-1]
        first = np.arange(1, size, dtype=np.float64)
        sums, squares = rows.cumsum(axis=-1), (rows**2).cumsum(axis=-1)
        parts = []
        for total, square, number in (
            (sums[..., :-1], squares[..., :-1], first),
            (sums[..., -1:] - sums[..., :-1], squares[..., -1:] - squares[..., :-1], size - first),
        ):
            mean = total / number
            # The whole has variance 1. A tiny floor always, so that nothing divides by 0.
            variance = np.maximum(square / number - mean**2, max(self.floor, 1e-9))
            parts.append((mean, variance))
        return _flattened(_read(self.direction, _normal, *parts), flat)


def _normal(p: tuple[Floats, Floats], q: tuple[Floats, Floats]) -> Floats:
    (mean_p, var_p), (mean_q, var_q) = p, q
    apart = (var_p + (mean_p - mean_q) ** 2) / var_q - 1.0
    return np.asarray(0.5 * (apart + np.log(var_q / var_p)))


@dataclass(frozen=True, slots=True)
class Histogram:
    """Shares of scores in bins of equal width from the least to the largest score of the row.

    `bins`, >= 2; `smoothing`, > 0, is added to each bin's count: without it one empty bin makes the
    divergence infinite. Cost: O(n * bins). Fails on few scores: with a part of three in ten bins
    the smoothing says more than the scores, and one far score squeezes all others into one bin.

    Source: ours (additive smoothing).
    """

    bins: int = 8
    smoothing: float = 0.5
    direction: Direction = "first||rest"

    def __post_init__(self) -> None:
        _check_direction(self.direction)
        if isinstance(self.bins, bool) or not isinstance(self.bins, int) or self.bins < 2:
            raise InputError(f"bins must be an int >= 2, got {self.bins!r}")
        if not 0.0 < self.smoothing < math.inf:
            raise InputError(f"smoothing must be a number > 0, got {self.smoothing!r}")

    @property
    def name(self) -> str:
        """`histogram(8 bins, smoothing 0.5, first||rest)`."""
        return f"histogram({self.bins} bins, smoothing {self.smoothing:g}, {self.direction})"

    def cuts(self, scores: Floats) -> Floats:
        """See `Divergence.cuts`."""
        rows, flat = _standardised(scores)
        low = rows.min(axis=-1, keepdims=True)
        width = np.where(flat, 1.0, rows.max(axis=-1, keepdims=True) - low)
        at = np.minimum((self.bins * (rows - low) / width).astype(int), self.bins - 1)
        counts = (at[..., None] == np.arange(self.bins)).cumsum(axis=-2)
        first = counts[..., :-1, :] + self.smoothing
        rest = counts[..., -1:, :] - counts[..., :-1, :] + self.smoothing
        parts = [part / part.sum(axis=-1, keepdims=True) for part in (first, rest)]
        return _flattened(_read(self.direction, _discrete, *parts), flat)


@dataclass(frozen=True, slots=True)
class Kernel:
    """Densities by Gaussian kernels on a grid, compared point by point.

    `bandwidth`, > 0, is the kernels' width as a share of the row's standard deviation; None is
    Silverman's rule for the whole row, 0.9 * n ** -0.2. `points`, >= 8, is the size of the grid.
    Each density has one part in a thousand spread evenly over the grid, which bounds the
    divergence. Cost: O(n * points). Fails where one part is far from all scores of the other: what
    is measured there is that bound, and every large gap looks alike.

    Source: Silverman 1986 for the width; the rest is ours.
    """

    bandwidth: float | None = None
    points: int = 64
    direction: Direction = "first||rest"

    def __post_init__(self) -> None:
        _check_direction(self.direction)
        if self.bandwidth is not None and not 0.0 < self.bandwidth < math.inf:
            raise InputError(f"bandwidth must be a number > 0 or None, got {self.bandwidth!r}")
        if isinstance(self.points, bool) or not isinstance(self.points, int) or self.points < 8:
            raise InputError(f"points must be an int >= 8, got {self.points!r}")

    @property
    def name(self) -> str:
        """`kernel(Silverman, 64 points, first||rest)`."""
        width = "Silverman" if self.bandwidth is None else f"bandwidth {self.bandwidth:g}"
        return f"kernel({width}, {self.points} points, {self.direction})"

    def cuts(self, scores: Floats) -> Floats:
        """See `Divergence.cuts`."""
        rows, flat = _standardised(scores)
        width = self.bandwidth or 0.9 * rows.shape[-1] ** -0.2
        low, high = (edge(axis=-1, keepdims=True) for edge in (rows.min, rows.max))
        grid = (low - 3 * width) + (high - low + 6 * width) * np.linspace(0, 1, self.points)
        bumps = np.exp(-0.5 * ((rows[..., None] - grid[..., None, :]) / width) ** 2)
        bumps /= bumps.sum(axis=-1, keepdims=True)
        sums = bumps.cumsum(axis=-2)
        size = rows.shape[-1]
        first = np.arange(1, size, dtype=np.float64)[:, None]
        parts = [
            0.999 * part + 0.001 / self.points
            for part in (
                sums[..., :-1, :] / first,
                np.maximum(sums[..., -1:, :] - sums[..., :-1, :], 0.0) / (size - first),
            )
        ]
        return _flattened(_read(self.direction, _discrete, *parts), flat)


def _discrete(p: Floats, q: Floats) -> Floats:
    return np.asarray((p * np.log(p / q)).sum(axis=-1))


def _read(direction: Direction, measure: Callable[[Any, Any], Floats], p: Any, q: Any) -> Floats:
    if direction == "first||rest":
        return measure(p, q)
    if direction == "rest||first":
        return measure(q, p)
    return (measure(p, q) + measure(q, p)) / 2


def _check_direction(direction: str) -> None:
    if direction not in get_args(Direction):
        raise InputError(f"direction must be one of {get_args(Direction)}, got {direction!r}")


def _standardised(scores: Floats) -> tuple[Floats, Any]:
    """Rows of mean 0 and variance 1 along the last axis; and where they are flat, (..., 1)."""
    rows = np.asarray(scores, dtype=np.float64)
    size = np.abs(rows).max(axis=-1, keepdims=True)
    rows = rows / np.where(size > 0, size, 1.0)
    flat = np.ptp(rows, axis=-1, keepdims=True) <= 1e-10
    rows = rows - rows.mean(axis=-1, keepdims=True)
    return rows / np.where(flat, 1.0, rows.std(axis=-1, keepdims=True)), flat


def _flattened(found: Floats, flat: Any) -> Floats:
    # Never under 0: that is rounding.
    return np.where(flat, 0.0, np.maximum(found, 0.0))
