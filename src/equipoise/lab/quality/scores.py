"""From ratings and measures to tables: C - A by dimension, and how far raters agree."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from equipoise.lab.quality.asking import APART, DIMENSIONS, HIGHEST, LOWEST
from equipoise.lab.quality.rows import MEASURES, RATINGS, Rated, of_kind
from equipoise.lab.stats import SAMPLES, SEED, Estimate, TopicBootstrap, difference

PREFERENCE: Final = "preference"
_CHOICES: Final = ("A", "C", "tie")


@dataclass(frozen=True, slots=True)
class Change:
    """One dimension or measure of one rater: C - A.

    `a` and `c` are the means over the pairs in which both answers have a value, `change` their
    difference with an interval from samples of whole topics. `apart` counts pairs without: those
    with an answer marked unresolved, inapplicable (each pair once, by the first that applies), or
    left open.
    """

    rater: str
    name: str
    a: float | None
    c: float | None
    change: Estimate
    apart: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two raters on one dimension, or on the preference.

    `items` were decided by both: answers for a dimension, pairs for the preference (A, C or tie).
    `equal` is the share decided alike, in [0, 1]; `kappa` Cohen's and `weighted` that with squared
    distances (None for the preference), in [-1, 1], each with a 95% interval from samples of whole
    topics as (low, high). None where it is not defined: nothing decided, or one and the same mark
    by both throughout.
    """

    name: str
    items: int
    equal: float | None
    kappa: float | None
    kappa_interval: tuple[float, float] | None
    weighted: float | None
    weighted_interval: tuple[float, float] | None


def changes(rated: Rated, *, samples: int = SAMPLES) -> tuple[Change, ...]:
    """C - A for every dimension (of ratings) or measure, paired by question.

    Source: SP tables 13 and 18.
    """
    rows = rated.scored
    names = list(DIMENSIONS) if rated.kind == RATINGS else _measures(rows)
    if not rows:
        return ()
    bootstrap = TopicBootstrap([str(row["group"]) for _, row in rows], samples=samples)
    return tuple(_change(rated, name, rows, bootstrap) for name in names)


def preferences(rated: Rated) -> dict[str, int]:
    """How many pairs were decided for A, for C, as a tie, not at all, or left open."""
    found = {**dict.fromkeys((*_CHOICES, "unresolved", "open"), 0)}
    for _, row in rated.scored:
        found[row[PREFERENCE] or "open"] += 1
    return found


def agreement(first: Rated, second: Rated, *, samples: int = SAMPLES) -> tuple[Agreement, ...]:
    """How far two raters agree on the pairs that both rated: four dimensions and the preference.

    The samples of topics have the seed of `stats`; one in which kappa is not defined is left out.
    Source: SP appendix E reports the preference; the dimensions are ours.
    """
    mine, theirs = dict(first.scored), dict(second.scored)
    both = sorted(q for q in set(mine) & set(theirs) if _same_answers(mine[q], theirs[q]))
    marks = range(LOWEST, HIGHEST + 1)
    found = []
    for name in DIMENSIONS:
        decided = [
            (str(mine[q]["group"]), left, right)
            for q in both
            for s in ("A", "C")
            if _is_number(left := mine[q]["marks"][s][name])
            and _is_number(right := theirs[q]["marks"][s][name])
        ]
        found.append(_agreement(name, decided, tuple(marks), samples, ordered=True))
    decided = [
        (str(mine[q]["group"]), mine[q][PREFERENCE], theirs[q][PREFERENCE])
        for q in both
        if {mine[q][PREFERENCE], theirs[q][PREFERENCE]} <= set(_CHOICES)
    ]
    found.append(_agreement(PREFERENCE, decided, _CHOICES, samples, ordered=False))
    return tuple(found)


