"""Does an axis measure stance? Scores against the order con, neutral, pro."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.errors import InputError
from equipoise.polarization._vectors import Floats, matrix, unit
from equipoise.polarization.axis import PolarizationAxis, mean_of, stances_of
from equipoise.types import Stance

_ORDER = {Stance.CON: -1.0, Stance.NEUTRAL: 0.0, Stance.PRO: 1.0}


@dataclass(frozen=True, slots=True)
class AxisCheck:
    """How well scores follow stance. None where it could not be judged, which is not 0.

    Attributes:
        spearman: rank correlation in [-1, 1] of score and stance (con < neutral < pro).
        auc: the share in [0, 1] of pairs of a pro and a con text where the pro one scores higher,
            ties half; 0.5 is chance.
        alignment: cosine in [-1, 1] of the axis and the way from the con mean to the pro mean.
        texts: how many texts were scored.
    """

    spearman: float | None
    auc: float | None
    alignment: float | None
    texts: int


def check_axis(axis: PolarizationAxis, vectors: Any, stances: Sequence[Stance | str]) -> AxisCheck:
    """How well the first direction of `axis` tells the stances of vectors (n, d) apart.

    Use texts that are not among the anchors: on its own anchors an axis of means looks good
    whatever they are. `alignment` far from 1 says that the axis measures something else than
    stance, be it subject or style.

    Raises:
        InputError: not one stance a vector, another dimension, or a value that is not finite.

    Source: rank correlation as EBI reports it (0.896, against the order given by a model); AUC and
        alignment are ours.
    """
    rows = matrix(vectors, what="the vectors to score", dimension=axis.mean.shape[0])
    marks = stances_of(stances, len(rows))
    scores = (rows - axis.mean) @ axis.directions[0]
    order = np.array([_ORDER[stance] for stance in marks])
    pro, con = mean_of(rows, marks, Stance.PRO), mean_of(rows, marks, Stance.CON)
    way = None if pro is None or con is None else unit(pro - con)
    return AxisCheck(
        spearman(scores, order),
        auc(scores[order > 0], scores[order < 0]),
        None if way is None else float(axis.directions[0] @ way),
        len(rows),
    )


def spearman(first: Any, second: Any) -> float | None:
    """Rank correlation in [-1, 1] of two rows (n,), ties sharing their mean rank.

    None where it is not defined: under two values, or a row of equal ones.

    Raises:
        InputError: the rows are not of one length.

    >>> spearman([1, 2, 3, 4], [10, 20, 20, 40])  # ranks 1 2 3 4 and 1 2.5 2.5 4
    0.9486832980505138
    """
    a, b = (np.asarray(row, dtype=np.float64) for row in (first, second))
    if a.ndim != 1 or a.shape != b.shape:
        raise InputError(f"two rows of one length are needed, got {a.shape} and {b.shape}")
    if len(a) < 2:
        return None
    a, b = (_ranks(row) - (len(row) + 1) / 2 for row in (a, b))
    size = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / size if size > 0 else None


def auc(positive: Any, negative: Any) -> float | None:
    """The share in [0, 1] of pairs (p of (n,), q of (m,)) with p > q, ties half.

    None where there is no pair.

    >>> auc([3, 2], [1, 2])
    0.875
    """
    p, q = (np.asarray(row, dtype=np.float64) for row in (positive, negative))
    if not p.size or not q.size:
        return None
    ranks = _ranks(np.concatenate([p, q]))[: len(p)]
    return float((ranks.sum() - len(p) * (len(p) + 1) / 2) / (len(p) * len(q)))


def _ranks(values: Floats) -> Floats:
    """Ranks from 1 of values (n,); equal ones share their mean rank."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = counts.cumsum()
    return np.asarray((last - (counts - 1) / 2)[places])
