"""Numbers and tables in Markdown."""

from collections.abc import Sequence

from equipoise.lab.stats import Estimate


def cell(estimate: Estimate, *, sign: bool = False) -> str:
    """`1.74 [1.50, 1.98] 210`: value, interval, n.

    >>> cell(Estimate(0.5, 0.25, 0.75, 12, 3)), cell(Estimate(None, None, None, 0, 0))
    ('0.500 [0.250, 0.750] 12', '-')
    """
    if estimate.value is None:
        return "-"
    form = "+.3f" if sign else ".3f"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:{form}} [one topic] {estimate.n}"
    return f"{estimate.value:{form}} [{estimate.low:{form}}, {estimate.high:{form}}] {estimate.n}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; a bar within a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in lines
    )
