"""Calibration: a temperature, or a temperature and a bias between pro and con; chosen, then fitted.

Both are multinomial regressions on the logits, so both losses are convex and Newton's method ends
in a few steps. Source: Guo et al. 2017, section 4.2 (temperature and vector scaling; here one
temperature for all outputs); the choice by cross-fitting is ours, and so is the narrow bias:
held-out rows have few neutral texts and a retriever's list has many, so a bias on `neutral` would
learn the share of the wrong world. Pro and con are about equally many in both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.errors import InputError
from equipoise.train.data import LABELS

Floats = npt.NDArray[np.float64]
Probabilities = tuple[float, float, float]
COLDEST, HOTTEST = 0.5, 4.0
_STEPS = 50
_SIDES = np.array([[-1.0], [0.0], [1.0]])
"""Con, neutral, pro: what one unit of bias adds to each output."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logits are divided by `temperature` (0.5 to 4), then `bias` is added: in `LABELS`' order.

    A bias of () adds nothing.
    """

    temperature: float = 1.0
    bias: tuple[float, ...] = ()

    def probabilities(self, logits: Floats) -> Probabilities:
        """The calibrated probabilities of one row of logits, float64 of shape (3,).

        >>> Calibration(2.0).probabilities(np.log([0.64, 0.32, 0.04]))[0] > 0.47
        True
        """
        scaled = logits / self.temperature + (np.asarray(self.bias) if self.bias else 0.0)
        powers = np.exp(scaled - scaled.max())
        con, neutral, pro = (powers / powers.sum()).tolist()
        return (con, neutral, pro)

    def settings(self) -> dict[str, Any]:
        """What config.json says of it."""
        bias = {"bias": list(self.bias)} if self.bias else {}
        return {"temperature": self.temperature, **bias}


def fit_calibration(logits: Floats, truth: Sequence[int], *, with_bias: bool) -> Calibration:
    """The temperature, and with `with_bias` the bias, of the least negative log likelihood.

    A weak prior (a normal one of deviation 1 on 1 / temperature about 1 and on the bias about 0,
    worth about one row each) keeps the fit finite where a class is missing or all rows are right.
    The bias is (-b, 0, b): it moves rows between con and pro alone.

    Args:
        logits: float64 of shape (n, 3); a constant added to a row changes nothing.
        truth: for each row the index of its label in `LABELS`.
        with_bias: fit the bias too.

    Raises:
        InputError: there is no row.
    """
    if not len(logits):
        raise InputError("a calibration needs at least one held-out row, got none")
    classes = len(LABELS)
    features = np.zeros((len(logits), classes, 1 + with_bias))
    features[:, :, 0] = logits - logits.mean(axis=1, keepdims=True)
    features[:, :, 1:] = _SIDES[:, : int(with_bias)]
    prior = np.zeros(features.shape[2])
    prior[0] = 1.0
    found = _newton(features, np.zeros(features.shape[:2]), truth, prior)
    scale = min(max(float(found[0]), 1 / HOTTEST), 1 / COLDEST)
    if scale != found[0] and with_bias:  # at the bound the bias has another optimum
        offset = features[:, :, 0] * scale
        found[1:] = _newton(features[:, :, 1:], offset, truth, prior[1:])
    between = _SIDES @ found[1:] if with_bias else found[1:]
    return Calibration(round(1 / scale, 3), tuple(round(float(value), 3) for value in between))


def _newton(features: Floats, offset: Floats, truth: Sequence[int], prior: Floats) -> Floats:
    """The weights w of the least loss of softmax(features @ w + offset), damped Newton steps."""
    chosen = np.eye(features.shape[1])[list(truth)]
    weights = prior.copy()
    loss, gradient, curvature = _loss(features, offset, chosen, prior, weights)
    for _ in range(_STEPS):
        step = np.linalg.solve(curvature, gradient)
        if float(np.abs(step).max()) < 1e-9:
            break
        share = 1.0
        while share > 1e-6:
            tried = _loss(features, offset, chosen, prior, weights - share * step)
            if tried[0] <= loss:
                break
            share /= 2
        else:
            break
        weights = weights - share * step
        loss, gradient, curvature = tried
    return weights


def _loss(
    features: Floats, offset: Floats, chosen: Floats, prior: Floats, weights: Floats
) -> tuple[float, Floats, Floats]:
    """Loss (negative log likelihood and prior), its gradient and its curvature at `weights`."""
    scores = features @ weights + offset
    scores = scores - scores.max(axis=1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    shares = np.exp(logs)
    away = weights - prior
    loss = -float((chosen * logs).sum()) + 0.5 * float(away @ away)
    gradient = np.einsum("nk,nkp->p", shares - chosen, features) + away
    mean = np.einsum("nk,nkp->np", shares, features)
    curvature = np.einsum("nk,nkp,nkq->pq", shares, features, features)
    return loss, gradient, curvature - mean.T @ mean + np.eye(len(weights))


def negative_log_likelihood(probabilities: Sequence[Probabilities], truth: Sequence[int]) -> float:
    """The mean of -ln p(truth), >= 0, over at least one row; p is taken as at least 1e-9."""
    losses = [-math.log(max(row[at], 1e-9)) for row, at in zip(probabilities, truth, strict=True)]
    return math.fsum(losses) / len(losses)
