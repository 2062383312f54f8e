"""How much of one text stands in another: word for word, whatever case and punctuation."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

GRAM_WORDS = 5
NEAR = 0.8
"""Two texts that share more of their five-word runs than this are near-copies."""

_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    """The words of a text after NFKC and case folding, without punctuation.

    >>> words("The U.S. — “state-run”!")
    ['the', 'u', 's', 'state', 'run']
    """
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def plain(text: str) -> str:
    """All words with a space around each: "in" between two such texts keeps to whole words."""
    return " " + " ".join(words(text)) + " "


def grams(text: str) -> frozenset[tuple[str, ...]]:
    """The runs of five words; a shorter text is one run, a text without words has none."""
    found = words(text)
    if not found:
        return frozenset()
    last = max(1, len(found) - GRAM_WORDS + 1)
    return frozenset(tuple(found[i : i + GRAM_WORDS]) for i in range(last))


def share(one: str, other: str) -> float:
    """Shared five-word runs over those of the text that has fewer, in [0, 1].

    A passage that lies whole within a longer one has share 1: it says nothing that the longer one
    does not. 0 where a text has no words.

    >>> share("a b c d e f", "x a b c d e")
    0.5
    """
    first, second = grams(one), grams(other)
    return len(first & second) / min(len(first), len(second)) if first and second else 0.0


class Overlaps:
    """Texts by the runs they hold, to find what a further text shares with them.

    Cost: O(words) to add a text; O(words + texts that share a run) to ask.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._holders: dict[tuple[str, ...], list[int]] = {}
        self._sizes: list[int] = []
        for text in texts:
            self.add(text)

    def add(self, text: str) -> int:
        """Take the text in; its index, counted from 0."""
        index = len(self._sizes)
        found = grams(text)
        for gram in found:
            self._holders.setdefault(gram, []).append(index)
        self._sizes.append(len(found))
        return index

    def near(self, text: str, *, above: float = NEAR) -> list[int]:
        """Indices of the texts whose `share` with this one is above `above`, ascending."""
        found = grams(text)
        shared = Counter(index for gram in found for index in self._holders.get(gram, ()))
        return sorted(
            index
            for index, count in shared.items()
            if count / min(len(found), self._sizes[index]) > above
        )


def near_pairs(texts: Sequence[str], *, above: float = NEAR) -> Iterator[tuple[int, int]]:
    """Every pair (earlier, later) of indices whose `share` is above `above`."""
    known = Overlaps()
    for later, text in enumerate(texts):
        for earlier in known.near(text, above=above):
            yield earlier, later
        known.add(text)


class Spoken:
    """Texts put end to end, to ask whether a sentence stands in any of them.

    Cost: O(characters of all texts) a question.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        # A line break between texts: words hold none, so no sentence matches across two texts.
        self._whole = "\n".join(plain(text) for text in texts)

    def holds(self, sentence: str) -> bool:
        """True when a text has the sentence's words in a row; False for one without words."""
        found = plain(sentence)
        return bool(found.strip()) and found in self._whole
