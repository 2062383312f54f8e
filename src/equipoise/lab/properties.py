"""What the documents of a pack measure: words, and how near they lie to one another."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from equipoise.errors import InputError
from equipoise.lab.pack import Document, Origin, Pack
from equipoise.lab.poison.planted import Poisoned
from equipoise.types import Stance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEAR = 0.95
"""A cosine above it makes two documents near-duplicates. Source: SP table 14."""

GROUPS: Mapping[str, Callable[[Document], bool]] = {
    "genuine pro": lambda d: d.origin is Origin.GENUINE and d.stance is Stance.PRO,
    "genuine con": lambda d: d.origin is Origin.GENUINE and d.stance is Stance.CON,
    "injected pro": lambda d: d.origin is Origin.INJECTED and d.stance is Stance.PRO,
    "injected con": lambda d: d.origin is Origin.INJECTED and d.stance is Stance.CON,
    "neutral": lambda d: d.origin is Origin.NEUTRAL,
    "genuine": lambda d: d.origin is Origin.GENUINE,
    "injected": lambda d: d.origin is Origin.INJECTED,
}
"""The rows of the table. The last two are those of SP table 14: both sides together."""


@dataclass(frozen=True, slots=True)
class Properties:
    """One row of the table.

    Words are parted by white space: `words_median`, `words_sd` (of a sample, n - 1),
    `words_least` and `words_most` are None where there are too few documents. `nearest_median` is
    the median over documents of the largest cosine to another document of the same topic, stance
    and origin, in [-1, 1]. `alone` counts documents that have no such other: they have no nearest
    one and are in no share. `near` counts documents whose nearest one is above 0.95, `near_pairs`
    the pairs above it, `near_share` is near / (documents - alone). All four are None where no
    vectors were given.
    """

    group: str
    documents: int
    words_median: float | None
    words_sd: float | None
    words_least: int | None
    words_most: int | None
    nearest_median: float | None = None
    near: int | None = None
    near_pairs: int | None = None
    near_share: float | None = None
    alone: int | None = None


def measured_documents(pack: Pack, poisoned: Poisoned | None = None) -> tuple[Document, ...]:
    """The documents on the pack's topics; what was planted in place of the pack's injected ones.

    Background documents are left out: they belong to no group.
    """
    if poisoned is None:
        return tuple(d for d in pack.documents if d.origin is not Origin.BACKGROUND)
    return tuple(d for d in poisoned.corpus(pack) if d.origin is not Origin.BACKGROUND)


def properties(
    documents: Sequence[Document], vectors: "NDArray[np.float32] | None" = None
) -> tuple[Properties, ...]:
    """A row for each group of `GROUPS`, in that order, groups without documents included.

    `vectors` (n, d), float32, rows of length 1, run beside `documents`.

    Raises:
        InputError: there are not as many vectors as documents.

    Cost: O(m^2 d) for each topic and side of m documents. Source: SP appendix A, table 14.
    """
    if vectors is not None and len(vectors) != len(documents):
        raise InputError(
            f"there must be a vector a document, got {len(vectors)} for {len(documents)}"
        )
    nearest, pairs = ({}, {}) if vectors is None else _neighbours(documents, vectors)
    rows = []
    for name, belongs in GROUPS.items():
        inside = [index for index, document in enumerate(documents) if belongs(document)]
        words = [len(documents[index].text.split()) for index in inside]
        near: dict[str, Any] = {}
        if vectors is not None:
            near = _nearness([nearest[index] for index in inside], [pairs[i] for i in inside])
        rows.append(
            Properties(
                name,
                len(inside),
                statistics.median(words) if words else None,
                statistics.stdev(words) if len(words) > 1 else None,
                min(words, default=None),
                max(words, default=None),
                **near,
            )
        )
    return tuple(rows)


def _neighbours(
    documents: Sequence[Document], vectors: "NDArray[np.float32]"
) -> tuple[dict[int, float | None], dict[int, int]]:
    """By index: the largest cosine to another of its kind (None when alone), and how many > 0.95.

    A kind is topic, stance and origin.
    """
    import numpy as np

    kinds: dict[tuple[Any, ...], list[int]] = {}
    for index, document in enumerate(documents):
        kinds.setdefault((document.topic, document.stance, document.origin), []).append(index)
    nearest: dict[int, float | None] = {}
    near: dict[int, int] = {}
    for inside in kinds.values():
        rows = np.asarray(vectors[inside], dtype=np.float64)
        cosines = rows @ rows.T
        np.fill_diagonal(cosines, -np.inf)
        for index, row in zip(inside, cosines, strict=True):
            nearest[index] = float(row.max()) if len(inside) > 1 else None
            near[index] = int((row > NEAR).sum())
    return nearest, near


def _nearness(nearest: Sequence[float | None], pairs: Sequence[int]) -> dict[str, Any]:
    found = [cosine for cosine in nearest if cosine is not None]
    close = sum(cosine > NEAR for cosine in found)
    return {
        "nearest_median": statistics.median(found) if found else None,
        "near": close,
        "near_pairs": sum(pairs) // 2,
        "near_share": close / len(found) if found else None,
        "alone": len(nearest) - len(found),
    }


def table(rows: Sequence[Properties]) -> str:
    """The rows as a Markdown table; a dash where a number could not be had.

    >>> print(table([Properties("neutral", 1, 66.0, None, 66, 66)]).splitlines()[2])
    | neutral | 1 | 66 | - | 66 to 66 | - | - |
    """
    head = "| group | documents | words, median | sd | range | nearest, median | near-duplicates |"
    lines = [head, "| --- |" + " ---: |" * 6]
    for row in rows:
        near = "-"
        if row.near is not None and row.near_share is not None:
            near = f"{row.near} ({row.near_share:.3%}, {row.near_pairs} pairs)"
        cells = (
            row.group,
            str(row.documents),
            _number(row.words_median, "g"),
            _number(row.words_sd, ".1f"),
            "-" if row.words_least is None else f"{row.words_least} to {row.words_most}",
            _number(row.nearest_median, ".3f"),
            near,
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
