"""Copies: documents that say the same thing in the same words take one seat together."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from equipoise.errors import InputError
from equipoise.selection.unsure import is_unsure
from equipoise.types import StanceScore, is_number

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
    of their sets of three-word shingles is at least `near`, a number in (0, 1], and their stance is
    the same; never for None.

    Raises:
        InputError: `near` is not in (0, 1].
    """

    near: float | None = 0.8

    def __post_init__(self) -> None:
        if self.near is not None and not (is_number(self.near) and 0.0 < self.near <= 1.0):
            raise InputError(f"Duplicates.near must lie in (0, 1] or be None, got {self.near!r}")


@dataclass(frozen=True, slots=True)
class Copies:
    """What repeats what, by index.

    `exact` maps a text to the first one it equals. `near` maps a text to the earlier texts it
    nearly repeats, with the similarity in (0, 1]; whether it is to be merged with one of them
    depends on their stances (see `Merging`).
    """

    exact: Mapping[int, int] = field(default_factory=dict)
    near: Mapping[int, Mapping[int, float]] = field(default_factory=dict)


def fold(text: str) -> str:
    r"""The text with NFKC, case, invisible characters and white space folded away.

    >>> fold("Ｆｕｌｌ  width\u200b\n TEXT")
    'full width text'
    """
    shown = "".join(
        c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf"
    )
    return " ".join(shown.casefold().split())


def find_copies(texts: Sequence[str], duplicates: Duplicates, *, depth: int = 50) -> Copies:
    """Every text that copies an earlier one; blank texts copy nothing.

    Near-copies are looked for among the first `depth` texts only. Texts under 10 words are never
    near-copies, nor are two that differ in a negation.

    Cost: O(words) for exact copies; for near ones also the shingles that texts share.
    Source: ours; shingles after Broder 1997.
    """
    first: dict[str, int] = {}
    exact: dict[int, int] = {}
    near: dict[int, Mapping[int, float]] = {}
    index_of_shingles = _NearIndex()
    for index, text in enumerate(texts):
        key = fold(text)
        if not key:
            continue
        if key in first:
            exact[index] = first[key]
            continue
        first[key] = index
        if duplicates.near is not None and index < depth:
            found = index_of_shingles.matches(key, duplicates.near)
            if found:
                near[index] = found
            index_of_shingles.add(index, key)
    return Copies(exact, near)


class Merging(Set[int]):
    """The indices that take no seat: `fixed` ones, and near-copies of the same stance.

    A near-copy is merged only with an earlier text that has a seat of its own and the same label:
    one changed word can turn a text round, and nobody may silence a side by planting its near-copy
    on the other. Nor by planting one whose label is unsure (under `unsure_below`, in [0, 1)): a
    sure text is merged only with a sure one. The labels are read when an index is asked for, so a
    lazy pass stays lazy.
    """

    def __init__(
        self,
        fixed: Set[int],
        near: Mapping[int, Mapping[int, float]],
        scores: Sequence[StanceScore],
        *,
        unsure_below: float = 0.0,
    ) -> None:
        self._fixed = fixed
        self._near = near
        self._scores = scores
        self._unsure_below = unsure_below
        self.merged: dict[int, int] = {}

    def __contains__(self, index: object) -> bool:
        if index in self._fixed:
            return True
        if not isinstance(index, int) or index not in self._near:
            return False
        if index not in self.merged:
            for earlier in sorted(self._near[index]):
                if earlier not in self and self._stands_for(earlier, index):
                    self.merged[index] = earlier
                    break
        return index in self.merged

    def _stands_for(self, earlier: int, index: int) -> bool:
        """True when `earlier` has the label of `index`, and is sure where that one is."""
        kept, copy = self._scores[earlier], self._scores[index]
        below = self._unsure_below
        return kept.label is copy.label and (is_unsure(copy, below) or not is_unsure(kept, below))

    def __iter__(self) -> Iterator[int]:
        return (index for index in sorted(self._fixed | self._near.keys()) if index in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _NearIndex:
    """Texts by shingle."""

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

    def matches(self, key: str, threshold: float) -> dict[int, float]:
        """Earlier texts that are as similar as `threshold`, with the similarity."""
        words = _WORD.findall(key)
        if len(words) < MIN_WORDS_NEAR:
            return {}
        shingles = _shingles(words)
        shared = Counter(i for shingle in shingles for i in self._holders.get(shingle, ()))
        negations = _negations(words)
        found: dict[int, float] = {}
        for index, count in sorted(shared.items()):
            similarity = count / (len(shingles) + self._sizes[index] - count)
            if similarity >= threshold and negations == self._negations[index]:
                found[index] = round(similarity, 4)
        return found


def _shingles(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[i : i + SHINGLE_WORDS]) for i in range(len(words) - SHINGLE_WORDS + 1)}


def _negations(words: list[str]) -> Counter[str]:
    return Counter(
        "not" if w.endswith(("n't", "n\N{RIGHT SINGLE QUOTATION MARK}t")) else w
        for w in words
        if w in _NEGATIONS or w.endswith(("n't", "n\N{RIGHT SINGLE QUOTATION MARK}t"))
    )
