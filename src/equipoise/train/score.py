"""Scores of a detector on labelled rows: per source, per class, calibration."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.metrics import accuracy_score, confusion_matrix, precision_recall_fscore_support

from equipoise.train.data import LABELS, Row
from equipoise.types import StanceDetector

BINS = 10


@dataclass(frozen=True, slots=True)
class Judged:
    """One held-out row and the probabilities (con, neutral, pro) a detector gave it."""

    row: Row
    probabilities: tuple[float, float, float]

    @property
    def label(self) -> str:
        """The most probable label."""
        return LABELS[max(range(3), key=self.probabilities.__getitem__)]


def judge(detector: StanceDetector, rows: Sequence[Row]) -> list[Judged]:
    """Every row with the detector's probabilities, question by question."""
    by_question: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_question[row.question].append(row)
    judged: list[Judged] = []
    for question, members in by_question.items():
        scores = detector.detect(question, [row.text for row in members])
        judged += [
            Judged(row, (score.con, score.neutral, score.pro))
            for row, score in zip(members, scores, strict=True)
        ]
    return judged


def summary(judged: Sequence[Judged]) -> dict[str, Any]:
    """n, accuracy, macro-F1 over the classes that occur, per class P / R / F1, confusion, ECE."""
    truth = [item.row.stance for item in judged]
    guess = [item.label for item in judged]
    present = [label for label in LABELS if label in truth]
    precision, recall, f1, support = precision_recall_fscore_support(
        truth, guess, labels=present, zero_division=0
    )
    return {
        "n": len(judged),
        "accuracy": float(accuracy_score(truth, guess)),
        "macro_f1": float(sum(f1) / len(present)),
        "ece": calibration_error(judged),
        "classes": {
            label: {"n": int(n), "precision": float(p), "recall": float(r), "f1": float(f)}
            for label, p, r, f, n in zip(present, precision, recall, f1, support, strict=True)
        },
        "confusion": confusion_matrix(truth, guess, labels=list(LABELS)).tolist(),
    }


def calibration_error(judged: Sequence[Judged]) -> float:
    """Expected calibration error in [0, 1], over ten bins of equal width of the top probability.

    Source: Guo et al. 2017, equation 3.
    """
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for item in judged:
        top = max(item.probabilities)
        bins[min(BINS - 1, int(top * BINS))].append((top, item.label == item.row.stance))
    return sum(
        abs(math.fsum(top for top, _ in group) - sum(hit for _, hit in group)) for group in bins
    ) / max(1, len(judged))
