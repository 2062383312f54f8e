"""Rows as token ids, and token ids as batches of like length."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from equipoise.stance.pairs import PairTokenizer, padded
from equipoise.stance.windows import window_size
from equipoise.train.data import LABELS, Row

if TYPE_CHECKING:
    from equipoise.stance.pairs import Batch, Pair

Target = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Example:
    """One pair and what its outputs should be: probabilities in the order of `LABELS`."""

    pair: "Pair"
    target: Target
    weight: float = 1.0


def one_hot(stance: str, *, smoothing: float) -> Target:
    """The label as probabilities, `smoothing` of it spread over all three.

    >>> one_hot("pro", smoothing=0.03)
    (0.01, 0.01, 0.98)
    """
    low = smoothing / len(LABELS)
    values = [round(low + (1 - smoothing) * (label == stance), 9) for label in LABELS]
    return (values[0], values[1], values[2])


def mixed(first: Target, second: Target, share: float) -> Target:
    """`share` of the second and the rest of the first."""
    values = [(1 - share) * a + share * b for a, b in zip(first, second, strict=True)]
    return (values[0], values[1], values[2])


def encode(
    rows: Sequence[Row],
    targets: Sequence[Target],
    pairs: PairTokenizer,
    *,
    max_length: int,
    weights: Mapping[str, float] | None = None,
) -> list[Example]:
    """Examples of `rows`, in order, passages cut at the end so that a pair has `max_length` tokens.

    Raises:
        InputError: a question leaves too little room for a passage.
    """
    made = []
    for row, target in zip(rows, targets, strict=True):
        asked = pairs.ids(row.question)
        size = window_size(len(asked), specials=pairs.specials, max_length=max_length)
        pair = pairs.pair(asked, pairs.ids(row.text)[:size])
        made.append(Example(pair, target, weights[row.stance] if weights else 1.0))
    return made


def inverse_frequency(rows: Sequence[Row]) -> dict[str, float]:
    """For each stance n / (3 * its rows): a class of a third of the rows weighs 1."""
    counts = {label: sum(row.stance == label for row in rows) for label in LABELS}
    return {label: len(rows) / (len(LABELS) * max(1, count)) for label, count in counts.items()}


def batches(
    examples: Sequence[Example],
    *,
    rows: int | None,
    tokens: int,
    rng: random.Random,
) -> list[list[Example]]:
    """Batches of like length in random order.

    Args:
        examples: what to deal out; each lands in exactly one batch.
        rows: examples of a batch, or None to fill batches by tokens.
        tokens: padded tokens of a batch, where `rows` is None; a longer example is alone.
        rng: where the order comes from.
    """
    # The noise keeps the members of a batch changing from epoch to epoch.
    order = sorted(examples, key=lambda example: len(example.pair.ids) + rng.uniform(0, 8))
    made: list[list[Example]] = [[]]
    longest = 0
    for example in order:
        longest = max(longest, len(example.pair.ids))
        full = len(made[-1]) >= rows if rows else longest * (len(made[-1]) + 1) > tokens
        if made[-1] and full:
            made.append([])
            longest = len(example.pair.ids)
        made[-1].append(example)
    rng.shuffle(made)
    return [batch for batch in made if batch]


def collate(
    batch: Sequence[Example], *, pad_id: int
) -> "tuple[Batch, npt.NDArray[np.float32], npt.NDArray[np.float32]]":
    """(padded inputs, targets of shape (n, 3), weights of shape (n,))."""
    return (
        padded([example.pair for example in batch], pad_id=pad_id),
        np.asarray([example.target for example in batch], dtype=np.float32),
        np.asarray([example.weight for example in batch], dtype=np.float32),
    )
