"""A text as a detector reads it: without sentences that only ask the question again.

A page often opens with the question it is about, and a planted document repeats it to rank high.
A pair model takes that for agreement: with the question in front, the bundled detector called
three in four opposing passages pro (docs/log.md). A restated question takes no side, so it is
not read.

Source: ours.
"""

import re

ECHO_VERSION = 1
"""Part of every local detector's name: cached labels are for one reading."""

_END = r"[.?!]+[\"'\u201d\u2019)\]]*(?=\s|$)"
_SENTENCES = re.compile(rf"(?:(?!{_END})[^\n])+(?:{_END}|\n|$)\s*")
_WORDS = re.compile(r"[^\W_]+")
_ASKS = frozenset(
    _WORDS.findall(
        "should shall will would can could may might must is are was were am be been being do does "
        "did has have had ought need"
    )
)
_EMPTY = _ASKS | frozenset(
    _WORDS.findall(
        "a an the of to in on for by at as with from and or not no it its this that these those "
        "there we you i he she they us our your their them his her who whom whose which what why "
        "how when where if than then so such any all more most very just about into over under"
    )
)
_STEM = 5
_LEAST = 0.5


def without_echo(question: str, text: str) -> str:
    """`text` less the sentences that ask the question again; unchanged where nothing would be left.

    Such a sentence is the question word for word; or a yes/no question (also after a colon, and
    without "?" as headlines have it) that shares half of the content words, by their first five
    letters, of the shorter of the two, and at least two where the question has two. Where it opens
    or closes the text and ends in "?", one shared word is enough: there, the question stands in
    other words. All else is read: it may take a side.

    Cost O(length of the text).

    >>> without_echo("Should zoos be banned?", "Should zoos be banned? They teach. Why ban them?")
    'They teach. Why ban them?'
    >>> without_echo("Should zoos be banned?", "Should zoos be banned?")
    'Should zoos be banned?'
    """
    parts = _SENTENCES.findall(text)
    kept = [part for part in parts if not _echoes(part, question, least=_LEAST)]
    # Subtle: until none is left at an edge, so that a text reads the same with one put in front.
    while kept and _asks_about(kept[0], question):
        kept.pop(0)
    while kept and _asks_about(kept[-1], question):
        kept.pop()
    if len(kept) == len(parts):
        return text
    return "".join(kept).strip() or text


def _asks_about(sentence: str, question: str) -> bool:
    return "?" in sentence and _echoes(sentence, question, least=0.0)


def _echoes(sentence: str, question: str, *, least: float) -> bool:
    """Whether the sentence asks the question; `least` is the share of content words in common.

    With 0 any one word is enough.
    """
    words = _words(sentence.rpartition(":")[2])
    if "?" in sentence and words and words == _words(question):
        return True  # word for word, in any language
    if not words or words[0] not in _ASKS:
        return False
    said, asked = _content(words), _content(_words(question))
    shared = len(said & asked)
    needed = max(min(2, len(asked)), least * min(len(said), len(asked))) if least else 1
    return shared > 0 and shared >= needed


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())


def _content(words: list[str]) -> frozenset[str]:
    """The stems of the words that mean something."""
    return frozenset(word[:_STEM] for word in words if word not in _EMPTY)
