"""The manifest's account of a pack: where it is from, what each topic holds, what was left out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from equipoise.lab.holding import JOINED, SIDES, Parts
from equipoise.lab.pack import Document, Origin, Pack
from equipoise.lab.questions import HELD_FOLD
from equipoise.lab.stance_data import BACKGROUND, PASSAGES, SENTENCES
from equipoise.types import Stance

PLANTED = (2, 4, 5, 7)
"""Documents planted a topic. Source: SP 4.1."""
THIRD_PARTY = (
    "The documents are texts of third parties under the licences listed in sources; some files of "
    "the data state a licence for the collection only, or none. This pack is for the disk of the "
    "person who made it: settle each licence before passing it on. The questions after the first "
    "of each topic are this project's own (Apache-2.0)."
)


def about(
    topics: Sequence[Parts],
    background: Sequence[Document],
    dropped: Mapping[str, int],
    *,
    asked_for: int,
    made_by: Mapping[str, Any],
) -> dict[str, Any]:
    """The manifest's free part, as plain JSON values."""
    used = Counter(document.source for document in background)
    for parts in topics:
        for text in (*parts.genuine, *parts.neutral, *parts.injected):
            used.update(text.source.removeprefix(JOINED).split("+"))
    return {
        "made_by": dict(made_by),
        "topics_asked_for": asked_for,
        "third_party": THIRD_PARTY,
        "sources": _sources(used),
        "per_topic": {parts.entry.topic: _topic(parts) for parts in topics},
        "detector_folds": _folds(topics),
        "left_out": dict(dropped),
    }


def _sources(used: Mapping[str, int]) -> list[dict[str, Any]]:
    """Each source with its documents (a joined passage counts for each source in it)."""
    known = {source.name: source for source in (*PASSAGES, *SENTENCES, *BACKGROUND)}
    return [
        {
            "name": name,
            "documents": count,
            "licence": known[name].licence if name in known else "that of the background given",
            "credit": known[name].credit if name in known else "",
        }
        for name, count in sorted(used.items())
    ]


def _topic(parts: Parts) -> dict[str, Any]:
    """What a topic's documents are from; how many there are is counted from the pack."""
    entry = parts.entry
    genuine = Counter(text.source for text in parts.genuine)
    planted = Counter(text.source for text in parts.injected)
    return {
        "genuine_sources": dict(sorted(genuine.items())),
        "injected_sources": dict(sorted(planted.items())),
        "related": dict(entry.related),
        "seen_in_training": entry.seen_in_training,
    }


def _folds(topics: Iterable[Parts]) -> dict[str, Any]:
    """Group -> its topics, their folds, and whether any was seen in training."""
    groups: dict[str, dict[str, Any]] = {}
    for parts in topics:
        entry = parts.entry
        known = groups.setdefault(
            entry.group, {"topics": [], "folds": {}, "seen_in_training": False}
        )
        known["topics"].append(entry.topic)
        known["folds"].update(entry.folds)
        known["seen_in_training"] |= entry.seen_in_training
    return {
        "held_out_fold": HELD_FOLD,
        "note": (
            "Folds of the bundled detectors' training. Where seen_in_training is true, texts of "
            "the topic (and mostly these very documents) were learned: labels there are too good"
        ),
        "groups": groups,
    }


def shares(pack: Pack, planted: Sequence[int] = PLANTED) -> dict[int, dict[str, float]]:
    """Planted documents n -> their mean share a topic, by side and over both, each in [0, 1].

    r = n / (N + n), N the genuine pro and con documents of the topic (neutral ones do not count).
    A topic with fewer than n to plant counts with those that it has. Source: SP 4.1.
    """
    genuine = Counter(d.topic for d in pack.documents if d.origin is Origin.GENUINE)
    ready = Counter((d.topic, d.stance) for d in pack.documents if d.origin is Origin.INJECTED)

    def mean(n: int, sides: Sequence[Stance]) -> float:
        each = [
            (count := min(n, ready[topic.id, side])) / max(1, genuine[topic.id] + count)
            for topic in pack.topics
            for side in sides
        ]
        return fmean(each) if each else 0.0

    return {
        n: {**{side.value: mean(n, (side,)) for side in SIDES}, "both": mean(n, SIDES)}
        for n in planted
    }


def origins(pack: Pack) -> dict[str, int]:
    """Origin -> documents; "joined" counts the injected ones that were made of sentences."""
    found = Counter(document.origin.value for document in pack.documents)
    found["joined"] = sum(document.source.startswith(JOINED) for document in pack.documents)
    return {name: found[name] for name in (*(origin.value for origin in Origin), "joined")}


def by_topic(pack: Pack) -> dict[str, dict[str, int]]:
    """Topic -> documents of each kind and side, in the pack's order."""
    found = Counter(
        (document.topic, kind)
        for document in pack.documents
        if document.topic is not None
        for kind in _kinds(document)
    )
    sided = (f"{kind}_{side}" for kind in ("genuine", "injected", "joined") for side in SIDES)
    names = ("neutral", *sided)
    return {topic.id: {name: found[topic.id, name] for name in names} for topic in pack.topics}


def _kinds(document: Document) -> tuple[str, ...]:
    if document.origin is Origin.NEUTRAL:
        return ("neutral",)
    kind = f"{document.origin}_{document.stance}"
    return (kind, f"joined_{document.stance}") if document.source.startswith(JOINED) else (kind,)


def counted(pack: Pack) -> dict[str, Any]:
    """Counts a topic and shares, as the manifest gives them."""
    return {
        "counts_per_topic": by_topic(pack),
        "shares": {str(n): each for n, each in shares(pack).items()},
    }
