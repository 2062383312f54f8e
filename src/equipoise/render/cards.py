"""The chosen documents as cards: stance, three probabilities, rank, text, and why."""

from typing import Final

from equipoise.render.cleaning import clean, clip, one_line
from equipoise.render.markup import Markup, element, join
from equipoise.render.reading import SIDES, Plain, chosen, kind_of
from equipoise.render.signs import sign
from equipoise.render.words import KIND_NAMES, kind_words, reason

_CARD_CHARACTERS: Final = 420
_ID_CHARACTERS: Final = 60


def cards(selection: Plain, heading: int) -> Markup:
    """A title and a list with one card for each chosen document, in prompt order."""
    items = [_card(selection, document, heading + 1) for document in chosen(selection)]
    if not items:
        return Markup()
    return join(
        element(f"h{heading}", {"class": "eq-title"}, "The chosen documents"),
        element("ol", {"class": "eq-cards", "role": "list"}, *items),
    )


def _text(document: Plain) -> Markup:
    """The text, clipped where it is long, with the whole of it to open."""
    text = clean(document["text"]).strip()
    short = element("p", {"class": "eq-text", "dir": "auto"}, clip(text, _CARD_CHARACTERS))
    if len(text) <= _CARD_CHARACTERS:
        return short
    summary = element("summary", {}, f"Full text, {len(text):,} characters")
    whole = element("p", {"class": "eq-text", "dir": "auto"}, text)
    return join(short, element("details", {}, summary, whole))


def _card(selection: Plain, document: Plain, heading: int) -> Markup:
    kind = kind_of(selection, document)
    head = element(
        f"h{heading}",
        {"class": "eq-card-head"},
        element("span", {"class": "eq-place"}, str(document["position"])),
        sign(kind, full=True),
        kind_words(selection, document),
        element("span", {"class": "eq-card-rank"}, f"rank {document['rank']}"),
    )
    return element(
        "li",
        {"class": "eq-card"},
        head,
        _odds(document),
        _text(document),
        _foot(selection, document),
    )


def _odds(document: Plain) -> Markup:
    """The three probabilities as one stacked bar with its numbers in words."""
    odds = document["probabilities"]
    if odds is None:
        return Markup()
    words = [f"{KIND_NAMES[side]} {odds[side]:.0%}" for side in SIDES]
    parts, start = [], 0.0
    for side in SIDES:
        width = 100 * odds[side]
        box = {"class": f"eq-{side}", "x": f"{start:.2f}", "y": "0", "width": f"{width:.2f}"}
        parts.append(element("rect", {**box, "height": "8"}))
        start += width
    frame = {"class": "eq-odds", "viewBox": "0 0 100 8", "preserveAspectRatio": "none"}
    bar = element("svg", {**frame, "role": "img", "aria-label": ", ".join(words)}, *parts)
    numbers = [element("span", {}, text) for text in words]
    return element(
        "div", {}, bar, element("p", {"class": "eq-odds-words", "aria-hidden": "true"}, *numbers)
    )


def _foot(selection: Plain, document: Plain) -> Markup:
    """Why it was chosen, and on a second line what it is."""
    facts = [f"id {clip(one_line(document['id']), _ID_CHARACTERS)}"]
    if document["rank"] in selection["unscored"]:
        facts.append("unscored")
    elif document["score"] is not None:
        facts.append(f"score {document['score']:.3g}")
    if (document["windows"] or 1) > 1:
        facts.append(f"read in {document['windows']} windows")
    why = reason(selection, document)
    return element(
        "p",
        {"class": "eq-card-foot"},
        element("span", {}, why[:1].upper() + why[1:]),
        element("span", {"dir": "auto"}, " · ".join(facts)),
    )
