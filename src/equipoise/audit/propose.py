"""Questions proposed from a corpus: groups of passages, the words that stand out, both sides."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import log
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from equipoise.audit.chance import Mix
from equipoise.errors import InputError
from equipoise.stance.base import detect_checked
from equipoise.types import Candidate, Stance, StanceDetector

SAMPLE: Final = 20_000
"""Passages that clusters are made of; of a larger corpus so many are drawn by seed."""
READ: Final = 20
"""Passages of a cluster, nearest its middle, that are labelled."""
BOTH: Final = 2
"""Of those, how many must stand on each side."""
ROUNDS: Final = 25
_WORD = re.compile(r"[^\W\d_]+")
_SHORTEST = 3
"""Letters of a word that may stand out."""
_COMMON = frozenset(
    """
    the and for that with this from are was were has have had not but they their its his her
    which who whom whose will would can could should may might must shall than then there these
    those been being also more most some such other into over under about after before between
    when where what why how all any both each few many much one two three first new said say
    says does did done our your you she him them out off very just only own same too now use
    used using make made people because while during however since well even like
    """.split()  # noqa: SIM905  # a list of words reads better without a hundred quotes
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A question made of a cluster's words: to be read by a person, not asked as it is.

    `mix` counts the stances of the passages read, `size` the passages of the cluster; `words` are
    those that stand out, the first the phrase of the question.
    """

    id: str
    text: str
    words: tuple[str, ...]
    size: int
    mix: Mix
    passages: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `read_questions` reads it."""
        return asdict(self)


def propose(
    passages: Iterable[Candidate],
    *,
    detector: StanceDetector,
    clusters: int = 30,
    seed: int = 20260905,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Proposal, ...]:
    """Questions on which the corpus seems to take both sides, the most even first.

    Vectors are grouped by k-means on the sphere; a cluster's phrase is the pair of words (or word)
    that stands out against the other clusters; the question is "Should we support <phrase>?"; and
    it is kept when, of the 20 passages nearest the middle, at least 2 are labelled pro and 2 con.

    This is weak: a phrase may be no issue, the question may be one that nobody asks, and where only
    one side is there (what an audit is for) nothing is proposed. It shows where to look.

    Cost O(passages * clusters * d) a round, and 20 labels a cluster.

    Raises:
        InputError: clusters < 1, no passages, or one without an embedding.
        DetectorError: the detector failed.

    Source: ours; words by class-based tf-idf (Grootendorst 2022).
    """
    if isinstance(clusters, bool) or not isinstance(clusters, int) or clusters < 1:
        raise InputError(f"clusters must be an int >= 1, got {clusters!r}")
    rng = np.random.default_rng(seed)
    kept, vectors = _drawn(passages, rng)
    groups, middles = spherical_kmeans(vectors, clusters, rng)
    members = [np.flatnonzero(groups == number) for number in range(len(middles))]
    phrases = standing_out([[kept[i].text for i in rows] for rows in members])
    found = []
    for number, (rows, words) in enumerate(zip(members, phrases, strict=True)):
        if progress is not None:
            progress(number + 1, len(members))
        if not len(rows) or not words:
            continue
        nearest = rows[np.argsort(-(vectors[rows] @ middles[number]), kind="stable")][:READ]
        question = f"Should we support {words[0]}?"
        scores = detect_checked(detector, question, [kept[i].text for i in nearest])
        labels = [score.label for score in scores]
        mix = Mix(*(labels.count(side) for side in (Stance.PRO, Stance.CON, Stance.NEUTRAL)))
        if min(mix.pro, mix.con) >= BOTH:
            ids = tuple(kept[i].id for i in nearest[:5])
            name = f"cluster-{number + 1}"
            found.append(Proposal(name, question, words, len(rows), mix, ids))
    return tuple(sorted(found, key=lambda one: (-min(one.mix.pro, one.mix.con), one.id)))


def spherical_kmeans(
    vectors: NDArray[Any], clusters: int, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any]]:
    """(group of each vector (n,), middles (k, d) of length 1) for vectors (n, d) of length 1.

    Started by k-means++; at most 25 rounds; k is `clusters`, or n where there are fewer.

    Source: Dhillon and Modha 2001; the start after Arthur and Vassilvitskii 2007.
    """
    middles = vectors[[int(rng.integers(len(vectors)))]]
    while len(middles) < min(clusters, len(vectors)):
        away = np.maximum(0.0, 1.0 - (vectors @ middles.T).max(axis=1))
        if away.sum() <= 1e-9:  # what is left repeats a middle
            break
        chosen = int(rng.choice(len(vectors), p=away / away.sum()))
        middles = np.vstack([middles, vectors[chosen]])
    groups = np.full(len(vectors), -1)
    for _ in range(ROUNDS):
        found = (vectors @ middles.T).argmax(axis=1)
        if np.array_equal(found, groups):
            break
        groups = found
        for number in range(len(middles)):
            total = vectors[groups == number].sum(axis=0)
            length = np.linalg.norm(total)
            if length > 0:
                middles[number] = total / length
    return groups, middles


def standing_out(groups: Sequence[Sequence[str]], *, count: int = 5) -> list[tuple[str, ...]]:
    """For each group of texts the phrases of one or two words that stand out, best first.

    A phrase weighs: the share of the group's texts that have it, times log(1 + groups / groups'
    worth of it elsewhere); pairs of words count half as much again.
    """
    having = [Counter(p for text in texts for p in set(_phrases(text))) for texts in groups]
    shares = [
        {phrase: n / len(texts) for phrase, n in found.items() if n >= 2 or len(texts) < 4}
        for found, texts in zip(having, groups, strict=True)
    ]
    everywhere: Counter[str] = Counter()
    for found in shares:
        everywhere.update(found)
    return [
        tuple(
            sorted(
                found,
                key=lambda p: (-found[p] * log(1 + 1 / everywhere[p]) * (1 + p.count(" ") / 2), p),
            )[:count]
        )
        for found in shares
    ]  # fmt: skip


def _phrases(text: str) -> list[str]:
    words = [word.casefold() for word in _WORD.findall(text)]
    telling = [len(word) >= _SHORTEST and word not in _COMMON for word in words]
    pairs = zip(pairwise(words), pairwise(telling), strict=True)
    single = [word for word, tells in zip(words, telling, strict=True) if tells]
    return single + [f"{a} {b}" for (a, b), both in pairs if all(both)]


def _drawn(
    passages: Iterable[Candidate], rng: np.random.Generator
) -> tuple[list[Candidate], NDArray[Any]]:
    """At most `SAMPLE` passages, each as likely, in their order, and their vectors (n, d)."""
    kept: list[tuple[int, Candidate]] = []
    for place, passage in enumerate(passages):
        if len(kept) < SAMPLE:
            kept.append((place, passage))
        elif (at := int(rng.integers(place + 1))) < SAMPLE:
            kept[at] = (place, passage)
    if not kept:
        raise InputError("questions are proposed from passages, and there are none")
    chosen = [passage for _, passage in sorted(kept, key=lambda pair: pair[0])]
    for passage in chosen:
        if passage.embedding is None:
            raise InputError(f"clusters need embeddings, and passage {passage.id!r} has none")
    rows = np.array([p.embedding for p in chosen], dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return chosen, np.asarray(rows / np.where(lengths > 0, lengths, 1.0))
