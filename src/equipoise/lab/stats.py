"""Means over questions with intervals by topic, paired effects, randomisation tests, Holm."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import InputError

SEED = 20260905
SAMPLES = 5_000
LEVEL = 0.95

Effect = Callable[[NDArray[Any]], NDArray[Any]]
"""From means, an array (..., m), one a column, to the effect, an array (...)."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval.

    `value`, `low` and `high` are None where no question is valid; `n` counts valid questions,
    `topics` the clusters that have one. With fewer than 2 clusters there is no interval: `low` and
    `high` are None.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    topics: int


def mean(means: NDArray[Any]) -> NDArray[Any]:
    """The mean of the one column there is."""
    return np.asarray(means[..., 0])


def difference(means: NDArray[Any]) -> NDArray[Any]:
    """The first column's mean less the second's."""
    return np.asarray(means[..., 0] - means[..., 1])


def distance_reduction(means: NDArray[Any]) -> NDArray[Any]:
    """|s_A| - |s_C|: how much nearer to 0 the second mean is than the first. Source: SP 3.1."""
    return np.asarray(np.abs(means[..., 0]) - np.abs(means[..., 1]))


class TopicBootstrap:
    """Percentile intervals from samples of whole topics, with every question of a drawn topic.

    Each valid question weighs the same, so a topic with more questions weighs more. The draws are
    made once: every estimate of one object shares them, so paired estimates do. A draw in which no
    question is valid has no mean and is left out. Cost O(samples * topics * columns).

    Args:
        clusters: the topic (or group of topics) of each question, (n,).
        samples: draws, >= 1.
        level: of the interval, in (0, 1).
        seed: of the draws.

    Do not trust an interval from fewer than about ten topics: a percentile interval is then too
    narrow.

    Raises:
        InputError: `samples` < 1 or `level` is not in (0, 1).

    Source: SP 3.1 and appendix B (5,000 samples, 95%, seed 20260905).
    """

    def __init__(
        self,
        clusters: Sequence[str],
        *,
        samples: int = SAMPLES,
        level: float = LEVEL,
        seed: int = SEED,
    ) -> None:
        if samples < 1 or not 0 < level < 1:
            raise InputError(f"samples must be >= 1 and level in (0, 1), got {samples} and {level}")
        self._sums = _Sums(clusters)
        self._tail = (1 - level) / 2
        count = self._sums.count
        drawn = np.random.default_rng(seed).integers(0, max(count, 1), size=(samples, count))
        # How often each topic was drawn, (samples, topics): a sample's sums are one product.
        rows = np.arange(samples)[:, None] * max(count, 1)
        tally = np.bincount((drawn + rows).ravel(), minlength=samples * count)
        self._drawn = tally.reshape(samples, count).astype(np.float64)

    def estimate(self, *columns: Sequence[float | None], effect: Effect = mean) -> Estimate:
        """The effect on the means of `columns`, over the questions valid in all of them.

        A column has one value a question, in the order of the clusters; None is not valid.

        Raises:
            InputError: a column has another length than the clusters.

        >>> sample = TopicBootstrap(["a", "a", "b"])
        >>> sample.estimate([1.0, None, 0.0])
        Estimate(value=0.5, low=0.0, high=1.0, n=2, topics=2)
        """
        values, valid = _columns(columns, self._sums.length)
        sums, counts = self._sums.of(values), self._sums.of(valid.astype(np.float64))
        n, topics = int(valid.sum()), int((counts > 0).sum())
        if n == 0:
            return Estimate(None, None, None, 0, 0)
        value = float(effect(sums.sum(axis=0) / n))
        if topics < 2:
            return Estimate(value, None, None, n, topics)
        weights = self._drawn @ counts
        some = weights > 0
        effects = effect((self._drawn @ sums)[some] / weights[some, None])
        low, high = np.quantile(effects, [self._tail, 1 - self._tail])
        return Estimate(value, float(low), float(high), n, topics)

    def contrast(
        self,
        first: Sequence[float | None],
        second: Sequence[float | None],
        *,
        effect: Effect = difference,
    ) -> Estimate:
        """The effect on two means, each over the questions valid in its own column.

        For two groups of questions, where no question is valid in both. Draws in which either
        group has none are left out; `n` counts both groups, `topics` the smaller number of
        clusters of the two.

        Raises:
            InputError: a column has another length than the clusters.

        Source: SP figure 4 (c).

        >>> sample = TopicBootstrap(["a", "b", "c", "d"])
        >>> sample.contrast([1.0, 1.0, None, None], [None, None, 0.5, 0.5]).value
        0.5
        """
        sums, counts = [], []
        for column in (first, second):
            values, valid = _columns((column,), self._sums.length)
            sums.append(self._sums.of(values)[:, 0])
            counts.append(self._sums.of(valid.astype(np.float64)))
        totals, numbers = np.stack(sums, axis=1), np.stack(counts, axis=1)
        n = int(numbers.sum())
        topics = int((numbers > 0).sum(axis=0).min())
        if topics == 0:
            return Estimate(None, None, None, n, 0)
        value = float(effect(totals.sum(axis=0) / numbers.sum(axis=0)))
        if topics < 2:
            return Estimate(value, None, None, n, topics)
        weights = self._drawn @ numbers
        some = (weights > 0).all(axis=1)
        effects = effect((self._drawn @ totals)[some] / weights[some])
        low, high = np.quantile(effects, [self._tail, 1 - self._tail])
        return Estimate(value, float(low), float(high), n, topics)

    def without_each(
        self, *columns: Sequence[float | None], effect: Effect = mean
    ) -> dict[str, float]:
        """The effect with one cluster left out, by the cluster's name.

        Clusters without a question valid in all columns are not in it, and neither is one that
        has all of them.

        Raises:
            InputError: a column has another length than the clusters.

        Source: ours.
        """
        values, valid = _columns(columns, self._sums.length)
        sums, counts = self._sums.of(values), self._sums.of(valid.astype(np.float64))
        left = counts.sum() - counts
        some = (counts > 0) & (left > 0)
        effects = effect((sums.sum(axis=0) - sums)[some] / left[some, None])
        names = [name for name, kept in zip(self._sums.names, some, strict=True) if kept]
        return dict(zip(names, map(float, effects), strict=True))


