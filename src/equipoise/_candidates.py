"""What callers give as documents, made into Candidates."""

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from typing import Any

from equipoise.errors import InputError
from equipoise.types import Candidate

_FIELDS = ("id", "text", "score", "metadata", "embedding")


def to_candidates(
    items: Iterable[Any] | None,
) -> tuple[list[Any], list[Candidate], tuple[int, ...]]:
    """(the items as given, a Candidate for each, the ranks whose score was no finite number).

    A str is a text; its id is its rank, "1" for the first. A dict needs "text" and may have "id",
    "score", "metadata" and "embedding"; its other keys are taken into the metadata. None is an
    empty list.

    Raises:
        InputError: an item is none of these; the message names its rank and what came.
    """
    if items is None:
        return [], [], ()
    unordered = isinstance(items, str | bytes | Mapping | Set | Candidate)
    if unordered or not isinstance(items, Iterable):
        raise InputError(
            f"candidates must be a list in retrieval order, got {type(items).__name__}"
        )
    given = list(items)
    made: list[Candidate] = []
    unscored: list[int] = []
    for rank, item in enumerate(given, start=1):
        candidate = _to_candidate(item, rank)
        if candidate.score is not None and not _is_finite(candidate.score):
            candidate = replace(candidate, score=None)
            unscored.append(rank)
        made.append(candidate)
    return given, made, tuple(unscored)


def _to_candidate(item: Any, rank: int) -> Candidate:
    if isinstance(item, Candidate):
        return item
    if isinstance(item, str):
        return Candidate(str(rank), item)
    if isinstance(item, Mapping):
        return _from_mapping(item, rank)
    raise InputError(
        f"document {rank} must be a str, a dict with 'text' or a Candidate, "
        f"got {type(item).__name__}"
    )


def _from_mapping(item: Mapping[str, Any], rank: int) -> Candidate:
    if not isinstance(item.get("text"), str):
        got = type(item["text"]).__name__ if "text" in item else f"the keys {list(item)}"
        raise InputError(f"document {rank} must have a 'text' of type str, got {got}")
    if not isinstance(item.get("id"), str | int | None):
        kind = type(item["id"]).__name__
        raise InputError(f"the id of document {rank} must be a str or an int, got {kind}")
    metadata = item.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise InputError(
            f"the metadata of document {rank} must be a dict, got {type(metadata).__name__}"
        )
    extra = {key: value for key, value in item.items() if key not in _FIELDS}
    clash = sorted(set(extra) & set(metadata))
    if clash:
        raise InputError(f"document {rank} gives {clash} both beside and inside its metadata")
    return Candidate(
        id=str(item.get("id") if item.get("id") is not None else rank),
        text=item["text"],
        score=_number(item.get("score"), rank),
        metadata={**extra, **metadata},
        embedding=item.get("embedding"),
    )


def _number(score: Any, rank: int) -> float | None:
    if score is None:
        return None
    try:
        return float(score)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError) as error:
        raise InputError(f"the score of document {rank} must be a number, got {score!r}") from error


def _is_finite(score: float) -> bool:
    try:
        return math.isfinite(score)
    except OverflowError:  # an int past the largest float
        return False
