"""Unsure labels: those that the detector itself gives too little probability."""

from equipoise.errors import InputError
from equipoise.types import StanceScore, is_number


def is_unsure(score: StanceScore, below: float) -> bool:
    """True when the probability of the score's own label is under `below`.

    `below` lies in [0, 1); 0 makes no label unsure but those of texts of which nothing was read
    (`windows` 0). A tie of pro and con is labelled neutral with neutral's own probability, so it is
    unsure under almost any threshold. Source: ours.

    >>> score = StanceScore(pro=0.52, con=0.38, neutral=0.1)
    >>> is_unsure(score, 0.6), is_unsure(score, 0.52), is_unsure(score, 0.0)
    (True, False, False)
    """
    return score.windows == 0 or score.confidence < below


def checked_unsure_below(value: object) -> float:
    """`value` as a float in [0, 1).

    Raises:
        InputError: it is no number, or lies outside [0, 1): at 1 no label would ever be sure.
    """
    if not is_number(value) or not 0.0 <= value < 1.0:  # type: ignore[operator]  # it is a number
        raise InputError(f"unsure_below must be a number in [0, 1), got {value!r}")
    return float(value)  # type: ignore[arg-type]
