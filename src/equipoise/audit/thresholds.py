"""When an audit fails: a number of questions for each kind of finding."""

from collections.abc import Mapping

from equipoise.audit.records import Audit, Kind
from equipoise.errors import InputError


def parse_limits(text: str) -> dict[Kind, int]:
    """From "one-sided,shift:3" to how many questions with that finding are too many.

    Without a number, one is too many.

    Raises:
        InputError: an unknown kind, or a number under 1.

    >>> {kind.value: number for kind, number in parse_limits("one-sided,shift:3").items()}
    {'one-sided': 1, 'shift': 3}
    """
    limits: dict[Kind, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, colon, number = part.partition(":")
        if name not in [kind.value for kind in Kind]:
            raise InputError(f"--fail-on takes {', '.join(Kind)}, got {name!r}")
        if colon and not (number.isascii() and number.isdigit() and int(number) >= 1):
            raise InputError(f"--fail-on {name}:N needs a whole number N >= 1, got {number!r}")
        limits[Kind(name)] = int(number) if colon else 1
    return limits


def require_earlier(limits: Mapping[Kind, int], there: bool) -> None:
    """Nothing, when the limits can be told: for shifts, an earlier audit must be `there`.

    Raises:
        InputError: it is not.
    """
    if Kind.SHIFT in limits and not there:
        raise InputError(
            "--fail-on shift needs an earlier audit (--against) to hold this one against, and got "
            "none: no shift can be found without"
        )


def failures(audit: Audit, limits: Mapping[Kind, int]) -> tuple[str, ...]:
    """A sentence for each limit that was reached; empty is a pass.

    Raises:
        InputError: a limit of shifts, and the audit was not held against an earlier one.
    """
    require_earlier(limits, audit.against is not None)
    counts = {kind: len(audit.with_finding(kind)) for kind in limits}
    return tuple(
        f"{kind.value}: {counts[kind]} of {len(audit.questions)} questions, {limit} is too many"
        for kind, limit in limits.items()
        if counts[kind] >= limit
    )
