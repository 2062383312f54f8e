"""What tables and reports are made of, before anybody decides how it looks."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from equipoise.lab.stats import Estimate


@dataclass(frozen=True, slots=True)
class Number:
    """A number and how it is printed: `form` as of `format`, such as `+.3f`."""

    value: float
    form: str = ".3f"


Cell = str | int | Number | Estimate | None
"""What stands in a cell of a table. None is a dash: it could not be had."""


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph. `` `code` `` is set as code; nothing else is markup."""

    text: str


@dataclass(frozen=True, slots=True)
class Points:
    """A list of paragraphs."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a title of its own, and a note below."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG and what it shows, in words."""

    name: str
    svg: str
    caption: str


Block = Text | Points | Table | Picture


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its blocks; `name` is its address within a page."""

    name: str
    title: str
    blocks: tuple[Block, ...]


def shown(cell: Cell) -> str:
    """A cell in words: an estimate as `+0.373 [+0.260, +0.483] 209`, the last number is n.

    >>> shown(Estimate(0.5, 0.25, 0.75, 12, 3)), shown(Number(0.2, ".1%")), shown(None)
    ('+0.500 [+0.250, +0.750] 12', '20.0%', '-')
    """
    if cell is None or (isinstance(cell, Estimate) and cell.value is None):
        return "-"
    if isinstance(cell, Estimate):
        if cell.low is None or cell.high is None:
            return f"{cell.value:+.3f} [one topic] {cell.n}"
        return f"{cell.value:+.3f} [{cell.low:+.3f}, {cell.high:+.3f}] {cell.n}"
    return format(cell.value, cell.form) if isinstance(cell, Number) else str(cell)


def plain(block: Block) -> dict[str, Any]:
    """A block for machines: estimates as objects, numbers as numbers, pictures without SVG."""
    if isinstance(block, Table):
        rows = [[_plain(cell) for cell in row] for row in block.rows]
        return {"title": block.title, "head": list(block.head), "rows": rows, "note": block.note}
    if isinstance(block, Picture):
        return {"picture": block.name, "caption": block.caption}
    return asdict(block)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[Cell]], note: str = "") -> Table:
    """A table from lists."""
    return Table(title, tuple(head), tuple(tuple(row) for row in rows), note)


def _plain(cell: Cell) -> Any:
    if isinstance(cell, Estimate):
        return asdict(cell)
    return cell.value if isinstance(cell, Number) else cell
