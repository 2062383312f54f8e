"""Text laid out in terminal columns: widths, cutting, padding and wrapping."""

import unicodedata
from typing import Final

_WIDE: Final = frozenset("WF")
_NO_WIDTH: Final = frozenset({"Mn", "Me", "Cf"})


def columns(text: str) -> int:
    """How many columns a terminal gives to `text`: 2 for East Asian wide signs, 0 for accents.

    >>> columns("abc"), columns("核电")
    (3, 4)
    """
    return sum(map(_columns_of, text))


def cut(text: str, width: int) -> str:
    """`text` in at most `width` columns; where something is cut off it ends in an ellipsis.

    >>> cut("retrieval", 6)
    'retri…'
    """
    if columns(text) <= width:
        return text
    return _head(text, width - 1).rstrip() + "…"


def pad(text: str, width: int) -> str:
    """`text` with spaces behind it to `width` columns."""
    return text + " " * (width - columns(text))


def wrap(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` columns, broken at spaces, or hard where a word is long.

    >>> wrap("one two three", 7)
    ['one two', 'three']
    """
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if columns(joined) <= width:
            lines[-1] = joined
            continue
        rest = word
        if lines[-1]:
            lines.append("")
        while columns(rest) > width:
            # One sign at least, so that a sign wider than the line cannot keep this going.
            head = _head(rest, width) or rest[0]
            lines[-1], rest = head, rest[len(head) :]
            lines.append("")
        lines[-1] = rest
    return lines


def _head(text: str, width: int) -> str:
    """The longest beginning of `text` that fits in `width` columns."""
    used = 0
    for at, sign in enumerate(text):
        used += _columns_of(sign)
        if used > width:
            return text[:at]
    return text


def _columns_of(sign: str) -> int:
    if sign.isascii():
        return 1
    if unicodedata.category(sign) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(sign) in _WIDE else 1
