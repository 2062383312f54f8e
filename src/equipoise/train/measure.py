"""The figures of a model's card, from rows that a model has read."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.errors import InputError
from equipoise.stance.negation import without_negation
from equipoise.train.calibrate import Calibration, fit_calibration, negative_log_likelihood
from equipoise.train.data import LABELS, OWN, Row
from equipoise.train.reading import Read
from equipoise.train.score import Judged, calibration_error, summary

PER_SOURCE = 600
"""Held-out rows of a source in each half, at most."""
THRESHOLDS = tuple(round(0.4 + 0.05 * step, 2) for step in range(12))
TEMPERATURE, WITH_BIAS = "temperature", "temperature and bias"
_OPPOSITE = {("pro", "con"), ("con", "pro")}


def halves(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Rows of every other question (sorted by their hash), and the rest; capped per source."""
    first = _every_other({row.question for row in rows})
    parts: tuple[list[Row], list[Row]] = ([], [])
    taken: Counter[tuple[bool, str]] = Counter()
    for row in sorted(rows, key=lambda r: hashlib.sha256(f"{r.source}{r.id}".encode()).digest()):
        key = (row.question in first, row.source)
        taken[key] += 1
        if taken[key] <= PER_SOURCE:
            parts[0 if key[0] else 1].append(row)
    return parts


def _every_other(questions: set[str]) -> set[str]:
    return set(sorted(questions, key=lambda q: hashlib.sha256(q.encode()).digest())[::2])


def calibrated(reads: Sequence[Read]) -> tuple[Calibration, dict[str, Any]]:
    """The calibration for a model, from rows that are in no reported score, and how it was chosen.

    The bias is kept only where it earns its place on questions it was not fitted on: both kinds are
    fitted on one half of the questions and compared on the other, and the other way round. What
    wins is fitted again on all rows. Fits use rows read in one window, whose logits are exact;
    comparisons use all.

    Raises:
        InputError: fewer than two questions, or a half of them without a row of one window.
    """
    first = _every_other({read.row.question for read in reads})
    parts = (
        [r for r in reads if r.row.question in first],
        [r for r in reads if r.row.question not in first],
    )
    losses: dict[str, float] = {}
    for name, with_bias in ((TEMPERATURE, False), (WITH_BIAS, True)):
        rows = [
            (loss, len(test))
            for fitted, test in (parts, parts[::-1])
            for loss in [loss_of(test, _fitted(fitted, with_bias=with_bias))]
        ]
        losses[name] = sum(loss * n for loss, n in rows) / len(reads)
    kept = WITH_BIAS if losses[WITH_BIAS] < losses[TEMPERATURE] else TEMPERATURE
    chosen = _fitted(reads, with_bias=kept == WITH_BIAS)
    told = {"kept": kept, "n": len(reads), "cross_fitted_loss": losses, **chosen.settings()}
    return chosen, told


def _fitted(reads: Sequence[Read], *, with_bias: bool) -> Calibration:
    whole = [read for read in reads if len(read.logits) == 1]
    if not whole:
        raise InputError(
            f"calibration needs held-out rows of at least two questions that the model reads in "
            f"one window, got none in one part ({len(reads)} rows): use a larger fold"
        )
    logits = np.concatenate([read.logits for read in whole])
    return fit_calibration(logits, [read.truth for read in whole], with_bias=with_bias)


def loss_of(reads: Sequence[Read], calibration: Calibration) -> float:
    """The mean negative log likelihood of rows under a calibration.

    Raises:
        InputError: there is no row.
    """
    if not reads:
        raise InputError("a loss needs at least one held-out row, got none: use a larger fold")
    judged = [read.judged(calibration) for read in reads]
    labels = [LABELS.index(item.row.stance) for item in judged]
    return negative_log_likelihood([item.probabilities for item in judged], labels)


def held_out(reads: Sequence[Read], calibration: Calibration) -> dict[str, Any]:
    """Scores of rows not used for calibration: per source, the paper's kind, all; calibration."""
    judged = [read.judged(calibration) for read in reads]
    raw = [read.judged(Calibration()) for read in reads]
    sources = sorted({item.row.source for item in judged})
    return {
        "paper_kind": _summary([item for item in judged if _is_papers_kind(item.row)]),
        "sources": {s: summary([item for item in judged if item.row.source == s]) for s in sources},
        "all": summary(judged),
        "loss": {
            "before": loss_of(reads, Calibration()),
            "after": loss_of(reads, calibration),
        },
        "ece": {"before": calibration_error(raw), "after": calibration_error(judged)},
        "abstention": abstention(judged),
    }


def _is_papers_kind(row: Row) -> bool:
    neutral = row.source == "ibm_wiki_passages" and row.stance == "neutral"
    return row.source == "procon20" or neutral


def _summary(judged: Sequence[Judged]) -> dict[str, Any] | None:
    return summary(judged) if judged else None


