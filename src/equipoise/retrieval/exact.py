"""What makes every store give the same answer: what goes in, and how hits are ranked."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise._plain import plain
from equipoise.errors import InputError
from equipoise.retrieval.vectors import normalized
from equipoise.retrieval.where import Where, cleaned
from equipoise.types import Candidate

MOST_ID_BYTES = 512
# Engines sum in single precision, each in an order of its own: twice what that can move a cosine.
_SLACK = 1e-5
_SPARE = 12
_EXACT = 2**53  # floats from here on are all whole

Hits = tuple[Sequence[Candidate], NDArray[np.float32]]


def checked_rows(
    passages: Sequence[Candidate], vectors: Any, *, dimension: int, made_by: str
) -> Hits:
    """Passages and vectors (n, d), float32, length 1, as every store keeps them.

    Texts and metadata lose what some engine cannot carry (lone surrogates, NUL); metadata become
    JSON's own types; scores and embeddings of the candidates are left out.

    Raises:
        InputError: an id twice, empty, over 512 bytes, or with characters that some engine cannot
            carry; or not one vector a passage.
        EmbedderError: a vector of another length than d, not finite, or zero.
    """
    rows = normalized(vectors, made_by=made_by, dimension=dimension)
    if len(rows) != len(passages):
        raise InputError(
            f"every passage needs one vector, got {len(rows)} for {len(passages)} passages"
        )
    taken: set[str] = set()
    for passage in passages:
        require_id(passage.id)
        if passage.id in taken:
            raise InputError(f"ids must differ within one call, and {passage.id!r} is there twice")
        taken.add(passage.id)
    return tuple(stored_form(passage) for passage in passages), rows


def require_id(key: str) -> None:
    """Nothing, when every store can keep a passage under that id.

    Raises:
        InputError: it is empty, over 512 bytes, or has characters that some engine cannot carry.
    """
    if not is_id(key):
        size = len(key.encode("utf-8", "replace"))
        raise InputError(
            f"an id in a store must have 1 to {MOST_ID_BYTES} bytes of UTF-8 without NUL, got "
            f"{key[:60]!r} ({size} bytes)"
        )


def is_id(key: str) -> bool:
    """True when every store can keep a passage under that id."""
    return cleaned(key) == key and 1 <= len(key.encode("utf-8")) <= MOST_ID_BYTES


def stored_form(passage: Candidate) -> Candidate:
    """The passage as a store gives it back: id, text and metadata that any engine can carry."""
    return Candidate(passage.id, cleaned(passage.text), metadata=_cleaned(plain(passage.metadata)))


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return cleaned(value)
    if isinstance(value, dict):
        return {cleaned(key): _cleaned(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_cleaned(entry) for entry in value]
    # Subtle: an engine that keeps decimals would give a float of this size back as another number.
    large = isinstance(value, float) and _EXACT <= abs(value) < 2**63
    return int(value) if large else value


def checked_question(vector: Any, k: int, *, dimension: int) -> NDArray[np.float64]:
    """The question's vector (d,), float32 scaled to length 1, in double precision.

    Raises:
        InputError: k is not an int >= 1.
        EmbedderError: the vector has another length than d, is not finite, or is zero.
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError(f"k must be an int >= 1, got {k!r}")
    rows = normalized(np.asarray(vector)[None, ...], made_by="the question", dimension=dimension)
    question: NDArray[np.float64] = rows[0].astype(np.float64)
    return question


def best(
    question: NDArray[np.float64],
    k: int,
    where: Where,
    *,
    nearest: Callable[[int], Hits],
    scan: Callable[[], Iterable[Candidate]],
    most: int,
    embeddings: bool = False,
) -> tuple[Candidate, ...]:
    """The `k` passages of the highest cosine, ties by id, whatever engine found them.

    `nearest(count)` gives the engine's first `count` hits with their vectors, in about its order
    and possibly with some that `where` does not match; fewer than `count` when there are no more.
    They are scored again in double precision, and more are asked for until none that was left out
    can belong among the k. Past `most` hits, every passage of `scan()` (with embeddings) is scored.

    Cost: that of the engine for a little over k hits; more where many passages tie at the k-th
    place or the engine does not filter. Source: ours.
    """
    count = k + _SPARE
    while count <= most:
        passages, vectors = nearest(count)
        scored = list(_scored(question, passages, vectors))
        found = sorted((s for s in scored if where.matches(s.passage.metadata)), key=_order)
        exhausted = len(passages) < count
        if exhausted or (
            len(found) >= k and found[k - 1].score > min(entry.score for entry in scored) + _SLACK
        ):
            return _candidates(found[:k], embeddings=embeddings)
        count *= 4
    every = (
        entry
        for passage in scan()
        if where.matches(passage.metadata)
        for entry in _scored(question, [passage], np.asarray([passage.embedding], np.float32))
    )
    return _candidates(heapq.nsmallest(k, every, key=_order), embeddings=embeddings)


class _Scored:
    """A passage with its vector and cosine."""

    __slots__ = ("passage", "score", "vector")

    def __init__(self, passage: Candidate, vector: NDArray[np.float32], score: float) -> None:
        self.passage = passage
        self.vector = vector
        self.score = score


def _scored(
    question: NDArray[np.float64], passages: Sequence[Candidate], vectors: NDArray[np.float32]
) -> Iterator[_Scored]:
    for passage, vector in zip(passages, vectors, strict=True):
        # Subtle: one row at a time, for a matrix product may sum a row in another order beside
        # other rows, and equal vectors must have equal scores.
        score = float((vector.astype(np.float64) * question).sum())
        yield _Scored(passage, vector, max(-1.0, min(1.0, score)))


def _order(entry: _Scored) -> tuple[float, str]:
    return -entry.score, entry.passage.id


def _candidates(entries: Iterable[_Scored], *, embeddings: bool) -> tuple[Candidate, ...]:
    return tuple(
        replace(
            entry.passage,
            score=entry.score,
            embedding=entry.vector.tolist() if embeddings else None,
        )
        for entry in entries
    )