def weighted_kappa(counts: NDArray[Any], *, ordered: bool) -> NDArray[Any]:
    """Kappa of tables (..., c, c) of how often the marks (row, column) were given together.

    With `ordered` two marks differ by their squared distance, else by 1. Array (...), in [-1, 1];
    NaN where chance alone would agree fully. Source: Cohen 1968.

    >>> float(weighted_kappa(np.array([[20, 5], [10, 15]]), ordered=False))
    0.4
    """
    places = np.arange(counts.shape[-1])
    apart = np.abs(places[:, None] - places[None, :])
    weights = (apart**2 if ordered else apart > 0).astype(np.float64)
    total = counts.sum(axis=(-2, -1), keepdims=True)
    chance = counts.sum(axis=-1, keepdims=True) * counts.sum(axis=-2, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = (weights * counts).sum(axis=(-2, -1))
        expected = (weights * chance / total).sum(axis=(-2, -1))
        kappa: NDArray[Any] = 1 - seen / expected
    return np.round(kappa, 12)


def summary(rated: Sequence[Rated]) -> dict[str, Any]:
    """Everything that tables show, as plain values."""
    people = of_kind(rated, RATINGS)
    return {
        "raters": [
            {
                "rater": one.rater,
                "kind": one.kind,
                "generator": one.settings["generator"],
                "outcomes": one.outcomes(),
                "changes": [asdict(change) for change in changes(one)],
                "preferences": preferences(one) if one.kind == RATINGS else None,
            }
            for one in (*people, *of_kind(rated, MEASURES))
        ],
        "agreement": [
            {
                "raters": [first.rater, second.rater],
                "generator": first.settings["generator"],
                "on": [asdict(one) for one in agreement(first, second)],
            }
            for at, first in enumerate(people)
            for second in people[at + 1 :]
            if first.settings["generator"] == second.settings["generator"]
        ],
    }


def _change(
    rated: Rated,
    name: str,
    rows: Sequence[tuple[str, Mapping[str, Any]]],
    bootstrap: TopicBootstrap,
) -> Change:
    part = "marks" if rated.kind == RATINGS else "measures"
    pairs = [(row[part]["A"][name], row[part]["C"][name]) for _, row in rows]
    columns = [
        [float(v) if _is_number(v) else None for v in side] for side in zip(*pairs, strict=True)
    ]
    apart = dict.fromkeys((*APART, "open"), 0)
    for pair in pairs:
        if not all(map(_is_number, pair)):
            apart[next((word for word in APART if word in pair), "open")] += 1
    kept = [pair for pair in zip(*columns, strict=True) if None not in pair]
    means = [sum(side) / len(kept) for side in zip(*kept, strict=True)] if kept else [None, None]
    change = bootstrap.estimate(columns[1], columns[0], effect=difference)
    return Change(rated.rater, name, means[0], means[1], change, apart)


def _measures(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    return list(rows[0][1]["measures"]["A"]) if rows else []


def _is_number(mark: object) -> bool:
    return isinstance(mark, int | float) and not isinstance(mark, bool)


def _same_answers(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(one["shas"] == other["shas"])


def _agreement(
    name: str,
    decided: Sequence[tuple[str, Any, Any]],
    known: Sequence[Any],
    samples: int,
    *,
    ordered: bool,
) -> Agreement:
    if not decided:
        return Agreement(name, 0, None, None, None, None, None)
    groups = sorted({group for group, _, _ in decided})
    tables = np.zeros((len(groups), len(known), len(known)))
    for group, left, right in decided:
        tables[groups.index(group), known.index(left), known.index(right)] += 1
    equal = sum(left == right for _, left, right in decided) / len(decided)
    kappa, interval = _kappa(tables, samples, ordered=False)
    weighted, around = _kappa(tables, samples, ordered=True) if ordered else (None, None)
    return Agreement(name, len(decided), equal, kappa, interval, weighted, around)


def _kappa(
    tables: NDArray[Any], samples: int, *, ordered: bool
) -> tuple[float | None, tuple[float, float] | None]:
    """Kappa of all groups together, and its interval from samples of whole groups."""
    value = float(weighted_kappa(tables.sum(axis=0), ordered=ordered))
    if np.isnan(value):
        return None, None
    count, size = len(tables), tables.shape[-1]
    if count < 2:
        return value, None
    drawn = np.random.default_rng(SEED).multinomial(count, [1 / count] * count, size=samples)
    kappas = weighted_kappa(
        (drawn @ tables.reshape(count, -1)).reshape(-1, size, size), ordered=ordered
    )
    low, high = np.nanquantile(kappas, [0.025, 0.975])
    return value, (float(low), float(high))
