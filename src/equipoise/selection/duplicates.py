"""Copies: documents that say the same thing in the same words take one seat together."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from equipoise.errors import InputError

SHINGLE_WORDS = 3
MIN_WORDS_NEAR = 10
_NEGATIONS = frozenset(
    (
        "not",
        "no",
        "never",
        "none",
        "nor",
        "cannot",
        "without",
        "neither",
        "nobody",
        "nothing",
        "hardly",
    )
)
_WORD = re.compile(r"[^\W_]+(?:['\N{RIGHT SINGLE QUOTATION MARK}][^\W_]+)?")


@dataclass(frozen=True, slots=True)
class Duplicates:
    """How copies are found.

    Exact copies (equal after Unicode NFKC, case folding, removal of invisible characters and
    folding of white space) are always merged. Near-copies are merged when the Jaccard similarity
    of their sets of three-word shingles is at least `near`, a number in (0, 1], or never for None.

    Raises:
        InputError: `near` is not in (0, 1].
    """

    near: float | None = 0.8

    def __post_init__(self) -> None:
        if self.near is not None and not 0.0 < self.near <= 1.0:
            raise InputError(f"Duplicates.near must lie in (0, 1] or be None, got {self.near!r}")


@dataclass(frozen=True, slots=True)
class Copy:
    """The text at `index` repeats the earlier one at `of`; `similarity` in (0, 1], 1 for exact."""

    index: int
    of: int
    kind: Literal["exact", "near"]
    similarity: float


def fold(text: str) -> str:
    r"""The text with NFKC, case, invisible characters and white space folded away.

    >>> fold("Ｆｕｌｌ  width\u200b\n TEXT")
    'full width text'
    """
    shown = "".join(
        c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf"
    )
    return " ".join(shown.casefold().split())


def find_copies(texts: Sequence[str], duplicates: Duplicates) -> list[Copy]:
    """Every text that copies an earlier one, in order; blank texts copy nothing.

    A text is compared with the texts kept so far, never with copies, so copies do not chain from
    one text to an unlike one. Two near-copies that differ in a negation ("should" / "should not")
    are kept apart, as they may say opposite things; so are texts under 10 words.

    Cost: O(words) for exact copies; for near ones also the shingles that texts share.
    Source: ours; shingles after Broder 1997.
    """
    first: dict[str, int] = {}
    near = _NearIndex()
    copies: list[Copy] = []
    for index, text in enumerate(texts):
        key = fold(text)
        if not key:
            continue
        if key in first:
            copies.append(Copy(index, first[key], "exact", 1.0))
            continue
        first[key] = index
        if duplicates.near is not None:
            found = near.match(key, duplicates.near)
            if found is not None:
                copies.append(Copy(index, found[0], "near", round(found[1], 4)))
                # Subtle: an exact copy of this text must name the text that was kept.
                first[key] = found[0]
            else:
                near.add(index, key)
    return copies


class _NearIndex:
    """Kept texts by shingle."""

    def __init__(self) -> None:
        self._holders: dict[tuple[str, ...], list[int]] = {}
        self._sizes: dict[int, int] = {}
        self._negations: dict[int, Counter[str]] = {}

    def add(self, index: int, key: str) -> None:
        words = _WORD.findall(key)
        if len(words) < MIN_WORDS_NEAR:
            return
        shingles = _shingles(words)
        for shingle in shingles:
            self._holders.setdefault(shingle, []).append(index)
        self._sizes[index] = len(shingles)
        self._negations[index] = _negations(words)

    def match(self, key: str, threshold: float) -> tuple[int, float] | None:
        words = _WORD.findall(key)
        if len(words) < MIN_WORDS_NEAR:
            return None
        shingles = _shingles(words)
        shared = Counter(i for shingle in shingles for i in self._holders.get(shingle, ()))
        negations = _negations(words)
        best: tuple[int, float] | None = None
        for index, count in sorted(shared.items()):
            similarity = count / (len(shingles) + self._sizes[index] - count)
            if similarity >= threshold and negations == self._negations[index]:
                best = best if best and best[1] >= similarity else (index, similarity)
        return best


def _shingles(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[i : i + SHINGLE_WORDS]) for i in range(len(words) - SHINGLE_WORDS + 1)}


def _negations(words: list[str]) -> Counter[str]:
    return Counter(
        "not" if w.endswith(("n't", "n\N{RIGHT SINGLE QUOTATION MARK}t")) else w
        for w in words
        if w in _NEGATIONS or w.endswith(("n't", "n\N{RIGHT SINGLE QUOTATION MARK}t"))
    )
