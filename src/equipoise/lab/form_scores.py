"""Filled-in forms read back: counts for each criterion, and how far two readers agree."""

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise._extras import require
from equipoise.errors import InputError
from equipoise.lab.form import ANSWERS, FORMAT

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAMPLES = 5_000
SEED = 20260905
"""Of the bootstrap. Source: SP appendix B."""

Filled = Mapping[str, Mapping[str, str]]
"""Item -> field -> answer; a question left open has no entry."""


@dataclass(frozen=True, slots=True)
class Count:
    """One criterion in one form.

    `rate` is passed / (passed + failed + unsure), in [0, 1], with a 95% Wilson interval that takes
    items as independent; None where nothing was answered. Open items are in no denominator and
    are counted. For `direction`, passed means that the side named is the intended one.
    """

    criterion: str
    passed: int
    failed: int
    unsure: int
    open: int
    rate: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two forms on one question.

    `items` were answered in both. `agreement` is the share of equal answers, in [0, 1]; `kappa`
    Cohen's, in [-1, 1], with a 95% interval from samples of whole topic groups. Kappa is None
    where both forms hold one and the same answer throughout: chance alone would then agree fully.
    Samples of that kind (`undefined` of 5,000) are left out of the interval, which is None with
    fewer than two groups. `apart` are the items to talk over.
    """

    field: str
    items: int
    agreement: float | None
    kappa: float | None
    low: float | None
    high: float | None
    undefined: int
    apart: tuple[str, ...]


def read_key(path: Path) -> dict[str, Any]:
    """Item -> document, topic, group, intended side.

    Raises:
        InputError: it is no key of this format.
    """
    try:
        key = json.loads(path.read_text("utf-8"))
        items = key["items"] if key["format"] == FORMAT else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} must be the key.json of a form: {error}") from error
    if not isinstance(items, dict):
        raise InputError(f"{path} must be the key of a form of format {FORMAT}")
    return items


def read_filled(
    path: Path, key: Mapping[str, Any], *, fields: Mapping[str, Sequence[str]] = ANSWERS
) -> dict[str, dict[str, str]]:
    """The answers of a form, from the CSV file of a spreadsheet (parted by , ; or tab) or page.

    `fields` are the questions of the form, each with the answers that it takes.

    Raises:
        InputError: it cannot be read, lacks a column, or has an item or answer that is not known,
            or an item twice.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} must be a CSV file in UTF-8: {error}") from error
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a document may be a book
    head = text.split("\n", 1)[0]
    # Spreadsheets of many countries part cells by semicolons.
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count))
    missing = sorted({"item", *fields} - set(rows.fieldnames or ()))
    if missing:
        raise InputError(
            f"{path} must have the columns item, {', '.join(fields)}; lacks {missing[0]}"
        )
    filled: dict[str, dict[str, str]] = {}
    for row in rows:
        item = (row["item"] or "").strip()
        if item not in key or item in filled:
            why = "is there twice" if item in filled else "is not in the key"
            raise InputError(f"{path}: every item must be one of the key, once; {item!r} {why}")
        filled[item] = _answers(row, f"{path}: {item}", fields)
    return filled


def count(filled: Filled, key: Mapping[str, Any]) -> tuple[Count, ...]:
    """A count a criterion: one_sided, supported, and direction against the key."""
    outcomes: dict[str, list[str | None]] = {"supported": [], "one_sided": [], "direction": []}
    for item, entry in key.items():
        answers = filled.get(item, {})
        outcomes["supported"].append(answers.get("supported"))
        outcomes["one_sided"].append(answers.get("one_sided"))
        side = answers.get("side")
        outcomes["direction"].append(side and ("yes" if side == entry["intended"] else "no"))
    return tuple(_count(criterion, found) for criterion, found in outcomes.items())


def agree(
    first: Filled, second: Filled, key: Mapping[str, Any], *, samples: int = SAMPLES
) -> tuple[Agreement, ...]:
    """How far two forms agree on each question. `samples` >= 1 is how often topics are drawn.

    Source: Cohen 1960; the interval as SP appendix B, ours for kappa.
    """
    return tuple(_agreement(field, first, second, key, samples) for field in ANSWERS)


