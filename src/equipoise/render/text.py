"""The picture of a selection for a terminal, readable without colour.

The verdict, a strip with one sign for each candidate in rank order and the places of the chosen
ones under it, the chosen documents in a table, and what fell short. Standard library only, for
`str(selection)` must work wherever a selection can be made.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from equipoise.errors import InputError
from equipoise.render.cleaning import clip, one_line
from equipoise.render.columns import columns, cut, pad, wrap
from equipoise.render.facts import facts
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
from equipoise.render.words import KIND_NAMES, mix, short_reason, unsure_words, verdict

_SIGNS: Final = {
    "pro": "+",
    "con": "-",
    "neutral": "o",
    "unlabelled": ".",
    "duplicate": "=",
    "blank": "_",
    "filtered": "x",
}
# Codes of ANSI (ECMA-48); the colours of the 256 can be read on a black and on a white ground.
_BOLD: Final = "1"
_FAINT: Final = "38;5;244"
_WARNING: Final = "1;33"
_COLOURS: Final = {"pro": "38;5;33", "con": "38;5;166", "neutral": "38;5;246"}
_STRONG: Final = "1;7;"
_GROUP: Final = 10
_MARGIN: Final = 8
_GAP: Final = 3
_NARROWEST: Final = 40
_FIRST_WORDS: Final = 300
_LEAST_TEXT: Final = 16

Paint = Callable[[str, str], str]


def render_text(selection: Plain, *, width: int = 100, color: bool = False) -> str:
    """The picture as lines of at most `width` columns, each ending in a line break.

    `selection` is what `Selection.to_dict()` gives. With `color` it holds ANSI colours; without,
    not one escape code, whatever the documents hold.

    Raises:
        InputError: `selection` is not a mapping of the schema that this version draws, or `width`
            is under 40 columns.

    Source: ours.
    """
    check_schema(selection)
    if width < _NARROWEST:
        raise InputError(f"width must be at least {_NARROWEST} columns, got {width}")
    lines = _lines(selection, width, _paint if color else _plain)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _paint(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if text else ""


def _plain(text: str, code: str) -> str:
    return text


def _lines(selection: Plain, width: int, paint: Paint) -> Iterator[str]:
    question = one_line(selection["question"]) or "(no question)"
    yield from (paint(line, _BOLD) for line in wrap(question, width))
    yield ""
    yield from _verdict(selection, width, paint)
    yield ""
    if selection["documents"]:
        yield from _strip(selection, width, paint)
        yield ""
    if is_labelled(selection):
        yield from _bars(selection, width, paint)
        yield ""
    if chosen(selection):
        yield from _table(selection, width, paint)
        yield ""
    yield from _facts(selection, width, paint)


def _verdict(selection: Plain, width: int, paint: Paint) -> Iterator[str]:
    news = verdict(selection)
    code = _WARNING if news.tone == "warning" else _BOLD
    left = len(news.head) + 1
    for line in wrap(news.sentence, width):
        yield paint(line[:left], code) + line[left:]
        left = max(0, left - len(line) - 1)


def _strip(selection: Plain, width: int, paint: Paint) -> Iterator[str]:
    """Lines of ranks, signs and places in groups of ten, as many groups to a line as fit."""
    groups = max(1, (width - _MARGIN) // (_GROUP + 2))
    documents = selection["documents"]
    for start in range(0, len(documents), groups * _GROUP):
        yield from _strip_line(selection, documents[start : start + groups * _GROUP], paint)
    yield from (paint(line, _FAINT) for line in _legend(selection, width))


def _strip_line(selection: Plain, documents: Sequence[Plain], paint: Paint) -> Iterator[str]:
    """Three lines in step: the first rank of each group, the signs, the places in the prompt."""
    edges = _edges(selection)
    ranks, signs, places = (pad(name, _MARGIN) for name in ("rank", "found", "chosen"))
    for at, document in enumerate(documents):
        if at % _GROUP == 0:
            ranks = f"{pad(ranks, len(places))}{document['rank']}"
        kind = kind_of(selection, document)
        signs += paint(_SIGNS[kind], _STRONG * document["chosen"] + _COLOURS.get(kind, _FAINT))
        places += _place(document)
        edge = "|" if document["rank"] in edges else ""
        space = " " * ((at + 1) % _GROUP == 0)
        signs += paint(edge, _FAINT) + space
        places += " " * len(edge + space)
    yield paint(ranks, _FAINT)
    yield signs
    yield paint(places.rstrip(), _BOLD)


def _edges(selection: Plain) -> dict[int, str]:
    """The ranks after which the pool and the search end, where documents lie beyond them."""
    names = {"pool": "end of pool", "reach": "end of search"}
    return {part[-1]["rank"]: names[zone] for zone, part in zones(selection)[:-1]}


def _legend(selection: Plain, width: int) -> list[str]:
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
    return lines


def _place(document: Plain) -> str:
    """The place in the prompt as one character; from the tenth on a star."""
    if not document["chosen"]:
        return " "
    return str(document["position"]) if document["position"] < 10 else "*"


def _bars(selection: Plain, width: int, paint: Paint) -> Iterator[str]:
    """Before and after: a sign for each document, neutral in the middle, and the counts."""
    rows = (("before", selection["before"]), ("after", selection["composition"]))
    longest = max(sum(_taken(counts).values()) for _, counts in rows)
    room = width - _MARGIN - longest - _GAP
    for name, counts in rows:
        signs = "".join(
            paint(_SIGNS[kind] * number, _STRONG + _COLOURS.get(kind, _FAINT))
            for kind, number in _taken(counts).items()
        )
        if room >= max(len(mix(counts)) for _, counts in rows):
            gap = " " * (longest - sum(_taken(counts).values()) + _GAP)
            yield f"{pad(name, _MARGIN)}{signs}{gap}{mix(counts)}"
            continue
        first, *more = wrap(mix(counts), width - _MARGIN)
        yield pad(name, _MARGIN) + first
        yield from (" " * _MARGIN + line for line in more)
        if longest <= width - _MARGIN:
            yield " " * _MARGIN + signs


def _taken(counts: Plain) -> dict[str, int]:
    """How many of each kind, in the order of a bar."""
    return {kind: count(counts, kind) for kind in (*SIDES, "unlabelled")}


def _table(selection: Plain, width: int, paint: Paint) -> Iterator[str]:
    """The chosen documents; the texts take what room is left and are cut at its end."""
    taken = chosen(selection)
    rows = [("#", "stance", "p", "rank", "why"), *(_row(selection, one) for one in taken)]
    texts = ["text", *(one_line(clip(one["text"], _FIRST_WORDS)) for one in taken)]
    codes = [_BOLD, *(_COLOURS.get(kind_of(selection, one), _FAINT) for one in taken)]
    if width - sum(_widths(rows)) < _LEAST_TEXT:
        rows = [row[:-1] for row in rows]
    widths = _widths(rows)
    for row, text, code in zip(rows, texts, codes, strict=True):
        padded = [pad(cell, wide) for cell, wide in zip(row, widths, strict=True)]
        padded[1] = paint(padded[1], code)
        yield "".join([*padded, cut(text, width - sum(widths))])


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """Of each column the width, with the gap behind it."""
    return [max(map(columns, column)) + 2 for column in zip(*rows, strict=True)]


def _row(selection: Plain, document: Plain) -> tuple[str, ...]:
    kind, odds = kind_of(selection, document), document["probabilities"]
    why = [short_reason(document), unsure_words(document)]
    return (
        str(document["position"]),
        f"{_SIGNS[kind]} {KIND_NAMES[kind]}",
        "" if odds is None else f"{odds[document['stance']]:.2f}",
        str(document["rank"]),
        ", ".join(filter(None, why)),
    )


def _facts(selection: Plain, width: int, paint: Paint) -> Iterator[str]:
    rows = facts(selection)
    indent = max(columns(name) for name, _ in rows) + 2
    for name, sentence in rows:
        first, *more = wrap(sentence, width - indent)
        yield paint(pad(name, indent), _FAINT) + first
        yield from (" " * indent + line for line in more)
