"""The little squares that stand for a document: one drawn shape and one colour for each kind."""

from typing import Final

from equipoise.render.markup import Markup, element

# Drawn, not typed: the circles and minus signs of fonts differ in size and sit off centre.
_SHAPES: Final = {
    "pro": "M6 1.5v9M1.5 6h9",
    "con": "M1.5 6h9",
    "neutral": "M6 2.2a3.8 3.8 0 1 0 0 7.6a3.8 3.8 0 1 0 0-7.6",
    "unlabelled": "",
    "duplicate": "M2.5 4.2h7M2.5 7.8h7",
    "filtered": "M2.5 2.5l7 7M9.5 2.5l-7 7",
    "blank": "M6 2.2a3.8 3.8 0 1 0 0 7.6a3.8 3.8 0 1 0 0-7.6M2 10l8-8",
}


def sign(kind: str, *, full: bool = False) -> Markup:
    """A square for one kind of document; `full` is the strong colour of the chosen ones.

    It is hidden from screen readers: the words stand beside it.
    """
    name = f"eq-sign eq-{kind}" + (" eq-full" if full else "")
    return element("span", {"class": name, "aria-hidden": "true"}, _shape(_SHAPES[kind]))


def _shape(path: str) -> Markup:
    if not path:
        return Markup()
    frame = {"width": 12, "height": 12, "viewBox": "0 0 12 12", "fill": "none"}
    stroke = {"stroke": "currentColor", "stroke-width": 2, "stroke-linecap": "round"}
    return element("svg", {**frame, **stroke}, element("path", {"d": path}))
