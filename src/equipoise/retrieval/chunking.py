"""Cuts long texts at paragraph and sentence ends into passages of about one size."""

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from equipoise.errors import InputError
from equipoise.retrieval.base import CJK
from equipoise.types import Candidate

CHUNK_WORDS = 120

# Up to 24 characters count as one word, so that text without spaces is cut, too; in Chinese,
# Japanese and Korean writing two characters do.
_WORD = re.compile(rf"[{CJK}]{{1,2}}|[^\s{CJK}]{{1,24}}")
_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n\s*")
# Subtle: looking behind and the possessive ++ and *+ keep a long row of dots linear.
_SENTENCE_END = re.compile(
    r"(?<![.!?\u2026])[.!?\u2026]++[\"'\u201d\u2019\u00bb)\]]*+\s+|[\u3002\uff01\uff1f]+[\u300d\u300f\u201d]*\s*"
)


class Span(NamedTuple):
    """Characters `start` up to, not including, `end` of a text."""

    start: int
    end: int


class _Unit(NamedTuple):
    """A sentence, or a piece of a long one: the smallest thing that is never cut."""

    start: int
    end: int
    words: int
    ends_paragraph: bool


def count_words(text: str) -> int:
    """Words of `text` as the size of a chunk counts them.

    >>> count_words("Two words"), count_words("漢字かな"), count_words("x" * 48)
    (2, 2, 2)
    """
    return sum(1 for _ in _WORD.finditer(text))


def chunk_spans(text: str, *, max_words: int = CHUNK_WORDS) -> tuple[Span, ...]:
    """Spans of `text`, in order, apart, together covering all that is not white space.

    A text of up to 1.5 * `max_words` words is one span, and no span is longer than that. A longer
    text is cut where the sum over its chunks of ((words - max_words) / max_words) ** 2 is least,
    with 0.25 added for a cut inside a paragraph. Sentences are cut only when longer than
    `max_words`. Cost O(sentences * sentences in 1.5 * max_words words).

    Raises:
        InputError: max_words < 1.

    Source: ours.

    >>> [tuple(span) for span in chunk_spans("One two. Three four. Five six.", max_words=2)]
    [(0, 8), (9, 20), (21, 30)]
    """
    if isinstance(max_words, bool) or not isinstance(max_words, int) or max_words < 1:
        raise InputError(f"chunk words must be an int >= 1, got {max_words!r}")
    units = list(_units(text, max_words))
    if not units:
        return ()
    if sum(unit.words for unit in units) <= 1.5 * max_words:
        return (Span(units[0].start, units[-1].end),)
    bounds = _best_cuts(units, max_words)
    return tuple(Span(units[a].start, units[b - 1].end) for a, b in bounds)


def chunk_document(document: Candidate, *, max_words: int = CHUNK_WORDS) -> Iterator[Candidate]:
    """The document itself when it is short; else its chunks, with ids `<id>#<n>`, n from 1.

    A chunk has the document's metadata and `chunk_of` (the document's id), `chunk_number` (from
    1) and `chunk_span` ([start, end) in characters of the document); these three win over fields
    of the same names.

    Raises:
        InputError: max_words < 1.
    """
    spans = chunk_spans(document.text, max_words=max_words)
    if len(spans) < 2:
        yield document
        return
    for number, span in enumerate(spans, 1):
        place = {"chunk_of": document.id, "chunk_number": number, "chunk_span": list(span)}
        yield Candidate(
            f"{document.id}#{number}",
            document.text[span.start : span.end],
            metadata={**document.metadata, **place},
        )


def _units(text: str, max_words: int) -> Iterator[_Unit]:
    start = 0
    for paragraph_end in [*_PARAGRAPH_END.finditer(text), None]:
        stop = paragraph_end.start() if paragraph_end else len(text)
        sentences = list(_sentences(text, start, stop, max_words))
        yield from sentences[:-1]
        for last in sentences[-1:]:
            yield last._replace(ends_paragraph=True)
        start = paragraph_end.end() if paragraph_end else stop


def _sentences(text: str, start: int, stop: int, max_words: int) -> Iterator[_Unit]:
    ends = [match.end() for match in _SENTENCE_END.finditer(text, start, stop)]
    for end in [*ends, stop]:
        words = list(_WORD.finditer(text, start, end))
        for first in range(0, len(words), max_words):
            piece = words[first : first + max_words]
            yield _Unit(piece[0].start(), piece[-1].end(), len(piece), False)
        start = end


def _best_cuts(units: list[_Unit], max_words: int) -> list[tuple[int, int]]:
    """Half-open index ranges of the chunks of least total cost, by dynamic programming."""
    before = [0, *accumulate(unit.words for unit in units)]
    cost = [0.0]
    cut_from = [0]
    for end in range(1, len(units) + 1):
        penalty = 0.0 if units[end - 1].ends_paragraph else 0.25
        best, best_start = float("inf"), end - 1
        for start in range(end - 1, -1, -1):
            words = before[end] - before[start]
            if words > 1.5 * max_words:
                break
            total = cost[start] + ((words - max_words) / max_words) ** 2 + penalty
            if total < best:
                best, best_start = total, start
        cost.append(best)
        cut_from.append(best_start)
    bounds = []
    end = len(units)
    while end:
        bounds.append((cut_from[end], end))
        end = cut_from[end]
    return bounds[::-1]