def whole_source(
    reads: Sequence[Read], source: str, calibration: Calibration
) -> dict[str, Any] | None:
    """Scores of one source's held-out rows, those of the calibration too; None without rows."""
    return _summary([read.judged(calibration) for read in reads if read.row.source == source])


def abstention(judged: Sequence[Judged]) -> list[dict[str, float | None]]:
    """For each threshold the share of labels at least that probable, and the accuracy of those.

    Accuracy is None where no label is kept.
    """
    curve: list[dict[str, float | None]] = []
    for threshold in THRESHOLDS:
        kept = [item for item in judged if max(item.probabilities) >= threshold]
        right = sum(item.label == item.row.stance for item in kept)
        curve.append(
            {
                "threshold": threshold,
                "kept": len(kept) / max(1, len(judged)),
                "accuracy": right / len(kept) if kept else None,
            }
        )
    return curve


def own_test(reads: Sequence[Read], calibration: Calibration) -> dict[str, Any]:
    """Scores on the project's own test set: all, by kind, and on pairs of opposite queries."""
    judged = [read.judged(calibration) for read in reads]
    kinds: dict[str, list[bool]] = defaultdict(list)
    for item in judged:
        kinds[item.row.topic].append(item.label == item.row.stance)
    return {
        "all": summary(judged),
        "kinds": {
            kind: {"n": len(hits), "accuracy": sum(hits) / len(hits)}
            for kind, hits in sorted(kinds.items())
        },
        "opposites": opposites(judged, opposite_lines()),
    }


def opposite_lines() -> set[int]:
    """Numbers, from 1, of the test file's lines whose two queries are each other's opposite."""
    lines = (OWN / "test.jsonl").read_text("utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if json.loads(line).get("opposite")}


def opposites(judged: Sequence[Judged], lines: set[int]) -> dict[str, Any]:
    """Over passages with two opposite queries: share labelled pro and con, and share both right.

    Args:
        judged: rows of `read_own`, ids `own-test-LINE-QUERY`.
        lines: which lines count.
    """
    by_line: dict[int, list[Judged]] = defaultdict(list)
    for item in judged:
        number = int(item.row.id.split("-")[-2])
        if number in lines:
            by_line[number].append(item)
    pairs = [pair for pair in by_line.values() if len(pair) == 2]
    swapped = sum((one.label, two.label) in _OPPOSITE for one, two in pairs)
    right = sum(all(item.label == item.row.stance for item in pair) for pair in pairs)
    n = len(pairs)
    return {"n": n, "swapped": swapped / max(1, n), "both_right": right / max(1, n)}


def negated(question: str) -> str | None:
    """A "Should X be Y?" as "Should X not be Y?"; None where the verb has no plain place.

    >>> negated("Should zoos be closed?"), negated("Should we abolish zoos?")
    ('Should zoos not be closed?', 'Should we not abolish zoos?')
    """
    words = question.split(" ")
    if words[0] != "Should" or {"not", "no", "never"} & set(words):
        return None
    if "be" in words[2:]:
        at = words.index("be", 2)
        return " ".join([*words[:at], "not", *words[at:]])
    for at in range(2, len(words)):
        form = " ".join([*words[:at], "not", *words[at:]])
        if without_negation(form) == question:
            return form
    return None


def negation_swaps(
    reads: Sequence[Read],
    calibration: Calibration,
    read_rows: Callable[[Sequence[Row]], Sequence[Read]],
) -> dict[str, Any]:
    """Share of labels that swap when a "Should" question is asked with "not".

    Over rows that are pro or con and that the model calls pro or con; `read_rows` reads the negated
    ones. `not_formed` counts questions that no rule could negate.
    """
    asked, forms, not_formed = [], [], 0
    for read in reads:
        if read.row.stance == "neutral" or not read.row.question.startswith("Should "):
            continue
        form = negated(read.row.question)
        if form is None:
            not_formed += 1
        elif read.judged(calibration).label != "neutral":
            asked.append(read)
            forms.append(replace(read.row, question=form))
    swapped = sum(
        (one.judged(calibration).label, two.judged(calibration).label) in _OPPOSITE
        for one, two in zip(asked, read_rows(forms), strict=True)
    )
    return {"n": len(asked), "swapped": swapped / max(1, len(asked)), "not_formed": not_formed}


def agreement(
    int8: Sequence[Read], real: Sequence[Read], calibration: Calibration
) -> dict[str, float]:
    """How often int8 and float give one label, and how far their probabilities lie apart."""
    same, gaps = 0, []
    for one, two in zip(int8, real, strict=True):
        first, second = one.judged(calibration), two.judged(calibration)
        same += first.label == second.label
        pairs = zip(first.probabilities, second.probabilities, strict=True)
        gaps += [abs(a - b) for a, b in pairs]
    return {
        "n": len(int8),
        "same_label": same / len(int8),
        "mean_probability_gap": sum(gaps) / len(gaps),
        "largest_probability_gap": max(gaps),
    }