def randomisation_p(
    first: Sequence[float | None],
    second: Sequence[float | None],
    clusters: Sequence[str],
    *,
    effect: Effect = difference,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> float | None:
    """Two-sided p of a paired effect: the two columns change places together within each topic.

    p = (1 + how many of `samples` are at least as extreme) / (samples + 1), in (0, 1]. None where
    no question is valid in both. Cost O(samples * topics).

    Do not use it for an effect that a swap does not turn round (its sign must flip when the
    columns change places).

    Raises:
        InputError: a column has another length than the clusters, or `samples` < 1.

    Source: SP 3.1 and appendix B.
    """
    if samples < 1:
        raise InputError(f"samples must be >= 1, got {samples}")
    groups = _Sums(clusters)
    values, valid = _columns((first, second), groups.length)
    n = int(valid.sum())
    if n == 0:
        return None
    sums = groups.of(values)
    swapped = np.random.default_rng(seed).integers(0, 2, size=(samples, groups.count))
    turned = sums[:, ::-1] - sums
    means = (sums.sum(axis=0) + swapped.astype(np.float64) @ turned) / n
    observed = abs(float(effect(sums.sum(axis=0) / n)))
    # Subtle: sums in another order differ in the last digits; an equal effect must count as equal.
    extreme = int((np.abs(effect(means)) >= observed - 1e-9).sum())
    return (1 + extreme) / (samples + 1)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p-values adjusted for their number by Holm's step-down rule, in the order given.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure".

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for done, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - done) * p_values[index]))
        adjusted[index] = largest
    return tuple(adjusted)


class _Sums:
    """Sums within clusters: (n,) or (n, m) to (clusters,) or (clusters, m)."""

    def __init__(self, clusters: Sequence[str]) -> None:
        # In order of name: the draws must not depend on the order of the questions.
        names = sorted(set(clusters))
        number = {name: index for index, name in enumerate(names)}
        self.names = tuple(names)
        self.count = len(names)
        self.length = len(clusters)
        self._number = np.array([number[name] for name in clusters], dtype=np.int64)

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        sums = np.zeros((self.count, *values.shape[1:]))
        np.add.at(sums, self._number, values)
        return sums


def _columns(
    columns: Sequence[Sequence[float | None]], length: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Values (n, m), 0 where a question is not valid in all columns, and which are valid, (n,)."""
    for column in columns:
        if len(column) != length:
            raise InputError(f"a column must have {length} values, one a question: {len(column)}")
    values = np.array(columns, dtype=np.float64).T.reshape(length, len(columns))
    valid: NDArray[Any] = np.asarray(np.isfinite(values).all(axis=1))
    return np.where(valid[:, None], values, 0.0), valid
