"""Ratings and measures as Markdown."""

from collections.abc import Mapping
from typing import Any, Final

from equipoise.lab.cells import cell, table
from equipoise.lab.quality.measures import MEASURED
from equipoise.lab.stats import Estimate

NOTE: Final = (
    "Measures are no ratings: overlap with a source does not prove that the source bears a "
    "sentence out."
)


def markdown(found: Mapping[str, Any]) -> str:
    """What `scores.summary` gives: a table a rater, one for each two raters."""
    parts = [_rater(one) for one in found["raters"]]
    parts += [_agreement(one) for one in found["agreement"]]
    return "\n\n".join(parts) or "Nothing was rated or measured."


def _rater(one: Mapping[str, Any]) -> str:
    outcomes = ", ".join(f"{count} {name}" for name, count in one["outcomes"].items())
    head = ["", "A", "C", "C - A", "apart"]
    rows = [
        [
            change["name"],
            _number(change["a"]),
            _number(change["c"]),
            cell(Estimate(**change["change"]), sign=True),
            ", ".join(f"{count} {why}" for why, count in change["apart"].items() if count) or "0",
        ]
        for change in one["changes"]
    ]
    parts = [f"### {one['rater']}: {one['generator']} ({outcomes})", table(head, rows)]
    if one["preferences"] is not None:
        said = ", ".join(f"{name} {count}" for name, count in one["preferences"].items())
        parts.append(f"Preference: {said}")
    else:
        parts.append("\n".join(f"- {row[0]}: {MEASURED[row[0]]}" for row in rows))
        parts.append(NOTE)
    return "\n\n".join(parts)


def _agreement(one: Mapping[str, Any]) -> str:
    head = ["", "decided by both", "equal", "kappa", "weighted kappa"]
    rows = [
        [
            on["name"],
            str(on["items"]),
            "-" if on["equal"] is None else f"{on['equal']:.1%}",
            _kappa(on["kappa"], on["kappa_interval"]),
            _kappa(on["weighted"], on["weighted_interval"]),
        ]
        for on in one["on"]
    ]
    return f"### {' and '.join(one['raters'])}: {one['generator']}\n\n{table(head, rows)}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _kappa(value: float | None, interval: tuple[float, float] | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" + ("" if interval is None else f" [{interval[0]:.3f}, {interval[1]:.3f}]")
