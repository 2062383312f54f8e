"""The passages near a question: retrieved, labelled, and told apart from their copies."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.audit.records import (
    UNKNOWN,
    Audited,
    Fields,
    Passage,
    Question,
    Settings,
    Spread,
)
from equipoise.errors import InputError
from equipoise.polarization import PolarizationAxis
from equipoise.polarization.check import check_axis
from equipoise.selection.duplicates import Duplicates, Merging, find_copies, fold
from equipoise.stance.base import detect_checked
from equipoise.types import Candidate, Retriever, StanceDetector, StanceScore

_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])(?!\d)")
_FEWEST = 3
"""Passages with vectors that an axis needs to say anything."""


def look(
    retriever: Retriever, question: Question, detector: StanceDetector, settings: Settings
) -> Audited:
    """One question with the passages near it, labelled; blank passages are left out.

    Cost: `near` labels, less what the detector remembers.

    Raises:
        InputError: a floor is set, and a candidate has no score to hold against it.
        DetectorError: the detector failed.
    """
    found = [c for c in retriever.retrieve(question.text, settings.near) if not c.is_blank]
    if settings.floor is not None:
        found = [c for c in found if _score(c) >= settings.floor]
    scores = detect_checked(detector, question.text, [c.text for c in found])
    passages = passages_of(found, scores, settings.fields)
    return Audited(question, passages, spread_of(found, passages, settings.shown))


def passages_of(
    candidates: Sequence[Candidate], scores: Sequence[StanceScore], fields: Fields
) -> tuple[Passage, ...]:
    """The candidates as passages, in their order, each with the family that it belongs to."""
    families = families_of([c.text for c in candidates], scores)
    return tuple(
        Passage(
            candidate.id,
            digest_of(candidate.text),
            score.label,
            round(score.pro - score.con, 4),
            None if candidate.score is None else round(float(candidate.score), 6),
            family + 1,
            value_of(candidate.metadata, fields.source),
            value_of(candidate.metadata, fields.language),
            month_of(candidate.metadata, fields.arrived),
        )
        for candidate, score, family in zip(candidates, scores, families, strict=True)
    )


def families_of(texts: Sequence[str], scores: Sequence[StanceScore]) -> list[int]:
    """For each text the index of the first of its family: itself, where it copies none.

    A copy of another stance is a family of its own, as in the Balancer: one word may turn it.
    """
    copies = find_copies(texts, Duplicates(), depth=max(1, len(texts)))
    merging = Merging(frozenset(copies.exact), copies.near, scores)
    families: list[int] = []
    for index in range(len(texts)):
        first = copies.exact.get(index, index)
        if first == index and index in merging:
            first = merging.merged[index]
        same = scores[first].label is scores[index].label
        families.append(families[first] if first != index and same else index)
    return families


def digest_of(text: str) -> str:
    """A name of 16 hex digits for a text; the same for texts that differ in case and space only."""
    return hashlib.sha256(fold(text).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def value_of(metadata: Mapping[str, Any], keys: Sequence[str]) -> str:
    """The first of the keys' values that is there and not blank, as text; else `UNKNOWN`."""
    for key in keys:
        value = metadata.get(key)
        if value is not None and str(value).strip():
            return " ".join(str(value).split())
    return UNKNOWN


def month_of(metadata: Mapping[str, Any], keys: Sequence[str]) -> str:
    """The month, as 2026-11, of the first key that holds an ISO date; else `UNKNOWN`.

    >>> month_of({"date": "2026-11-30T08:00:00Z"}, ("arrived", "date"))
    '2026-11'
    """
    for key in keys:
        match = _MONTH.match(str(metadata.get(key, "")))
        if match:
            return match.group()
    return UNKNOWN


def spread_of(
    candidates: Sequence[Candidate], passages: Sequence[Passage], shown: int
) -> Spread | None:
    """The spread of Polarization Scores; None without vectors, or with too few that differ."""
    held = [at for at, candidate in enumerate(candidates) if candidate.embedding is not None]
    if len(held) < max(_FEWEST, len(candidates)):
        return None
    vectors = np.array([candidates[at].embedding for at in held], dtype=np.float64)
    stances = [passages[at].stance for at in held]
    try:
        axis = PolarizationAxis.fit(vectors, stances=stances)
    except InputError:  # all alike: there is no axis, and nothing spreads
        return None
    scores = axis.score(vectors)
    low, high = np.quantile(scores, [0.1, 0.9])
    check = check_axis(axis, vectors, stances)
    return Spread(
        sd=round(float(scores.std()), 6),
        low=round(float(low), 6),
        high=round(float(high), 6),
        shown=round(float(scores[:shown].mean() - scores.mean()), 6),
        explained=round(axis.explained[0], 6),
        alignment=None if check.alignment is None else round(check.alignment, 6),
        sign_fixed=axis.sign_fixed,
    )


def _score(candidate: Candidate) -> float:
    if candidate.score is None:
        raise InputError(
            f"a floor needs candidates with a cosine as score, and {candidate.id!r} has none: "
            "leave the floor out, or give a retriever that scores"
        )
    return candidate.score
