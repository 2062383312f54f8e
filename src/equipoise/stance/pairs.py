"""Pairs of texts as token ids, put together by hand.

The tokenizer's own truncation and padding stay off: switching them at call time is what breaks a
tokenizer that threads share ("Already borrowed"), and truncation would cut the question. Where the
special tokens go is read once from the tokenizer's own pair template.

Source: ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.errors import DetectorError

Ids = npt.NDArray[np.int64]
_PIECE = 20_000


@dataclass(frozen=True, slots=True)
class Pair:
    """One input of a pair model: token ids and segment ids, both of shape (length,), int64."""

    ids: Ids
    types: Ids


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded inputs, int64 of shape (pairs, longest); `mask` has 1 for tokens, 0 for padding."""

    ids: Ids
    mask: Ids
    types: Ids


class PairTokenizer:
    """Turns texts into ids and two lists of ids into a `Pair`. Safe to share between threads.

    Args:
        tokenizer: a `tokenizers.Tokenizer` that nobody else uses; its truncation and padding are
            switched off here, once.

    Raises:
        DetectorError: its post-processor has no template for a pair.
    """

    def __init__(self, tokenizer: Any) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        unknown = getattr(tokenizer.model, "unk_token", None)
        self._unknown = tokenizer.token_to_id(unknown) if isinstance(unknown, str) else None
        probe = tokenizer.encode("a", "b")
        runs = [
            (bool(special), list(run))
            for special, run in groupby(
                range(len(probe.ids)), key=lambda at: probe.special_tokens_mask[at]
            )
        ]
        texts = [at for at, (special, _) in enumerate(runs) if not special]
        if len(texts) != 2:
            raise DetectorError(
                "tokenizer.json must have a post-processor that sets a pair apart by special "
                f"tokens; it made {probe.tokens} of the pair 'a', 'b'"
            )
        parts = [run for _, run in runs]
        between = (parts[: texts[0]], parts[texts[0] + 1 : texts[1]], parts[texts[1] + 1 :])
        self._specials = tuple(_take(probe, [i for run in runs for i in run]) for runs in between)
        self._segments = tuple(int(probe.type_ids[parts[at][0]]) for at in texts)

    @classmethod
    def from_file(cls, path: Path) -> "PairTokenizer":
        """The tokenizer of a `tokenizer.json`.

        Raises:
            DetectorError: the file cannot be read as one.
        """
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises plain Exception
            raise DetectorError(
                f"{path} must be a tokenizer.json that can be read: {error}"
            ) from error
        return cls(tokenizer)

    @property
    def specials(self) -> int:
        """How many special tokens a pair has."""
        return sum(len(part.ids) for part in self._specials)

    def ids(self, text: str) -> Ids:
        """The ids of `text` without special tokens, of shape (tokens,).

        A long text is read in pieces of 20,000 characters, cut at white space, so that memory
        grows with 8 bytes a token instead of some hundred.
        """
        encode = self._tokenizer.encode
        pieces = [encode(piece, add_special_tokens=False).ids for piece in _pieces(text)]
        return np.concatenate([np.asarray(piece, dtype=np.int64) for piece in pieces])

    def pieces(self, text: str) -> int:
        """How many tokens `text` has; one that the vocabulary lacks counts by its characters."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        known = zip(encoding.ids, encoding.offsets, strict=True)
        return sum(end - start if id_ == self._unknown else 1 for id_, (start, end) in known)

    def pair(self, first: Ids, second: Ids) -> Pair:
        """The two texts with the special tokens of the model around them."""
        before, between, after = self._specials
        types = [
            np.full(len(part), kind)
            for part, kind in zip((first, second), self._segments, strict=True)
        ]
        return Pair(
            np.concatenate([before.ids, first, between.ids, second, after.ids]),
            np.concatenate([before.types, types[0], between.types, types[1], after.types]),
        )


def _take(encoding: Any, positions: list[int]) -> Pair:
    return Pair(
        np.asarray([encoding.ids[at] for at in positions], dtype=np.int64),
        np.asarray([encoding.type_ids[at] for at in positions], dtype=np.int64),
    )


def _pieces(text: str) -> list[str]:
    """`text` in order, cut before white space where there is some in the last half of a piece."""
    pieces = []
    while len(text) > _PIECE:
        cut = next((at for at in range(_PIECE, _PIECE // 2, -1) if text[at].isspace()), _PIECE)
        pieces.append(text[:cut])
        text = text[cut:]
    return [*pieces, text]


def padded(pairs: Sequence[Pair], *, pad_id: int) -> Batch:
    """The pairs as one batch, padded to the longest."""
    longest = max(len(pair.ids) for pair in pairs)
    ids = np.full((len(pairs), longest), pad_id, dtype=np.int64)
    mask = np.zeros_like(ids)
    types = np.zeros_like(ids)
    for row, pair in enumerate(pairs):
        ids[row, : len(pair.ids)] = pair.ids
        mask[row, : len(pair.ids)] = 1
        types[row, : len(pair.ids)] = pair.types
    return Batch(ids, mask, types)


def by_length(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Indices in batches of like length, the longest first, each within `batch_tokens` when padded.

    A pair longer than `batch_tokens` is a batch of its own. Cost O(n log n).

    >>> by_length([5, 90, 6, 80], 180)
    [[1, 3], [2, 0]]
    """
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        # The first of a batch is its longest.
        if batches and lengths[batches[-1][0]] * (len(batches[-1]) + 1) <= batch_tokens:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches
