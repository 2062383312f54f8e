"""ROUGE-L: how much of two texts runs in the same order."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from equipoise.lab.defences._vectors import Matrix

_WORD = re.compile(r"[^\W_]+")


def overlaps(texts: Sequence[str]) -> Matrix:
    """The ROUGE-L F-measure of any two texts, shape (n, n), in [0, 1], symmetric.

    It is 2 * common / (words of one + words of the other), where common is the length of their
    longest common subsequence of words; 0 where either has no word. Words are runs of letters and
    digits, case folded, unstemmed.

    Cost: O(words^2 / 64) over all texts together: one text is run against all before it at once,
    with one bit for each of their words.

    Source: Lin 2004 for the measure; the subsequence in bits after Hyyro 2004.

    >>> overlaps(["the cat sat", "The cat, it sat!", ""]).round(3).tolist()
    [[1.0, 0.857, 0.0], [0.857, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    words = [_WORD.findall(text.casefold()) for text in texts]
    sizes = np.asarray([len(one) for one in words], dtype=np.float64)
    common = np.zeros((len(words), len(words)))
    for at, lengths in enumerate(_common(words)):
        common[at, : at + 1] = common[: at + 1, at] = lengths
    both = sizes[:, None] + sizes[None, :]
    return np.asarray(2.0 * common / np.where(both > 0.0, both, 1.0))


def _common(words: Sequence[Sequence[str]]) -> Iterator[list[int]]:
    """For each text the length of its longest common subsequence with each up to itself."""
    places: dict[str, int] = {}
    starts: list[int] = []
    mask = bit = 0
    for one in words:
        starts.append(bit)
        for word in one:
            places[word] = places.get(word, 0) | (1 << bit)
            mask |= 1 << bit
            bit += 1
        # Subtle: a bit of its own between texts takes the carry, so that none reaches the next.
        bit += 1
        row = mask
        for word in one:
            met = row & places[word]
            row = ((row + met) | (row - met)) & mask
        used = mask & ~row
        blocks = zip(starts, words, strict=False)
        yield [(used >> start & ((1 << len(other)) - 1)).bit_count() for start, other in blocks]
