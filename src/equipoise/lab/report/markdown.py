"""Sections as one Markdown document."""

from collections.abc import Sequence

from equipoise.lab import cells
from equipoise.lab.report.blocks import Block, Picture, Points, Section, Table, Text, shown


def markdown(title: str, sections: Sequence[Section]) -> str:
    """A document with a title, a heading a section, and its blocks; pictures as captions."""
    parts = [f"# {_safe(title)}"]
    for section in sections:
        parts.append(f"## {_safe(section.title)}")
        parts += [block_markdown(block) for block in section.blocks]
    return "\n\n".join(part for part in parts if part) + "\n"


def section_markdown(section: Section) -> str:
    """One section alone, its title as the document's."""
    return "\n\n".join([f"# {_safe(section.title)}", *map(block_markdown, section.blocks)]) + "\n"


def block_markdown(block: Block) -> str:
    """One block."""
    match block:
        case Text(text):
            return _safe(text)
        case Points(items):
            return "\n".join(f"- {_safe(item)}" for item in items)
        case Table():
            rows = [[_safe(shown(cell)) for cell in row] for row in block.rows]
            body = cells.table([_safe(name) for name in block.head], rows)
            parts = [f"**{_safe(block.title)}**", body if rows else "", _safe(block.note)]
            return "\n\n".join(part for part in parts if part)
        case Picture():
            return f"*Figure: {_safe(block.caption)}*"


def _safe(text: str) -> str:
    """The text on one line, and no HTML in it: names come from other people's files."""
    return " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
