"""Text from anywhere made safe to show: always encodable as UTF-8, no control codes, clipped."""

import re
from typing import Final

_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# Embeddings, overrides and isolates: harmless inside an isolated element, not in a terminal line.
_DIRECTION_MARKS: Final = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")


def clean(value: object) -> str:
    r"""`value` as text that any UTF-8 page or terminal can hold, line breaks and tabs kept.

    Control codes become their visible pictures (NUL becomes U+2400), so that a reader sees that
    something was there; lone surrogates and C1 codes become U+FFFD.

    >>> clean("a\x1b[31m")
    'a␛[31m'
    """
    text = str(value).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub(_picture, text)


def one_line(value: object) -> str:
    r"""`value` cleaned, on one line, without marks that turn the writing direction.

    >>> one_line(" two\n lines ")
    'two lines'
    """
    return " ".join(_DIRECTION_MARKS.sub("", clean(value)).split())


def clip(text: str, limit: int) -> str:
    """`text` cut to at most `limit` characters, at a space where one is near, with an ellipsis.

    >>> clip("one two three", 9)
    'one two…'
    """
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    space = head.rfind(" ")
    # A space in the last third is near enough; otherwise (no spaces: Chinese, a URL) cut hard.
    return (head[:space] if space > limit * 2 // 3 else head).rstrip(" ,;:") + "…"


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"
