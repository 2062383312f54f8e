"""Stance labels that are wrong at random, as often as a macro-F1 asks for.

Every 3 x 3 array has the stances in ORDER: rows are the truth, columns the labels.
"""

import re
from typing import Any

import numpy as np

from equipoise import Stance, StanceScore

ORDER = (Stance.CON, Stance.NEUTRAL, Stance.PRO)
UNIFORM = np.array([[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
Array = np.ndarray[Any, np.dtype[Any]]


def card_errors(card: str) -> Array:
    """Error rates from the confusion table of a model card: 3 x 3 in ORDER, diagonal 0.

    Raises:
        ValueError: the card has not exactly one row of three counts for each stance.
    """
    rows = []
    for stance in ORDER:
        found = re.findall(rf"^\| {stance} \| (\d+) \| (\d+) \| (\d+) \|$", card, re.MULTILINE)
        if len(found) != 1:
            raise ValueError(f"the card must have one confusion row for {stance}, got {len(found)}")
        counts = np.array(found[0], dtype=float)
        rows.append(counts / counts.sum())
    return np.array(rows) * (1 - np.eye(3))


def transition(errors: Array, scale: float) -> Array:
    """Probability of each label (column) given the truth (row), with all error rates scaled."""
    scaled = errors * scale
    return scaled + np.diag(1 - scaled.sum(axis=1))


def macro_f1(confusion: Array) -> float:
    """Mean F1 of the three labels, in [0, 1], of a confusion table (rows: truth)."""
    both = confusion.sum(axis=0) + confusion.sum(axis=1)
    return float(np.mean(2 * np.diag(confusion) / np.maximum(both, 1e-12)))


def scale_for(target: float, counts: Array, errors: Array) -> float:
    """The scale at which labels of a pool with `counts` have an expected macro-F1 of `target`.

    Found by halving, up to the scale where some stance is always wrong. The macro-F1 is that of
    the expected confusion table.

    Raises:
        ValueError: no scale is low enough; the message says how low the macro-F1 can get.
    """
    low, high = 0.0, 1 / float(errors.sum(axis=1).max())

    def reached(scale: float) -> float:
        return macro_f1(counts[:, None] * transition(errors, scale))

    if not reached(high) <= target <= 1.0:
        raise ValueError(f"macro-F1 must be in [{reached(high):.3f}, 1], got {target}")
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) > target else (low, middle)
    return (low + high) / 2


def degrade(truth: Array, chances: Array, rng: np.random.Generator) -> Array:
    """Labels drawn from the row of `chances` of each true stance; indices into ORDER.

    The same rng state gives nested errors: what is wrong at a high macro-F1 is so at a lower one.
    """
    draw, other = rng.random(len(truth)), rng.random(len(truth))
    errors = chances * (1 - np.eye(3))
    wrong = draw >= chances[truth, truth]
    rates = errors[truth]
    steps = np.cumsum(rates, axis=1) / np.maximum(rates.sum(axis=1, keepdims=True), 1e-12)
    return np.where(wrong, (other[:, None] >= steps).sum(axis=1), truth)


def scores_for(labels: Array, truth: Array, rng: np.random.Generator) -> list[StanceScore]:
    """Probabilities for labels: surer where right (mean 0.85) than where wrong (mean 0.61).

    These are the means of the bundled detector over the embedded corpus. The rest is split at
    random between the two other stances, so that neither reaches the label.
    """
    count = len(labels)
    right, wrong = rng.beta(3, 1, count), rng.beta(1.4, 2.6, count)
    sure = np.maximum(0.4 + 0.6 * np.where(labels == truth, right, wrong), 0.401)
    most = np.minimum(1.0, 0.99 * sure / np.maximum(1 - sure, 1e-12))
    part = 1 - most + (2 * most - 1) * rng.random(count)
    found = []
    for label, top, share in zip(labels, sure, part, strict=True):
        first, second = (stance for stance in ORDER if stance is not ORDER[label])
        rest = {first: float((1 - top) * share), second: float((1 - top) * (1 - share))}
        values = {ORDER[label]: float(top), **rest}
        found.append(StanceScore(values[Stance.PRO], values[Stance.CON], values[Stance.NEUTRAL]))
    return found
