"""Sections as one page of HTML that needs nothing else: styles and pictures are in it."""

import re
from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import Final

from equipoise.lab.report.blocks import (
    Block,
    Cell,
    Number,
    Picture,
    Points,
    Section,
    Table,
    Text,
    shown,
)
from equipoise.lab.stats import Estimate

CODE: Final = re.compile(r"`([^`]+)`")
SHORT: Final = 40
"""Characters of a cell that is not broken into lines."""


def page(title: str, sections: Sequence[Section], *, said: str = "") -> str:
    """The whole page: title, contents, sections; light and dark, wide and narrow.

    Every text is escaped: names come from files of others. Pictures are SVG of our own drawing.
    """
    style = resources.files("equipoise.lab.report").joinpath("page.css").read_text("utf-8")
    contents = "".join(
        f'<li><a href="#{escape(one.name)}">{escape(one.title)}</a></li>' for one in sections
    )
    body = "".join(_section(one) for one in sections)
    text = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body>"
        f"<header><h1>{escape(title)}</h1>{f'<p>{_inline(said)}</p>' if said else ''}</header>"
        f'<nav aria-label="Contents"><ul>{contents}</ul></nav><main>{body}</main></body></html>\n'
    )
    return text.encode("utf-8", "replace").decode("utf-8")


def _section(section: Section) -> str:
    inside = "".join(_block(block) for block in section.blocks)
    name = escape(section.name)
    return f'<section id="{name}"><h2>{escape(section.title)}</h2>{inside}</section>\n'


def _block(block: Block) -> str:
    match block:
        case Text(text):
            return f"<p>{_inline(text)}</p>"
        case Points(items):
            return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>"
        case Table():
            return _table(block)
        case Picture():
            caption = escape(block.caption)
            return (
                f'<figure><div class="picture" role="img" aria-label="{caption}">{block.svg}</div>'
                f"<figcaption>{caption}</figcaption></figure>"
            )


def _table(table: Table) -> str:
    """A table in a box that scrolls by itself, so that the page does not."""
    title = escape(table.title)
    if not table.rows:
        return f"<h3>{title}</h3><p>{_inline(table.note)}</p>"
    head = "".join(f'<th scope="col">{_inline(name)}</th>' for name in table.head)
    rows = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in table.rows)
    note = f'<p class="note">{_inline(table.note)}</p>' if table.note else ""
    return (
        f'<h3>{title}</h3><div class="scroll" tabindex="0" role="region" aria-label="{title}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{note}"
    )


def _cell(cell: Cell) -> str:
    if isinstance(cell, Estimate) and cell.value is not None and cell.low is not None:
        interval = f"[{cell.low:+.3f}, {cell.high:+.3f}]"
        return (
            f'<td class="n"><b>{cell.value:+.3f}</b> <span>{escape(interval)}</span> '
            f"<small>{cell.n}</small></td>"
        )
    text = shown(cell)
    # Numbers and short texts stay on one line: the box scrolls.
    whole = isinstance(cell, int | Number | Estimate) or len(text) <= SHORT
    return f"<td{' class=n' if whole else ''}>{_inline(text)}</td>"


def _inline(text: str) -> str:
    """Escaped, with `code` as code."""
    return CODE.sub(r"<code>\1</code>", escape(text))
