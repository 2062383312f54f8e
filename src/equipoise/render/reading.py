"""Questions that both renderers ask of the plain mapping of a selection."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from equipoise.errors import InputError

Plain = Mapping[str, Any]

SCHEMA: Final = 1
SIDES: Final = ("pro", "neutral", "con")
"""The order in which stances stand in every bar: neutral is the middle of the scales."""

_QUOTA_REASONS: Final = frozenset({"quota", "reached", "sought", "filled"})


def check_schema(selection: Plain) -> None:
    """Nothing, when `selection` is a mapping this package can draw.

    Raises:
        InputError: it is not a mapping, or not of the schema that this version knows.
    """
    if not isinstance(selection, Mapping):
        raise InputError(
            "a renderer needs the mapping that Selection.to_dict() gives, "
            f"got {type(selection).__name__}: call .to_dict() first"
        )
    if selection.get("schema") != SCHEMA:
        raise InputError(
            f"a renderer needs the mapping of a selection with schema {SCHEMA}, "
            f"got schema {selection.get('schema')!r}: pass what Selection.to_dict() gives"
        )


def kind_of(selection: Plain, document: Plain) -> str:
    """How a document stands in the strip: a stance, unlabelled, duplicate, blank or filtered."""
    if document["left_out"] == "filtered":
        return "filtered"
    if document["left_out"] == "duplicate":
        return "duplicate"
    if document["left_out"] == "blank" or document["rank"] in selection["blank"]:
        return "blank"
    return document["stance"] or "unlabelled"


def unsure(document: Plain) -> float | None:
    """The probability of a document's own label, in [0, 1], where that label is unsure; else None.

    Results that were stored before labels could be unsure have none.
    """
    odds = document["probabilities"]
    if not document.get("unsure", False) or odds is None:
        return None
    return float(odds[document["stance"]])


def unreadable(selection: Plain) -> list[int]:
    """Ranks of the documents that the detector could not read: of another language."""
    return [
        document["rank"]
        for document in selection["documents"]
        if is_unreadable(document) and document["rank"] not in selection["blank"]
    ]


def is_unreadable(document: Plain) -> bool:
    """True when the detector labelled a document of which it could read nothing."""
    return document["probabilities"] is not None and document.get("windows") == 0


def chosen(selection: Plain) -> list[Plain]:
    """The documents that reach the model, in prompt order."""
    taken = [document for document in selection["documents"] if document["chosen"]]
    return sorted(taken, key=lambda document: document["position"])


def left_out(selection: Plain) -> list[Plain]:
    """The documents that do not reach the model, in retrieval order."""
    return [document for document in selection["documents"] if not document["chosen"]]


def zones(selection: Plain) -> list[tuple[str, Sequence[Plain]]]:
    """The candidates split at the pool and at the depth: (zone, documents), empty ones left out.

    A zone is "pool" (ranks 1 to pool), "reach" (to depth) or "beyond". Where no quota was
    applied, pool and depth had no part in the choice, and all candidates are one zone.
    """
    documents = selection["documents"]
    if not {document["reason"] for document in documents} & _QUOTA_REASONS:
        return [("pool", documents)] if documents else []
    pool, depth = selection["quota"]["pool"], selection["quota"]["depth"]
    parts = [
        ("pool", documents[:pool]),
        ("reach", documents[pool:depth]),
        ("beyond", documents[depth:]),
    ]
    return [(zone, part) for zone, part in parts if part]


def filtered(selection: Plain) -> list[int]:
    """The ranks that a filter took out; results that were stored before filters have none."""
    return list(selection.get("filtered", ()))


def is_labelled(selection: Plain) -> bool:
    """True when the stance of any document that counts, before or after, is known."""
    counts = (selection["before"], selection["composition"])
    return any(count(mix, side) for mix in counts for side in SIDES)


def count(counts: Plain, kind: str) -> int:
    """How many of one kind; a kind that is not named counts 0."""
    return int(counts.get(kind, 0))


def similarity_of(selection: Plain, document: Plain) -> float | None:
    """How like the kept document a near-copy was, in [0, 1]; None for an exact copy."""
    for merge in selection["merged"]:
        if document["rank"] in merge["dropped"] and merge["kind"] == "near":
            return float(merge["similarity"])
    return None
