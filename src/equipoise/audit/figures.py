"""The one figure of a report, in all its places: con to the left of a line, pro to the right."""

from typing import Final

from equipoise.audit.chance import Mix, wilson
from equipoise.render.markup import Markup, element, join

WIDTH: Final = 100
"""Units from the middle line to either edge."""


def scale_of(mixes: list[Mix]) -> int:
    """The count that reaches the edge: the largest side of all, >= 1."""
    return max([1, *(max(mix.pro, mix.con) for mix in mixes)])


def balance_bar(mix: Mix, scale: int, *, top: Mix | None = None, named: str = "") -> Markup:
    """Con and pro as lengths from a middle line; below it, thinner, the same for the top.

    Numbers stand at the ends, so that no colour and no length must be read exactly.
    """
    rows = [_row(mix, scale, y=4, height=14)]
    said = f"{named}{mix.con} con, {mix.pro} pro, {mix.neutral} neutral"
    if top is not None:
        rows.append(_row(top, scale, y=22, height=6, numbers=False))
        said += f"; at the top {top.con} con, {top.pro} pro, {top.neutral} neutral"
    height = 22 if top is None else 32
    edge = WIDTH + 24
    middle = {"x1": 0, "x2": 0, "y1": 1, "y2": height - 1, "class": "middle"}
    return element(
        "svg",
        {
            "class": "balance",
            "role": "img",
            "aria-label": said,
            "viewBox": f"{-edge} 0 {2 * edge} {height}",
            "width": 2 * edge,
            "height": height,
        },
        element("title", {}, said),
        *rows,
        element("line", middle),
    )


def _row(mix: Mix, scale: int, *, y: int, height: int, numbers: bool = True) -> Markup:
    con, pro = (round(WIDTH * n / scale, 2) for n in (mix.con, mix.pro))
    parts = [
        element("rect", {"class": "con", "x": -con, "y": y, "width": con, "height": height}),
        element("rect", {"class": "pro", "x": 0, "y": y, "width": pro, "height": height}),
    ]
    if numbers:
        at = y + height - 3
        parts += [
            element("text", {"x": -con - 4, "y": at, "text-anchor": "end"}, str(mix.con)),
            element("text", {"x": pro + 4, "y": at}, str(mix.pro)),
        ]
    return join(*parts)


def interval(count: int, total: int) -> str:
    """`63% (41-81%)`, a share with its 95% interval; a dash where there is nothing.

    >>> interval(5, 8)
    '62% (31-86%)'
    """
    share = wilson(count, total)
    if share.value is None or share.low is None or share.high is None:
        return "-"
    return f"{100 * share.value:.0f}% ({100 * share.low:.0f}-{100 * share.high:.0f}%)"


def legend(shown: int) -> Markup:
    """What the colours and the two bars mean."""
    return element(
        "p",
        {"class": "legend"},
        element("span", {"class": "key con"}),
        " con (answers no), to the left ",
        element("span", {"class": "key pro"}),
        " pro (answers yes), to the right. Thick bar: all passages near the question; thin bar: "
        f"the {shown} that retrieval shows first. Copies of one text count once; numbers are "
        "counts, and neutral passages are not drawn.",
    )
