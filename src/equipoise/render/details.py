"""The collapsed part of the picture: facts, times, what was left out, the settings."""

import json
from collections.abc import Sequence
from typing import Final

from equipoise.render.cleaning import clean, clip, one_line
from equipoise.render.facts import facts
from equipoise.render.markup import Markup, element
from equipoise.render.reading import Plain, kind_of, left_out
from equipoise.render.signs import sign
from equipoise.render.words import kind_words, milliseconds, why_left_out

_ROW_CHARACTERS: Final = 110


def details(selection: Plain) -> Markup:
    """One `<details>` with everything that the picture itself does not show."""
    brief = element("span", {}, _brief(selection))
    summary = element("summary", {}, "What was left out, and how this was chosen", brief)
    tables = [_facts(selection)]
    if left_out(selection):
        tables.append(_left_out(selection))
    tables.append(_settings(selection))
    return element("details", {"class": "eq-more"}, summary, *tables)


def _brief(selection: Plain) -> str:
    out, total = len(left_out(selection)), selection["timings_ms"].get("total")
    parts = [f"{out} left out", f"{selection['labelled']} labelled"]
    if total is not None:
        parts.append(milliseconds(total))
    return "".join(f" · {part}" for part in parts)


def _facts(selection: Plain) -> Markup:
    return _table("How it was chosen", None, [_pair(name, text) for name, text in facts(selection)])


def _settings(selection: Plain) -> Markup:
    rows = [
        _pair(one_line(key), one_line(json.dumps(value, ensure_ascii=False, default=str)))
        for key, value in selection["settings"].items()
    ]
    return _table("Settings", None, rows) if rows else Markup()


def _left_out(selection: Plain) -> Markup:
    documents = left_out(selection)
    noun = "document" if len(documents) == 1 else "documents"
    heads = ("Rank", "Stance", "Why left out", "Score", "Text")
    rows = [_row(selection, document) for document in documents]
    return _table(f"Left out: {len(documents)} {noun}", heads, rows)


def _row(selection: Plain, document: Plain) -> Markup:
    kind = kind_of(selection, document)
    return element(
        "tr",
        {},
        element("th", {"scope": "row", "class": "eq-number"}, str(document["rank"])),
        element("td", {"class": "eq-stance"}, sign(kind), kind_words(selection, document)),
        element("td", {"class": "eq-why"}, why_left_out(selection, document)),
        element("td", {"class": "eq-number"}, _score(selection, document)),
        element("td", {"class": "eq-words"}, _text(document)),
    )


def _text(document: Plain) -> Markup:
    """The first words on one line; where there is more, they open the whole text."""
    text = clean(document["text"]).strip()
    short = clip(one_line(text[: _ROW_CHARACTERS * 4]), _ROW_CHARACTERS)
    if one_line(text) == short:
        return element("span", {"dir": "auto"}, short)
    summary = element("summary", {"dir": "auto"}, short)
    return element("details", {}, summary, element("p", {"class": "eq-text", "dir": "auto"}, text))


def _score(selection: Plain, document: Plain) -> str:
    if document["rank"] in selection["unscored"]:
        return "unscored"
    return "none" if document["score"] is None else f"{document['score']:.3g}"


def _pair(name: str, text: str) -> Markup:
    return element(
        "tr", {}, element("th", {"scope": "row", "class": "eq-fact"}, name), element("td", {}, text)
    )


def _table(caption: str, heads: Sequence[str] | None, rows: Sequence[Markup]) -> Markup:
    """A table in a box that scrolls sideways, by keyboard too."""
    numbers = {"Rank", "Score"}
    parts = [element("caption", {}, caption)]
    if heads:
        cells = [
            element("th", {"scope": "col", "class": "eq-number" if head in numbers else None}, head)
            for head in heads
        ]
        parts.append(element("thead", {}, element("tr", {}, *cells)))
    name = "eq-table eq-rows" if heads else "eq-table"
    table = element("table", {"class": name}, *parts, element("tbody", {}, *rows))
    box = {"class": "eq-scroll", "role": "region", "aria-label": caption, "tabindex": "0"}
    return element("div", box, table)
