"""A judge's check as text for people and as JSON for reports."""

import json
from dataclasses import asdict
from typing import Any

from equipoise.lab.judge.check import READ_AS, Agreement, Check, Rate


def as_text(found: Check) -> str:
    """The check in lines: agreement, the matrix, a line a label, and the readers."""
    counts = ", ".join(f"{count} {outcome}" for outcome, count in found.outcomes.items())
    lines = [
        found.judge,
        f"  {counts}",
        agreement_text("all answers with a verdict", found.agreement),
        agreement_text("where both name a stance", found.stances),
        "",
        "  read as \\ judged as" + "".join(f"{label:>10}" for label in READ_AS) + "      none",
    ]
    for label, row, none in zip(READ_AS, found.matrix, found.unjudged, strict=True):
        lines.append(f"  {label:<19}" + "".join(f"{count:>10}" for count in (*row, none)))
    lines.append("")
    for label in READ_AS:
        sensitivity, specificity = found.sensitivity[label], found.specificity[label]
        lines.append(
            f"  {label}: sensitivity {rate_text(sensitivity)}, specificity {rate_text(specificity)}"
        )
    lines += [agreement_text(f"readers {pair}", one) for pair, one in found.readers.items()]
    return "\n".join(lines)


def agreement_text(name: str, found: Agreement) -> str:
    """One line: how many are equal, and kappa."""
    kappa = "kappa is not defined"
    if found.kappa is not None:
        interval = "(no interval)" if found.low is None else f"[{found.low:.3f}, {found.high:.3f}]"
        kappa = f"kappa {found.kappa:.3f} {interval}"
    undefined = f" ({found.undefined} samples without a kappa)" if found.undefined else ""
    return f"  {name}: {rate_text(found.equal)} equal, {kappa}{undefined}"


def rate_text(found: Rate) -> str:
    """`45/50 = 90.0% [78.6%, 95.7%]`."""
    if found.value is None:
        return "0/0"
    return f"{found.hits}/{found.total} = {found.value:.1%} [{found.low:.1%}, {found.high:.1%}]"


def as_dict(found: Check) -> dict[str, Any]:
    """The check as JSON, with the matrix that `correct` takes as "confusion"."""
    return {"order": list(READ_AS), **asdict(found), "confusion": found.confusion}


def as_json_text(found: Check) -> str:
    """`as_dict` as a file holds it."""
    return json.dumps(as_dict(found), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
