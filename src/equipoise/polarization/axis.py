"""The polarization axis: the direction along which texts on one topic disagree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.errors import InputError
from equipoise.polarization._vectors import Floats, matrix, unit
from equipoise.types import Stance

_NOISE = 1e-10
"""Share of the spread of the data under which a spread is rounding noise."""


@dataclass(frozen=True, slots=True, eq=False)
class PolarizationAxis:
    """One or more unit directions in embedding space, and the point they are measured from.

    Attributes:
        directions: (m, d) float64, orthogonal rows of length 1 (one row for `fit_means`).
        mean: (d,) float64, the point with a score of 0.
        explained: m shares of the anchors' variance, each in [0, 1], that lie along a direction.
        signs_fixed: m bools: True where the positive end is the pro end by the anchors' stances.
        anchors: how many anchors it was fitted on, >= 2.

    A principal component is where anchors differ most. That need not be their stance: with few
    anchors it may be their subject or style. `equipoise.polarization.check_axis` measures it.

    Source: Polarization Score of EBI (first principal component); `fit_means` is ours.
    """

    directions: Floats
    mean: Floats
    explained: tuple[float, ...]
    signs_fixed: tuple[bool, ...]
    anchors: int

    @property
    def sign_fixed(self) -> bool:
        """True when every direction points to the pro side by rule, not by chance."""
        return all(self.signs_fixed)

    @classmethod
    def fit(
        cls,
        vectors: Any,
        *,
        stances: Sequence[Stance | str] | None = None,
        components: int = 1,
    ) -> "PolarizationAxis":
        """The first principal components of anchor vectors (n, d), centred.

        A component's sign is arbitrary. It is set so that the mean score of the anchors marked pro
        is positive; `signs_fixed` is then True. Without stances, without a pro anchor, or where
        that mean is 0, the coordinate of largest magnitude is made positive: the same each time,
        but of no meaning, and `signs_fixed` is False.

        Cost: O(min(n, d)^2 * max(n, d)); fewer anchors than dimensions are fine. Not for anchors of
        several topics: the axis would then tell the topics apart.

        Raises:
            InputError: under two anchors, anchors that are all alike, fewer directions of spread
                than `components`, a value that is not finite, or not one stance an anchor.

        >>> axis = PolarizationAxis.fit([[1, 0], [3, 0], [2, 1]], stances=["con", "pro", "neutral"])
        >>> [round(float(score), 6) for score in axis.score([[1, 0], [3, 0]])]
        [-1.0, 1.0]
        """
        rows = _anchors(vectors)
        marks = stances_of(stances, len(rows))
        if isinstance(components, bool) or not isinstance(components, int) or components < 1:
            raise InputError(f"components must be an int >= 1, got {components!r}")
        mean = rows.mean(axis=0)
        centred = rows - mean
        _, spread, found = np.linalg.svd(centred, full_matrices=False)
        usable = int((spread > _NOISE * (np.abs(rows).max() + spread[0])).sum())
        if usable < components:
            raise InputError(
                f"{components} components need anchors that differ in as many directions; these "
                f"{len(rows)} differ in {usable}. Give anchors of more, and different, viewpoints"
            )
        directions, fixed = _signed(found[:components], centred, marks)
        shares = spread[:components] ** 2 / (spread**2).sum()
        return cls(directions, mean, tuple(map(float, shares)), fixed, len(rows))

    @classmethod
    def fit_means(cls, vectors: Any, *, stances: Sequence[Stance | str]) -> "PolarizationAxis":
        """The direction from the mean con anchor to the mean pro anchor; 0 is half way.

        Neutral anchors count only for the share of variance. With few anchors this is the surer
        way to stance: the first component may be subject or style (see docs/polarization.md).

        Raises:
            InputError: no pro or no con anchor, means that are alike, a value that is not finite,
                or not one stance an anchor.

        Source: ours.
        """
        rows = _anchors(vectors)
        marks = stances_of(stances, len(rows))
        pro, con = mean_of(rows, marks, Stance.PRO), mean_of(rows, marks, Stance.CON)
        if pro is None or con is None:
            raise InputError("an axis of means needs at least one pro and one con anchor")
        direction = unit(pro - con)
        if direction is None or np.abs(pro - con).max() <= _NOISE * np.abs(rows).max():
            raise InputError("an axis of means needs pro and con anchors whose means differ")
        centred = rows - rows.mean(axis=0)
        share = float(((centred @ direction) ** 2).sum() / (centred**2).sum())
        return cls(direction[None, :], (pro + con) / 2, (min(share, 1.0),), (True,), len(rows))

    def score(self, vectors: Any) -> Floats:
        """The Polarization Score of vectors (n, d): (n,) for one direction, else (n, m).

        Scores are centred: u . (v - mean), in the unit of the vectors, so 0 is the middle of the
        anchors. The paper's u . v differs by a constant that is the same for every text, which no
        difference of two scores (`shift`) and no comparison of texts can see.

        Raises:
            InputError: another dimension than the anchors', or a value that is not finite.
        """
        rows = matrix(vectors, what="the vectors to score", dimension=self.mean.shape[0])
        scores = (rows - self.mean) @ self.directions.T
        return np.asarray(scores[:, 0] if len(self.directions) == 1 else scores)

    def shift(self, vectors: Any, reference: Any) -> Floats:
        """How far texts lie from a neutral reference: PS(text) - PS(reference).

        `vectors` (n, d); `reference` (d,), or (r, d) whose mean score counts. (n,) for one
        direction, else (n, m); positive is toward pro where the sign is fixed.

        Raises:
            InputError: as `score`, or no reference.
        """
        neutral = np.asarray(reference, dtype=np.float64)
        rows = matrix(
            neutral[None, :] if neutral.ndim == 1 else neutral,
            what="the neutral reference",
            dimension=self.mean.shape[0],
        )
        if not len(rows):
            raise InputError("a shift needs at least one neutral reference, got none")
        return np.asarray(self.score(vectors) - self.score(rows).mean(axis=0))


def _anchors(vectors: Any) -> Floats:
    rows = matrix(vectors, what="anchor vectors")
    if len(rows) < 2:
        raise InputError(f"an axis needs at least two anchors, got {len(rows)}")
    if np.ptp(rows, axis=0).max() <= _NOISE * np.abs(rows).max():
        raise InputError(f"an axis needs anchors that differ; these {len(rows)} are all alike")
    return rows


def stances_of(stances: Sequence[Stance | str] | None, number: int) -> tuple[Stance, ...]:
    """One `Stance` for each of `number` texts, or none at all.

    Raises:
        InputError: an unknown stance, or not one a text.
    """
    if stances is None:
        return ()
    try:
        marks = tuple(Stance(stance) for stance in stances)
    except ValueError as error:
        raise InputError(f"a stance must be one of {', '.join(Stance)}: {error}") from error
    if len(marks) != number:
        raise InputError(f"there must be one stance a text: {number} texts, {len(marks)} stances")
    return marks


def mean_of(rows: Floats, stances: Sequence[Stance], wanted: Stance) -> Floats | None:
    """The mean (d,) of the rows (n, d) of one stance, or None where there is none."""
    chosen = [at for at, stance in enumerate(stances) if stance is wanted]
    return np.asarray(rows[chosen].mean(axis=0)) if chosen else None


def _signed(
    found: Floats, centred: Floats, stances: tuple[Stance, ...]
) -> tuple[Floats, tuple[bool, ...]]:
    """The directions turned by rule, and for each whether the stances could tell."""
    pro = mean_of(centred, stances, Stance.PRO)
    turned, fixed = [], []
    for direction in found:
        side = 0.0 if pro is None else float(direction @ pro)
        by_stance = abs(side) > _NOISE * float(np.abs(centred).max())
        if not by_stance:
            side = float(direction[np.abs(direction).argmax()])
        turned.append(direction if side > 0 else -direction)
        fixed.append(by_stance)
    return np.asarray(turned), tuple(fixed)