def cohens_kappa(counts: "NDArray[Any]") -> "NDArray[Any]":
    """Kappa of tables (..., c, c) of how often the answer pair (row, column) was given.

    Array (...); NaN where it is not defined: no answers, or one and the same throughout.

    >>> import numpy as np
    >>> float(cohens_kappa(np.array([[20, 5], [10, 15]])))
    0.4
    """
    import numpy as np

    total = counts.sum(axis=(-2, -1))
    # One answer throughout is 0 / 0: counts are whole numbers, so `expected` is then exactly 1.
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = np.trace(counts, axis1=-2, axis2=-1) / total
        expected = (counts.sum(axis=-1) * counts.sum(axis=-2)).sum(axis=-1) / total**2
        kappa: NDArray[Any] = (observed - expected) / (1 - expected)
    return np.round(kappa, 12)


def report(counts: Mapping[str, Sequence[Count]], agreement: Sequence[Agreement]) -> str:
    """Counts by form, and the agreement of two, as lines of text."""
    lines = []
    for name, rows in counts.items():
        lines.append(name)
        for row in rows:
            share = _interval_text(row.rate, row.low, row.high, "1%")
            lines.append(
                f"  {row.criterion}: {row.passed} passed, {row.failed} failed, {row.unsure} "
                f"unsure, {row.open} open; {share}"
            )
    for one in agreement:
        kappa = _interval_text(one.kappa, one.low, one.high, "3f")
        shared = "-" if one.agreement is None else f"{one.agreement:.1%}"
        lines.append(
            f"{one.field}: {shared} of {one.items} equal, kappa {kappa}; apart: "
            f"{', '.join(one.apart) or 'none'}"
        )
    return "\n".join(lines)


def _interval_text(value: float | None, low: float | None, high: float | None, form: str) -> str:
    if value is None:
        return "not defined"
    shown = format(value, f".{form}")
    if low is None or high is None:
        return f"{shown} (no interval)"
    return f"{shown} [{low:.{form}}, {high:.{form}}]"


def _answers(
    row: Mapping[str, str | None], where: str, fields: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    found = {}
    for field, known in fields.items():
        answer = (row[field] or "").strip().lower()
        if answer and answer not in known:
            raise InputError(
                f"{where}: {field} must be {', '.join(known)} or empty, got {answer!r}"
            )
        if answer:
            found[field] = answer
    return found


def _count(criterion: str, outcomes: Sequence[str | None]) -> Count:
    tally = Counter(outcomes)
    assessed = tally["yes"] + tally["no"] + tally["unsure"]
    rate = low = high = None
    if assessed:
        test = require("scipy.stats", extra="lab").binomtest(tally["yes"], assessed)
        interval = test.proportion_ci(0.95, method="wilson")
        rate, low, high = tally["yes"] / assessed, float(interval.low), float(interval.high)
    return Count(
        criterion, tally["yes"], tally["no"], tally["unsure"], tally[None], rate, low, high
    )


def _agreement(
    field: str, first: Filled, second: Filled, key: Mapping[str, Any], samples: int
) -> Agreement:
    both = [item for item in key if field in first.get(item, {}) and field in second.get(item, {})]
    apart = tuple(item for item in both if first[item][field] != second[item][field])
    if not both:
        return Agreement(field, 0, None, None, None, None, 0, ())
    tables = _tables(field, both, first, second, key)
    kappa = float(cohens_kappa(tables.sum(axis=0)))
    low, high, undefined = _interval(tables, samples)
    return Agreement(
        field,
        len(both),
        1 - len(apart) / len(both),
        None if kappa != kappa else kappa,
        low,
        high,
        undefined,
        apart,
    )


def _tables(
    field: str, items: Sequence[str], first: Filled, second: Filled, key: Mapping[str, Any]
) -> "NDArray[Any]":
    """Answer pairs counted by topic group, (groups, c, c)."""
    import numpy as np

    groups = sorted({key[item]["group"] for item in items})
    known = ANSWERS[field]
    tables = np.zeros((len(groups), len(known), len(known)))
    for item in items:
        row, column = (known.index(form[item][field]) for form in (first, second))
        tables[groups.index(key[item]["group"]), row, column] += 1
    return tables


def _interval(tables: "NDArray[Any]", samples: int) -> tuple[float | None, float | None, int]:
    """Low, high, and how many samples had no kappa."""
    import numpy as np

    groups, answers, _ = tables.shape
    if groups < 2:
        return None, None, 0
    drawn = np.random.default_rng(SEED).multinomial(groups, [1 / groups] * groups, size=samples)
    kappas = cohens_kappa((drawn @ tables.reshape(groups, -1)).reshape(-1, answers, answers))
    defined = kappas[~np.isnan(kappas)]
    if not len(defined):
        return None, None, samples
    low, high = np.quantile(defined, [0.025, 0.975])
    return float(low), float(high), samples - len(defined)
