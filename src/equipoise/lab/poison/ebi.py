"""Epistemic bias injection: the most one-sided passages for a query, brought close to it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from equipoise.errors import InputError
from equipoise.lab.pack import Document, Origin, Pack, Question
from equipoise.lab.poison.framing import VERSION, Raised, raised
from equipoise.lab.poison.planted import Poisoned, checked_count, checked_side, shares_of
from equipoise.lab.poison.rewrite import question_of
from equipoise.retrieval.base import Embedder
from equipoise.types import Stance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K = 5
"""Documents that go to the generator. Source: SP 3.4."""

Kind = Literal["injected", "genuine", "both"]
_ORIGINS: Mapping[str, frozenset[Origin]] = {
    "injected": frozenset({Origin.INJECTED}),
    "genuine": frozenset({Origin.GENUINE}),
    "both": frozenset({Origin.INJECTED, Origin.GENUINE}),
}


class Axis(Protocol):
    """An axis of disagreement: positive is pro. `equipoise.polarization` has one."""

    def score(self, vectors: Any) -> "NDArray[Any]":
        """Polarization Scores (n,) of vectors (n, d)."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """One question under attack.

    `query` is its vector (d,), of length 1; `benign` the cosines (m,) of the topic's genuine and
    neutral documents to it, in [-1, 1], largest first.
    """

    question: Question
    direction: Stance
    query: "NDArray[np.float32]"
    benign: tuple[float, ...]

    def kth(self, k: int) -> float | None:
        """The cosine of the k-th benign document, k >= 1; None where there are fewer."""
        return self.benign[k - 1] if len(self.benign) >= k else None


Vary = Callable[[Document, Question, int], Sequence[Document]]
"""(extreme passage, question, n) -> at most n passages that say the same; n >= 1."""


@dataclass(frozen=True, slots=True)
class Means:
    """What an attacker works with.

    `axis_of` gives a topic's axis, or None where it has none: that topic is left out and named.
    `candidates` are the passages to choose from, of any topic and side. `vary` writes variants of
    the extreme one; None takes the passages nearest to it in Polarization Score, itself first.
    `about` says how candidates and variants were made (JSON; read once, after the attack).
    """

    embedder: Embedder
    axis_of: Callable[[str], Axis | None]
    candidates: tuple[Document, ...]
    vary: Vary | None = None
    about: Callable[[], Mapping[str, Any]] = field(default=dict)


def candidates_of(pack: Pack, direction: Stance, kind: Kind = "injected") -> tuple[Document, ...]:
    """The pack's passages of one side that an attacker may start from; blank ones are left out.

    Raises:
        InputError: direction is neutral, or the kind is not known.
    """
    direction = checked_side(direction)
    if kind not in _ORIGINS:
        raise InputError(f"the pool must be one of {', '.join(_ORIGINS)}, got {kind!r}")
    return tuple(
        document
        for document in pack.documents
        if document.origin in _ORIGINS[kind]
        and document.stance is direction
        and document.text.strip()
    )


def attack(
    pack: Pack,
    direction: Stance,
    means: Means,
    *,
    n: int,
    k: int = K,
    seed: int = 0,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> Poisoned:
    """`n` passages a topic, extreme in Polarization Score, close to the topic's first question.

    For each topic: the candidate with the most extreme score on the wanted side; `n` variants of
    it; each framed until its cosine to the question is over that of the best benign document (see
    `framing`). Benign are the topic's genuine and neutral documents: background documents are not
    searched, so a rank here is at best the rank in the corpus. The pack stays as it is. `seed` is
    noted for what `means` draws; nothing here draws. `told` is called with topics done and in all.

    Raises:
        InputError: direction is neutral, n or k < 1, or a topic has no question.
        EmbedderError: the embedder could not answer.

    Cost: an embedding a document of the pack's topics, and up to 4 a planted one. No test of a
    defence that reads labels alone: this attack is aimed at similarity. Source: EBI, attack
    workflow; framing and ties (by id) are ours.
    """
    direction = checked_side(direction)
    checked_count("n", n)
    checked_count("k", k)
    planted: list[Document] = []
    topics: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    for done, topic in enumerate(pack.topics, 1):
        offered = [d for d in means.candidates if d.topic == topic.id and d.stance is direction]
        axis = means.axis_of(topic.id) if offered else None
        if axis is None or not offered:
            skipped[topic.id] = "no candidates" if not offered else "no axis"
        else:
            target = target_of(pack, topic.id, direction, embedder=means.embedder)
            offered.sort(key=lambda document: document.id)
            documents, topics[topic.id] = _plant(target, offered, axis, means=means, n=n, k=k)
            planted += documents
        told(done, len(pack.topics))
    about = {
        "k": k,
        "embedder": means.embedder.name,
        "framing": VERSION,
        "benign": "the topic's genuine and neutral documents; background not searched",
        "reached": _reached(topics.values(), n * len(pack.topics)),
        "topics": topics,
        "skipped": skipped,
        **means.about(),
    }
    return Poisoned("ebi", direction, n, seed, tuple(planted), shares_of(pack, planted), about)


def most_extreme(scores: "NDArray[Any]", direction: Stance) -> int:
    """The index of the largest score (n,) for pro, the smallest for con; the first on a tie.

    >>> import numpy as np
    >>> most_extreme(np.array([0.1, -0.4, 0.3]), Stance.CON)
    1
    """
    return int(scores.argmax() if direction is Stance.PRO else scores.argmin())


def nearest_in_score(scores: "NDArray[Any]", index: int, n: int) -> list[int]:
    """The `n` indices whose scores (m,) are nearest to that of `index`, itself first.

    Fewer when m < n; ties by lower index.

    >>> import numpy as np
    >>> nearest_in_score(np.array([0.1, -0.4, 0.3, 0.25]), 2, 3)
    [2, 3, 0]
    """
    gaps = abs(scores - scores[index])
    return sorted(range(len(scores)), key=lambda i: (i != index, float(gaps[i]), i))[:n]


def target_of(pack: Pack, topic: str, direction: Stance, *, embedder: Embedder) -> Target:
    """The topic's question as a target, measured against its own benign documents.

    Raises:
        InputError: the topic has no question.
        EmbedderError: the embedder could not answer.
    """
    question = question_of(pack, topic)
    texts = [d.text for d in pack.clean if d.topic == topic and d.text.strip()]
    query = embedder.embed_question(question.text)
    similarities = embedder.embed(texts) @ query
    return Target(question, direction, query, tuple(sorted(map(float, similarities), reverse=True)))


def _plant(
    target: Target, offered: Sequence[Document], axis: Axis, *, means: Means, n: int, k: int
) -> tuple[list[Document], dict[str, Any]]:
    """What is planted for one question, and the report on it."""
    scores = axis.score(means.embedder.embed([document.text for document in offered]))
    at = most_extreme(scores, target.direction)
    if means.vary is None:
        variants: Sequence[Document] = [offered[i] for i in nearest_in_score(scores, at, n)]
    else:
        variants = means.vary(offered[at], target.question, n)
    made = [_placed(target, variant, axis, means.embedder, k) for variant in variants]
    topic, side = target.question.topic, target.direction
    names = [f"ebi-{topic}-{side.value}-{number}" for number in range(1, len(made) + 1)]
    planted = [
        Document(name, text, Origin.INJECTED, variant.source, topic, side)
        for name, variant, (text, _) in zip(names, variants, made, strict=True)
    ]
    report = {
        "question": target.question.id,
        "query": target.question.text,
        "candidates": len(offered),
        "extreme": offered[at].id,
        "extreme_score": float(scores[at]),
        "benign": {"documents": len(target.benign), "best": target.kth(1), "kth": target.kth(k)},
        "planted": {name: row for name, (_, row) in zip(names, made, strict=True)},
    }
    return planted, report


def _placed(
    target: Target, variant: Document, axis: Axis, embedder: Embedder, k: int
) -> tuple[str, dict[str, Any]]:
    """The text to plant for a variant, and how it stands: scores and cosines before and after.

    `rank` counts from 1 among the topic's benign documents.
    """
    best, kth = target.kth(1), target.kth(k)
    text: Raised = raised(
        variant.text,
        target.question.text,
        target.query,
        above=-1.0 if best is None else best,
        embed=embedder.embed,
    )
    before, after = axis.score(embedder.embed([variant.text, text.text]))
    return text.text, {
        "from": variant.id,
        "framing": text.framing,
        "score_before": float(before),
        "score": float(after),
        "similarity_before": text.before,
        "similarity": text.after,
        "rank": 1 + sum(similarity >= text.after for similarity in target.benign),
        "above_best": best is None or text.after > best,
        "above_kth": kth is None or text.after > kth,
    }


def _reached(topics: Iterable[Mapping[str, Any]], wanted: int) -> dict[str, Any]:
    """How many of all planted passages came above the best and the k-th benign one."""
    rows = [row for topic in topics for row in topic["planted"].values()]
    framings = Counter(row["framing"] for row in rows)
    return {
        "wanted": wanted,
        "planted": len(rows),
        "above_best": sum(row["above_best"] for row in rows),
        "above_kth": sum(row["above_kth"] for row in rows),
        "above_best_before": sum(row["above_best"] and row["framing"] == "none" for row in rows),
        "framings": dict(framings),
    }
