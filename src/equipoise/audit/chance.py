"""Small statistics: the interval of a share, two tests, and a correction for many tests.

By hand, so that an audit needs no scipy: each is a few lines and is held to scipy, statsmodels and
brute force by the tests.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb, sqrt
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Z95: Final = 1.959963984540054
DRAWS: Final = 9_999
SEED: Final = 20260905


class Share(NamedTuple):
    """A share with its 95% interval, all in [0, 1]; None where there is nothing to share out."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Mix:
    """How many texts stand on each side, each number >= 0."""

    pro: int = 0
    con: int = 0
    neutral: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.pro + self.con + self.neutral

    @property
    def sided(self) -> int:
        """Those that take a side."""
        return self.pro + self.con

    @property
    def net(self) -> int:
        """Pro less con: above 0 leans pro."""
        return self.pro - self.con

    def __add__(self, other: "Mix") -> "Mix":
        """Both together."""
        return Mix(self.pro + other.pro, self.con + other.con, self.neutral + other.neutral)


def wilson(count: int, total: int) -> Share:
    """The share `count` / `total` with Wilson's 95% interval.

    Texts are taken as independent draws: where many come from one hand it is too narrow.

    Source: Wilson 1927.

    >>> [round(x, 3) for x in wilson(7, 10)]
    [0.7, 0.397, 0.892]
    """
    if total == 0:
        return Share(None, None, None)
    share, square = count / total, Z95 * Z95
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = sqrt(share * (1 - share) / total + square / (4 * total * total))
    half *= Z95 / (1 + square / total)
    return Share(share, max(0.0, middle - half), min(1.0, middle + half))


def even_p(first: int, second: int) -> float:
    """Two-sided p, in (0, 1], that sides of equal chance split as unevenly as this.

    The exact binomial test at one half.

    >>> even_p(7, 0), even_p(3, 3)
    (0.015625, 1.0)
    """
    total, fewer = first + second, min(first, second)
    tail = sum(comb(total, k) for k in range(fewer + 1))
    return float(min(1.0, 2 * tail / 2**total))


def draw_p(drawn: Sequence[float], rest: Sequence[float]) -> float:
    """Two-sided p, in (0, 1], that a blind draw from all the numbers sums as extremely as `drawn`.

    A permutation test: under the null any of the numbers could have been drawn. Every draw is tried
    where there are at most 9,999, else so many by a fixed seed, with p = (1 + as extreme) / (1 +
    tried), in both directions from the expected sum. Cost O(9,999 * numbers).

    Do not use it where the draw is nearly everything: there is then nothing to tell it from.

    Source: Fisher's permutation test; p after Phipson and Smyth 2010.

    >>> draw_p([1, 1, 1], [-1, -1, -1])  # of 20 draws one is as high, and one as low
    0.1
    """
    numbers = np.array([*drawn, *rest], dtype=np.float64)
    size = len(drawn)
    if size == 0 or size == len(numbers):
        return 1.0
    away = numbers - numbers.mean()
    # Subtle: sums in another order differ in the last digits; an equal sum must count as equal.
    observed = abs(float(away[:size].sum())) - 1e-9
    if comb(len(numbers), size) <= DRAWS:
        every = list(combinations(away.tolist(), size))
        return float(sum(abs(sum(one)) >= observed for one in every) / len(every))
    chosen = _draws(len(numbers), size)
    extreme = int((np.abs(away[chosen].sum(axis=1)) >= observed).sum())
    return (1 + extreme) / (1 + DRAWS)


@lru_cache(maxsize=4)  # one may take 20 MB
def _draws(total: int, size: int) -> NDArray[np.int32]:
    """(DRAWS, size) indices below `total`, each row a draw without replacement."""
    keys = np.random.default_rng(SEED).random((DRAWS, total))
    return np.argpartition(keys, size - 1, axis=1)[:, :size].astype(np.int32)


def benjamini_hochberg(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p-values adjusted for their number, in the order given.

    Of the tests whose adjusted value is at most q, a share of at most q is expected to be false.

    Source: Benjamini and Hochberg 1995.

    >>> [round(p, 3) for p in benjamini_hochberg([0.01, 0.04, 0.03])]
    [0.03, 0.04, 0.04]
    """
    adjusted = [1.0] * len(p_values)
    smallest = 1.0
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for rank, index in reversed(list(enumerate(order, 1))):
        smallest = min(smallest, p_values[index] * len(p_values) / rank)
        adjusted[index] = smallest
    return tuple(adjusted)
