"""Stance scores with the judge's errors carried into them: a second estimate beside the plain one.

A judge that errs shifts the score. How it errs is counted on answers that people labelled; from
these counts and the labels of a run follow the shares that the true stances must have had.

Everywhere here, stances stand in the order of `CLASSES`: pro, neutral, con.

Source: Forman 2008, "Quantifying counts and costs via classification" (adjusted counts); for stance
scores, and with both sources of error in one interval, ours.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import InputError
from equipoise.lab.answers.store import VALUES
from equipoise.lab.stats import LEVEL, SAMPLES, SEED, Effect, mean
from equipoise.types import Stance

CLASSES: Final = (Stance.PRO, Stance.NEUTRAL, Stance.CON)
PRIOR: Final = 0.5
"""Added to each count before a row of the matrix is drawn: Jeffreys' prior."""

Array = NDArray[np.float64]

_VALUES: Final = np.array([VALUES[stance] for stance in CLASSES])
_FACES: Final = ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))
_TINY: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Corrected:
    """A corrected effect with its interval.

    `value` is None where it is not known: no answers, a true stance that nobody labelled, or a
    judge that cannot tell two mixtures of stances apart. The interval is then wide, not missing.
    `low` and `high` are None with fewer than 2 topics. `n` counts the answers of one column.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    topics: int


class CorrectedBootstrap:
    """Percentile intervals from draws of whole topics times draws of how the judge errs.

    Each draw takes topics with replacement, which gives shares of labels y, and a matrix M from
    Dirichlet(counts + prior), row by row. The true shares are the p on the simplex (p >= 0, sum 1)
    for which M'p is nearest to y. All estimates of one object share both kinds of draws, and the
    topics drawn are those of `stats.TopicBootstrap` with that seed (rows in order of name).

    Args:
        confusion: how often answers of a true stance (row) got a label (column), (3, 3), >= 0.
        topics: how many topics the counts will have, >= 0.
        prior: added to each count, > 0.
        samples: draws, >= 1.
        level: of the interval, in (0, 1).
        seed: of the draws.

    Cost O(samples * (topics + 7)) a column. Three things it takes for granted: that the judge errs
    alike on the labelled answers and on those of the run, in every cell; that labelled answers are
    independent; and that answers which decline are none of these. Do not use it where labelled
    answers came from another generator.

    Raises:
        InputError: an argument is out of range, or the matrix is not (3, 3) of finite numbers >= 0.
    """

    def __init__(
        self,
        confusion: Any,
        topics: int,
        *,
        prior: float = PRIOR,
        samples: int = SAMPLES,
        level: float = LEVEL,
        seed: int = SEED,
    ) -> None:
        if samples < 1 or not 0 < level < 1 or not 0 < prior < float("inf") or topics < 0:
            raise InputError(
                "samples must be >= 1, level in (0, 1), prior > 0 and topics >= 0; got "
                f"{samples}, {level}, {prior} and {topics}"
            )
        self._counts = _checked(confusion)
        self._topics = topics
        self._tail = (1 - level) / 2
        drawn = np.random.default_rng(seed).integers(0, max(topics, 1), size=(samples, topics))
        rows = np.arange(samples)[:, None] * max(topics, 1)
        tally = np.bincount((drawn + rows).ravel(), minlength=samples * topics)
        self._drawn = tally.reshape(samples, topics).astype(np.float64)
        # Another stream than the topics': a matrix must not hang together with who was drawn.
        rng = np.random.default_rng([seed, 1])
        draws = [rng.dirichlet(row + prior, size=samples) for row in self._counts]
        self._matrices = np.stack(draws, axis=1)

    def estimate(self, *columns: Any, effect: Effect = mean) -> Corrected:
        """The effect on the corrected stance scores of `columns`.

        Args:
            columns: each how many answers of a topic got each label, (topics, 3), over questions
                that are valid in all columns.
            effect: of the scores, as in `stats`: `mean`, `difference`, `distance_reduction`.

        Raises:
            InputError: a column is not (topics, 3), or columns differ in how many answers a topic
                has.

        >>> judge = CorrectedBootstrap([[30, 0, 0], [0, 30, 0], [0, 0, 30]], 2)
        >>> judge.estimate([[3, 1, 0], [2, 0, 2]]).value
        0.375
        """
        counts = np.stack([_of_topics(column, self._topics) for column in columns])
        if (counts.sum(axis=2) != counts[0].sum(axis=1)).any():
            raise InputError("columns must have the same answers a topic: questions valid in all")
        n = int(counts[0].sum())
        if n == 0:
            return Corrected(None, None, None, 0, 0)
        topics = int((counts[0].sum(axis=1) > 0).sum())
        value = self._point(counts.sum(axis=1) / n, effect)
        if topics < 2:
            return Corrected(value, None, None, n, topics)
        sums = np.einsum("st,mtc->smc", self._drawn, counts)  # (samples, columns, 3)
        totals = sums[:, 0].sum(axis=1)
        some = totals > 0
        shares = sums[some] / totals[some, None, None]
        scores = true_shares(self._matrices[some][:, None], shares) @ _VALUES
        low, high = np.quantile(effect(scores), [self._tail, 1 - self._tail])
        return Corrected(value, float(low), float(high), n, topics)

    def _point(self, shares: Array, effect: Effect) -> float | None:
        """The effect by the counted matrix itself; None where that says too little."""
        totals = self._counts.sum(axis=1, keepdims=True)
        if (totals == 0).any():
            return None
        matrix = self._counts / totals
        if np.linalg.matrix_rank(matrix[:2] - matrix[2], tol=1e-6) < 2:
            return None
        return float(effect(true_shares(matrix, shares) @ _VALUES))


def true_shares(matrices: Array, shares: Array) -> Array:
    """The p on the simplex for which M'p is nearest to the shares of labels.

    Least squares, exactly: the nearest point lies inside one of the seven faces of the simplex (its
    corners, its edges, itself), and there it is the nearest point of the whole plane of that face.

    Args:
        matrices: P(label | truth), rows truth, (..., 3, 3), rows sum to 1.
        shares: of labels, (..., 3), sum to 1.

    Returns:
        (..., 3), >= 0, sum 1. Where several are equally near, one of them.

    >>> matrix = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    >>> true_shares(matrix, np.array([0.45, 0.1, 0.45])).round(6).tolist()
    [0.5, 0.0, 0.5]
    """
    matrices, shares = np.broadcast_arrays(matrices, shares[..., None, :])
    shares = shares[..., 0, :]
    best = np.zeros(shares.shape)
    nearest = np.full(shares.shape[:-1], np.inf)
    for face in _FACES:
        found = _on_plane(matrices[..., face, :], shares)
        inside = (found >= -_TINY).all(axis=-1)
        point = np.zeros(shares.shape)
        point[..., face] = found
        miss = ((np.einsum("...ij,...i->...j", matrices, point) - shares) ** 2).sum(axis=-1)
        # Larger faces come later and win ties, so that a corner that lies on them is the same.
        better = inside & (miss <= nearest)
        best[better], nearest[better] = point[better], miss[better]
    best = np.maximum(best, 0.0)  # what is below 0 here is -1e-9 at most: rounding
    return np.asarray(best / best.sum(axis=-1, keepdims=True))


def _on_plane(corners: Array, target: Array) -> Array:
    """Weights (sum 1) of the point nearest to `target` on the plane through `corners`.

    corners (..., k, 3) with k of 1 to 3; target (..., 3); weights (..., k).
    """
    base = corners[..., -1, :]
    edges = corners[..., :-1, :] - base[..., None, :]
    offset = target - base
    if edges.shape[-2] == 0:
        weights = np.zeros((*target.shape[:-1], 0))
    else:
        gram = np.einsum("...ij,...kj->...ik", edges, edges)
        right = np.einsum("...ij,...j->...i", edges, offset)
        weights = _solved(gram, right)
    return np.concatenate([weights, 1 - weights.sum(axis=-1, keepdims=True)], axis=-1)


def _solved(gram: Array, right: Array) -> Array:
    """The solution of 1 or 2 equations by Cramer's rule; NaN, so never inside, where there is none.

    Subtle: where edges coincide the plane is a line or a point, and a smaller face holds the same
    points.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        if gram.shape[-1] == 1:
            return np.asarray(right / np.where(gram[..., 0] > 0, gram[..., 0], np.nan))
        a, b, d = gram[..., 0, 0], gram[..., 0, 1], gram[..., 1, 1]
        determinant = a * d - b * b
        determinant = np.where(determinant > 1e-14, determinant, np.nan)[..., None]
        first = (d[..., None] * right[..., :1] - b[..., None] * right[..., 1:]) / determinant
        second = (a[..., None] * right[..., 1:] - b[..., None] * right[..., :1]) / determinant
    return np.concatenate([first, second], axis=-1)


def _checked(confusion: Any) -> Array:
    counts = np.asarray(confusion, dtype=np.float64)
    if counts.shape != (3, 3) or not np.isfinite(counts).all() or (counts < 0).any():
        raise InputError(
            "a judge's matrix must be (3, 3) of counts >= 0, rows the truth and columns the label, "
            f"each pro, neutral, con; got shape {counts.shape}"
        )
    return counts


def _of_topics(column: Any, topics: int) -> Array:
    counts = np.asarray(column, dtype=np.float64)
    if counts.shape != (topics, 3) or not np.isfinite(counts).all() or (counts < 0).any():
        raise InputError(
            f"counts must be ({topics}, 3), >= 0: pro, neutral, con of each topic; got shape "
            f"{counts.shape}"
        )
    return counts
