"""The picture of a selection as HTML: for a notebook, a file or a server page.

No scripts, nothing loaded from anywhere, no ids and no inline style attributes: a page may hold
many pictures, and a content security policy may allow the one style sheet by its hash.
"""

from collections.abc import Sequence
from typing import Final

from equipoise.render.cards import cards
from equipoise.render.cleaning import one_line
from equipoise.render.details import details
from equipoise.render.markup import Markup, element, join
from equipoise.render.reading import (
    SIDES,
    Plain,
    check_schema,
    chosen,
    count,
    is_labelled,
    kind_of,
    zones,
)
from equipoise.render.signs import sign
from equipoise.render.style import style_sheet
from equipoise.render.words import (
    KIND_NAMES,
    kind_words,
    mix,
    most_relevant,
    unsure_words,
    verdict,
    why_left_out,
)

_TICK_EVERY: Final = 10


def render_html(selection: Plain, *, standalone: bool = True) -> str:
    """One picture of what was retrieved, what reaches the model, and why.

    `selection` is what `Selection.to_dict()` gives. With `standalone` the result is a whole HTML
    document; without, a fragment for a notebook that brings its own scoped style sheet. The
    result can always be encoded as UTF-8, whatever the question and the documents hold.

    Raises:
        InputError: `selection` is not a mapping of the schema that this version draws.

    Source: ours.
    """
    check_schema(selection)
    style = element("style", {}, Markup(style_sheet(page=standalone)))
    if not standalone:
        return _picture(selection, heading=3, style=style)
    title = f"{one_line(selection['question']) or 'No question'} · equipoise"
    head = element(
        "head",
        {},
        element("meta", {"charset": "utf-8"}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("title", {}, title),
        style,
    )
    body = element("body", {}, element("main", {}, _picture(selection, heading=1, style=Markup())))
    return "<!DOCTYPE html>\n" + element("html", {"lang": "en"}, head, body) + "\n"


def _picture(selection: Plain, *, heading: int, style: Markup) -> Markup:
    question = one_line(selection["question"])
    parts = [_header(selection, heading)]
    if selection["documents"]:
        sub = heading + 1
        parts += [_strip(selection, sub), _model(selection, sub), cards(selection, sub)]
    parts.append(details(selection))
    label = f"Selection of documents for: {question}"
    return element("section", {"class": "equipoise", "aria-label": label}, style, *parts)


def _header(selection: Plain, heading: int) -> Markup:
    news = verdict(selection)
    eyebrow = f"equipoise · {one_line(selection['rule'])}"
    question = one_line(selection["question"]) or "(no question)"
    return join(
        element("p", {"class": "eq-eyebrow"}, eyebrow),
        element(f"h{heading}", {"class": "eq-question", "dir": "auto"}, question),
        element(
            "p",
            {"class": f"eq-verdict eq-{news.tone}"},
            element("strong", {}, f"{news.head}:"),
            f" {news.text}",
        ),
    )


def _strip(selection: Plain, heading: int) -> Markup:
    number = len(selection["documents"])
    parts = zones(selection)
    named = [_zone(selection, zone, documents, named=len(parts) > 1) for zone, documents in parts]
    documents = "1 document" if number == 1 else f"{number} documents"
    title = f"Retrieved: {documents}, most relevant first"
    return join(
        element(f"h{heading}", {"class": "eq-title"}, title),
        element("div", {"class": "eq-strip"}, *named),
        _legend(selection),
    )


def _zone(selection: Plain, zone: str, documents: Sequence[Plain], *, named: bool) -> Markup:
    first, last = documents[0]["rank"], documents[-1]["rank"]
    names = {
        "pool": f"Pool, to rank {last}",
        "reach": f"Reached into only where a stance is short, to rank {last}",
        "beyond": "Never searched",
    }
    cells = [_cell(selection, document) for document in documents]
    label = f"Ranks {first} to {last}: {names[zone]}"
    attributes = {"class": "eq-cells", "role": "list", "start": first, "aria-label": label}
    note = element("p", {"class": "eq-note"}, names[zone]) if named else Markup()
    quiet = "" if any(document["chosen"] for document in documents) else " eq-quiet"
    return element("div", {"class": f"eq-zone{quiet}"}, note, element("ol", attributes, *cells))


def _cell(selection: Plain, document: Plain) -> Markup:
    kind, rank = kind_of(selection, document), document["rank"]
    words = f"Rank {rank}, {kind_words(selection, document)}"
    if document["chosen"]:
        words += f": document {document['position']} of the prompt"
    else:
        words += f": {why_left_out(selection, document)}"
    parts = [sign(kind, full=document["chosen"])]
    if document["chosen"]:
        place = element(
            "span", {"class": "eq-place", "aria-hidden": "true"}, str(document["position"])
        )
        parts = [element("span", {"class": "eq-stem", "aria-hidden": "true"}), *parts, place]
    if rank == 1 or rank % _TICK_EVERY == 0:
        parts.append(element("span", {"class": "eq-tick", "aria-hidden": "true"}, str(rank)))
    parts.append(element("span", {"class": "eq-hidden"}, words))
    return element("li", {"class": "eq-cell", "title": words}, *parts)


def _legend(selection: Plain) -> Markup:
    present = {kind_of(selection, document) for document in selection["documents"]}
    kinds = [kind for kind in KIND_NAMES if kind in present]
    items = [element("li", {}, sign(kind), KIND_NAMES[kind]) for kind in kinds]
    if chosen(selection):
        place = element("span", {"class": "eq-place", "aria-hidden": "true"}, "1")
        items.append(element("li", {}, place, "chosen, with its place in the prompt"))
    return element("ul", {"class": "eq-legend", "role": "list", "aria-label": "Legend"}, *items)


def _model(selection: Plain, heading: int) -> Markup:
    items = []
    for document in chosen(selection):
        kind = kind_of(selection, document)
        place = element("span", {"class": "eq-place"}, str(document["position"]))
        lines = [unsure_words(document), f"rank {document['rank']}"]
        spans = [element("span", {}, line) for line in lines if line]
        items.append(element("li", {}, place, sign(kind, full=True), KIND_NAMES[kind], *spans))
    row = element("ol", {"class": "eq-model", "role": "list"}, *items)
    parts = [element("div", {}, _title(heading, "What reaches the model, in prompt order"), row)]
    if is_labelled(selection):
        parts.append(_mixes(selection, heading))
    return element("div", {"class": "eq-two"}, *parts)


def _mixes(selection: Plain, heading: int) -> Markup:
    first = min(selection["k"], len(selection["documents"]))
    bars = [
        _bar(f"Before: {most_relevant(first)}", selection["before"]),
        _bar("After: what reaches the model", selection["composition"]),
    ]
    return element("div", {"class": "eq-mixes"}, _title(heading, "Before and after"), *bars)


def _title(heading: int, text: str) -> Markup:
    return element(f"h{heading}", {"class": "eq-title"}, text)


def _bar(name: str, counts: Plain) -> Markup:
    kinds = [kind for kind in (*SIDES, "unlabelled") for _ in range(count(counts, kind))]
    units = [sign(kind, full=True) for kind in kinds]
    words = mix(counts)
    caption = element("p", {"class": "eq-mix-name"}, name, element("span", {}, words))
    bar = element(
        "div", {"class": "eq-bar", "role": "img", "aria-label": f"{name}: {words}"}, *units
    )
    return element("div", {"class": "eq-mix"}, caption, bar)
