"""Text as a detector reads it: cleaned of what nobody sees, the question in its positive form.

A pair model that reads "Should X not be legal?" often answers as if "not" were not there. So the
negation is taken out by rule, the positive question is labelled, and pro and con change places:
the two forms agree by construction, whatever the model (see `negation`). It also takes a text that
repeats the question for one that agrees; so such sentences are left out (see `echo`).

Source: ours.
"""

import re
import unicodedata

from equipoise.errors import InputError
from equipoise.stance.echo import ECHO_VERSION, without_echo
from equipoise.stance.negation import NEGATION_VERSION, without_negation

READING = f"negation=v{NEGATION_VERSION};echo=v{ECHO_VERSION}"
"""The rules of reading, as they stand in a detector's name: cached labels are for one reading."""

_UNSEEN = re.compile(
    "[\x00\xad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
    "\ud800-\udfff]"
)
"""NUL, lone surrogates, and format characters without width. Left in: the Arabic, Syriac and
Kaithi number signs, Egyptian hieroglyph and shorthand controls (category Cf, but they are drawn
or place what is drawn)."""

# ZWNJ and ZWJ shape letters of scripts from Hebrew on and emoji; between others they are noise.
_JOINED = "[\u0590-\u1dff\u2190-\U0010ffff]"
_JOINERS = re.compile(f"(?<!{_JOINED})[\u200c\u200d]|[\u200c\u200d](?!{_JOINED})")


def clean_text(text: str) -> str:
    r"""`text` without NUL, lone surrogates and zero-width characters; white space is kept.

    Joiners stay between letters of scripts that need them and inside emoji. Cost O(n).

    >>> clean_text("nu\u200bclear\ud800 po\u00adwer")
    'nuclear power'
    """
    if text.isascii():
        return text.replace("\x00", "")
    return _JOINERS.sub("", _UNSEEN.sub("", text))


def text_to_read(question: str, text: str) -> str:
    """`text` cleaned, without sentences that only ask `question` again (see `echo`).

    >>> text_to_read("Should X be legal?", "Should X be legal? No.")
    'No.'
    """
    return without_echo(question, clean_text(text))


def is_blank(text: str) -> bool:
    r"""True when `text` shows nothing: only white space and what `clean_text` takes out.

    >>> is_blank(" \u200b\n"), is_blank("no")
    (True, False)
    """
    return not clean_text(text).strip()


def clean_question(text: str) -> str:
    r"""`text` cleaned, in Unicode form NFKC, each run of white space as one space, trimmed.

    >>> clean_question("  Should\tX be\u200b \uff4cegal ? ")
    'Should X be legal ?'
    """
    # Twice: NFKC never adds a format character today, but nothing promises it for tomorrow.
    return " ".join(clean_text(unicodedata.normalize("NFKC", clean_text(text))).split())


def canonical_question(text: str) -> tuple[str, bool]:
    """(the question in its positive form, whether a negation was taken out).

    Only plain negation is taken out: one "not" that belongs to the main verb of one clause. Where
    the reading is open ("Shouldn't X be legal?" expects yes; "not only"; "or not?") the question
    is left as it is, which is always safe: the model then reads the negation itself.

    Raises:
        InputError: `text` is not a str or shows nothing.

    >>> canonical_question("Should X not be legal?")
    ('Should X be legal?', True)
    >>> canonical_question("Shouldn't X be legal?")
    ("Shouldn't X be legal?", False)
    """
    if not isinstance(text, str):
        raise InputError(f"a question must be a str, got {type(text).__name__}")
    question = clean_question(text)
    if not question:
        raise InputError(f"a question must have text to read, got {text[:40]!r}")
    positive = without_negation(question)
    return (question, False) if positive is None else (positive, True)
