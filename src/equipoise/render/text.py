"""The picture of a selection for a terminal, readable without colour.

A strip with one sign for each candidate in rank order, the places of the chosen ones under it,
the verdict, the chosen documents in a table, and what fell short.
"""

from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any, Final

from equipoise._extras import require
from equipoise.errors import InputError
from equipoise.render.cleaning import clip, one_line
from equipoise.render.facts import facts
from equipoise.render.reading import SIDES, Plain, check_schema, chosen, count, kind_of
from equipoise.render.words import KIND_NAMES, Verdict, mix, short_reason, verdict

_SIGNS: Final = {
    "pro": "+",
    "con": "-",
    "neutral": "o",
    "unlabelled": ".",
    "duplicate": "=",
    "blank": "_",
}
# Colours of the 256 that can be read on a black and on a white ground.
_FAINT: Final = "color(244)"
_STRONG: Final = "bold reverse "
_STYLES: Final = {
    "pro": "color(33)",
    "con": "color(166)",
    "neutral": "color(246)",
    "unlabelled": _FAINT,
    "duplicate": _FAINT,
    "blank": _FAINT,
}
_TONES: Final = {"good": "bold", "plain": "bold", "warning": "bold yellow"}
_GROUP: Final = 10
_MARGIN: Final = 8
_NARROWEST: Final = 40
_FIRST_WORDS: Final = 300


def render_text(selection: Plain, *, width: int = 100, color: bool = False) -> str:
    """The picture as lines of at most `width` columns, ending in a line break.

    `selection` is what `Selection.to_dict()` gives. With `color` it holds ANSI colours; without,
    not one escape code, whatever the documents hold.

    Raises:
        InputError: `selection` is not a mapping of the schema that this version draws, or `width`
            is under 40 columns.
        MissingExtraError: rich is not installed.

    Source: ours.
    """
    check_schema(selection)
    if width < _NARROWEST:
        raise InputError(f"width must be at least {_NARROWEST} columns, got {width}")
    console = require("rich.console", extra="cli").Console(
        file=StringIO(),
        width=width,
        force_terminal=color,
        force_jupyter=False,
        color_system="256" if color else None,
        no_color=not color,
        legacy_windows=False,
        markup=False,
        highlight=False,
        emoji=False,
    )
    for part in _parts(selection, width):
        console.print(part)
    lines = console.file.getvalue().splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _parts(selection: Plain, width: int) -> Iterator[Any]:
    text = require("rich.text", extra="cli").Text
    yield text(one_line(selection["question"]) or "(no question)", style="bold")
    yield ""
    yield _verdict(text, verdict(selection))
    yield ""
    if selection["documents"]:
        yield from _strip(text, selection, width)
        yield from _bars(text, selection)
        yield ""
    if chosen(selection):
        yield _table(text, selection)
        yield ""
    yield _facts(text, selection)


def _verdict(text: Any, news: Verdict) -> Any:
    return text.assemble((f"{news.head}: ", _TONES[news.tone]), news.text)


def _strip(text: Any, selection: Plain, width: int) -> Iterator[Any]:
    """Lines of ranks, signs and places in groups of ten, as many groups to a line as fit."""
    groups = max(1, (width - _MARGIN) // (_GROUP + 2))
    documents = selection["documents"]
    for start in range(0, len(documents), groups * _GROUP):
        yield from _strip_line(text, selection, documents[start : start + groups * _GROUP])
    yield text(_legend(selection, width), style=_FAINT)
    yield ""


def _legend(selection: Plain, width: int) -> str:
    """What each sign that occurs means; a line is broken between signs only."""
    present = {kind_of(selection, document) for document in selection["documents"]}
    items = [f"{_SIGNS[kind]} {name}" for kind, name in KIND_NAMES.items() if kind in present]
    items += [f"| {name}" for name in _edges(selection).values()]
    lines = [" " * _MARGIN + items[0]]
    for item in items[1:]:
        if len(lines[-1]) + 3 + len(item) <= width:
            lines[-1] += f"   {item}"
        else:
            lines.append(" " * _MARGIN + item)
    return "\n".join(lines)


def _strip_line(text: Any, selection: Plain, documents: Sequence[Plain]) -> Iterator[Any]:
    """Three lines in step: the first rank of each group, the signs, the places in the prompt."""
    edges = _edges(selection)
    ranks, places = f"{'rank':<{_MARGIN}}", f"{'chosen':<{_MARGIN}}"
    signs = text(f"{'found':<{_MARGIN}}")
    for at, document in enumerate(documents):
        if at % _GROUP == 0:
            ranks = f"{ranks:<{len(places)}}{document['rank']}"
        kind = kind_of(selection, document)
        signs.append(_SIGNS[kind], style=_STRONG * document["chosen"] + _STYLES[kind])
        places += _place(document)
        edge = "|" if document["rank"] in edges else ""
        gap = edge + " " * ((at + 1) % _GROUP == 0)
        signs.append(gap, style=_FAINT)
        places += " " * len(gap)
    yield text(ranks, style=_FAINT)
    yield signs
    yield text(places, style="bold")


def _edges(selection: Plain) -> dict[int, str]:
    """The ranks after which the pool and the search end, where documents lie beyond them."""
    names = {"pool": "end of pool", "depth": "end of search"}
    found = {int(selection["quota"][key]): name for key, name in names.items()}
    return {rank: name for rank, name in found.items() if rank < len(selection["documents"])}


def _place(document: Plain) -> str:
    """The place in the prompt as one character; from the tenth on a star."""
    if not document["chosen"]:
        return " "
    return str(document["position"]) if document["position"] < 10 else "*"


def _bars(text: Any, selection: Plain) -> Iterator[Any]:
    rows = (("before", selection["before"]), ("after", selection["composition"]))
    longest = max(sum(map(int, counts.values())) for _, counts in rows)
    for name, counts in rows:
        line = text(f"{name:<{_MARGIN}}")
        kinds = [kind for kind in (*SIDES, "unlabelled") for _ in range(count(counts, kind))]
        for kind in kinds:
            line.append(_SIGNS[kind], style=_STRONG + _STYLES[kind])
        line.append(" " * (longest - len(kinds) + 3) + mix(counts))
        yield line


def _table(text: Any, selection: Plain) -> Any:
    """The chosen documents; the texts take what room is left and are cut at its end."""
    box = require("rich.box", extra="cli").SIMPLE_HEAD
    table = require("rich.table", extra="cli").Table(
        box=box, padding=(0, 1), pad_edge=False, show_edge=False, expand=True
    )
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("stance", no_wrap=True)
    table.add_column("p", justify="right", no_wrap=True)
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("why", no_wrap=True, overflow="ellipsis", max_width=32)
    table.add_column("text", ratio=1, no_wrap=True, overflow="ellipsis")
    for document in chosen(selection):
        table.add_row(*_cells(text, selection, document))
    return table


def _cells(text: Any, selection: Plain, document: Plain) -> Sequence[Any]:
    kind = kind_of(selection, document)
    odds = document["probabilities"]
    return (
        text(str(document["position"])),
        text(f"{_SIGNS[kind]} {KIND_NAMES[kind]}", style=_STYLES[kind]),
        text("" if odds is None else f"{odds[document['stance']]:.2f}"),
        text(str(document["rank"])),
        text(short_reason(document)),
        text(one_line(clip(document["text"], _FIRST_WORDS))),
    )


def _facts(text: Any, selection: Plain) -> Any:
    table = require("rich.table", extra="cli").Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style=_FAINT)
    table.add_column()
    for name, sentence in facts(selection):
        table.add_row(text(name), text(sentence))
    return table
