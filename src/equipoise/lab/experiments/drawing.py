"""Figures as SVG text: panels, points with intervals, one look for all."""

import re
from collections.abc import Callable, Sequence
from io import StringIO
from typing import Any, Final

from equipoise._extras import require
from equipoise.lab import figures
from equipoise.lab.figures import FAINT, INK
from equipoise.lab.stats import Estimate

MARKS: Final = figures.MARKS
COLOURS: Final = {"A": MARKS[0], "B": MARKS[1], "C": MARKS[2], "D": MARKS[3]}
"""Colour and shape of a setting, the same in every figure."""


def picture(
    name: str,
    count: int,
    draw: Callable[[Sequence[Any]], None],
    *,
    size: tuple[float, float] = (11, 3.6),
    columns: int | None = None,
) -> str:
    """The SVG of `count` panels that `draw` fills; the same results give the same text.

    `size` is in inches. Ids within it carry `name`, so that several fit one page.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    matplotlib = require("matplotlib", extra="lab")
    figure_of = require("matplotlib.figure", extra="lab").Figure
    style = {
        "svg.fonttype": "none",
        "svg.hashsalt": "equipoise",
        "font.family": "sans-serif",
        "font.size": 10,
    }
    columns = columns or count
    with matplotlib.rc_context(style):
        figure = figure_of(figsize=size, facecolor="white", layout="constrained")
        panels = figure.subplots(-(-count // columns), columns, squeeze=False).ravel().tolist()
        for panel in panels:
            _plain(panel)
        draw(panels)
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    return named(svg[svg.index("<svg") :], name)


def point(
    panel: Any, at: float, found: Estimate, mark: tuple[str, str], *, level: bool = False
) -> None:
    """An estimate with its interval at `at`: upright, or level along the horizontal axis."""
    if found.value is None:
        return
    ends = [found.value if end is None else end for end in (found.low, found.high)]
    colour, shape = mark
    line, dot = (ends, [at, at]), ([found.value], [at])
    if not level:
        line, dot = line[::-1], dot[::-1]
    panel.plot(*line, color=colour, linewidth=1.4)
    panel.plot(*dot, shape, color=colour, markersize=5)


def curve(
    panel: Any, at: Sequence[float], found: Sequence[Estimate], mark: tuple[str, str], name: str
) -> None:
    """Estimates along a line, named in the legend."""
    pairs = [(x, e) for x, e in zip(at, found, strict=True) if e.value is not None]
    colour, shape = mark
    values = [e.value for _, e in pairs]
    panel.plot(
        [x for x, _ in pairs],
        values,
        color=colour,
        marker=shape,
        markersize=5,
        linewidth=1.2,
        label=name,
    )
    for x, estimate in pairs:
        point(panel, x, estimate, mark)


def zero(panel: Any, *, level: bool = False) -> None:
    """A line where the score is 0; an upright one in a panel of level intervals."""
    line = panel.axvline if level else panel.axhline
    line(0.0, color=INK, linewidth=0.8)


def rows(panel: Any, names: Sequence[str]) -> None:
    """Names down the side, first on top."""
    panel.set_yticks(range(len(names)), names, color=INK)
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.tick_params(axis="y", length=0)


def legend(panel: Any) -> None:
    """Names of the curves within the panel, without a frame."""
    if panel.get_legend_handles_labels()[0]:
        panel.legend(frameon=False, fontsize=8)


def _plain(panel: Any) -> None:
    panel.grid(color=FAINT, linewidth=0.6)
    panel.set_axisbelow(True)
    for edge in ("top", "right"):
        panel.spines[edge].set_visible(False)


def named(svg: str, name: str) -> str:
    """The SVG with the name before each of its ids."""
    return re.sub(r'(\bid="|url\(#|href="#)', lambda found: f"{found[1]}{name}-", svg)


def alike(panels: Sequence[Any], axis: str = "y") -> None:
    """One range for all panels, so that heights can be compared; `axis` is "x" or "y"."""
    ends = [getattr(panel, f"get_{axis}lim")() for panel in panels]
    for panel in panels:
        getattr(panel, f"set_{axis}lim")(min(e[0] for e in ends), max(e[1] for e in ends))
