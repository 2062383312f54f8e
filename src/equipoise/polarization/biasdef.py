"""BiasDef: a filter for planted documents, from their similarity and their Polarization Score."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from equipoise.errors import InputError
from equipoise.polarization._vectors import Floats, matrix
from equipoise.polarization.axis import PolarizationAxis
from equipoise.polarization.cut import Cut, Guard
from equipoise.polarization.divergence import Divergence, Gaussian, between
from equipoise.polarization.outliers import Outliers
from equipoise.types import Candidate

GiveBack = Literal["rise", "best", "none"]
AxisFor = Callable[[str, Sequence[Candidate]], PolarizationAxis]


@dataclass(frozen=True, slots=True)
class BiasDefReport:
    """What BiasDef saw and did. Documents are indices of the candidates.

    Attributes:
        flagged: the documents to drop: suspects left, and outliers.
        why: in a sentence.
        threshold: the similarity half way between the two parts; None where no cut separates.
        divergence: of the best cut, in nats; 0 where there is no cut to look at.
        needed: what the guard asks the divergence to exceed; 0 without a guard.
        thresholds: the cuts looked at, from the highest similarity down.
        divergences: beside them, of each cut.
        scores: the Polarization Score of each document looked at, in the order of candidates.
        suspects: the suspect part of the best cut.
        given_back: of these, in order, the ones found to be benign.
        outliers: documents of the benign part that were flagged after all, strongest first.
        spared: outliers that were not flagged, for too many would have been.
    """

    flagged: frozenset[int]
    why: str
    threshold: float | None = None
    divergence: float = 0.0
    needed: float = 0.0
    thresholds: tuple[float, ...] = ()
    divergences: tuple[float, ...] = ()
    scores: tuple[float, ...] = ()
    suspects: frozenset[int] = frozenset()
    given_back: tuple[int, ...] = ()
    outliers: tuple[int, ...] = ()
    spared: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class BiasDef:
    """Flags documents that are more similar to the question and more polarized than the rest.

    Reads `score` (of which only the order counts) and `embedding` of each candidate, no label and
    no model. Three steps: cut by similarity where the scores of the two parts differ most; give
    back suspects that score like the benign part; find planted documents that the cut missed. The
    reviews leave much open; every such choice is a setting.

    Attributes:
        axis: "pool" is the first principal component of the documents looked at, needs no anchors,
            and is where a planted cluster shows. Or a `PolarizationAxis`, or a function (question,
            candidates) -> `PolarizationAxis`, of one direction.
        depth: how many documents, from the first rank on, are looked at; >= 1. The others are
            never flagged. Off-topic documents further down turn the axis of the pool into one of
            topic, and all that is on topic into suspects.
        divergence: how the parts are compared, and in which direction; "first" is the part of
            higher similarity.
        cut: which cuts are looked at, and which part is suspect.
        guard: None flags something for almost every question.
        give_back: "rise" gives back the suspect that scores nearest to the mean of the benign part,
            and goes on while the divergence rises; "best" goes on to the end and keeps the step
            where it was largest; "none" gives nothing back.
        outliers: which documents of the benign part are flagged after all.

    Cost: O(n^2 d) for n = depth; about 6 ms for 50 documents of 384 dimensions. Not for pools whose
    honest documents already differ by subject: a second subject is a cluster as well. Not for
    planted documents that are as different from one another as honest ones
    (docs/polarization.md has the figures).

    Raises:
        InputError: a setting is of a wrong kind or out of range.

    Source: EBI, BiasDef; all defaults are ours.

    >>> near = [Candidate(f"p{i}", "x", 0.9 - i / 100, embedding=(5, i / 9)) for i in range(6)]
    >>> far = [Candidate(f"h{i}", "x", 0.5 - i / 100, embedding=(i % 3, 1)) for i in range(8)]
    >>> sorted(BiasDef().flag("Should it be legal?", [*near, *far]))
    [0, 1, 2, 3, 4, 5]
    """

    axis: Literal["pool"] | PolarizationAxis | AxisFor = "pool"
    depth: int = 20
    divergence: Divergence = field(default_factory=Gaussian)
    cut: Cut = field(default_factory=Cut)
    guard: Guard | None = field(default_factory=Guard)
    give_back: GiveBack = "rise"
    outliers: Outliers = field(default_factory=Outliers)

    def __post_init__(self) -> None:
        given = isinstance(self.axis, PolarizationAxis) or callable(self.axis)
        if not (given or (isinstance(self.axis, str) and self.axis == "pool")):
            raise InputError(
                f'axis must be "pool", a PolarizationAxis or a function, got {self.axis!r}'
            )
        if isinstance(self.depth, bool) or not isinstance(self.depth, int) or self.depth < 1:
            raise InputError(f"depth must be an int >= 1, got {self.depth!r}")
        if self.give_back not in get_args(GiveBack):
            raise InputError(f"give_back must be one of {get_args(GiveBack)}: {self.give_back!r}")
        for value, kind in ((self.cut, Cut), (self.outliers, Outliers)):
            if not isinstance(value, kind):
                raise InputError(f"BiasDef needs a {kind.__name__}, got {value!r}")
        if not isinstance(self.divergence, Divergence):
            raise InputError(f"divergence must have cuts(scores), got {self.divergence!r}")
        if not (self.guard is None or isinstance(self.guard, Guard)):
            raise InputError(f"guard must be a Guard or None, got {self.guard!r}")

    @property
    def name(self) -> str:
        """The filter with its settings, such as `biasdef(pool axis, depth 20, ...)`."""
        axis = self.axis if isinstance(self.axis, str) else "given"
        guard = "no guard" if self.guard is None else self.guard.name
        parts = (self.divergence.name, self.cut.name, guard, f"give back {self.give_back}")
        return f"biasdef({', '.join((f'{axis} axis, depth {self.depth}', *parts))}, " + (
            f"{self.outliers.name})"
        )

    def flag(self, question: str, candidates: Sequence[Candidate]) -> frozenset[int]:
        """Indices of the candidates, in retrieval order, that look planted.

        Raises:
            InputError: one of the documents looked at has no score or no embedding, or the
                embeddings differ in length.
        """
        return self.explain(question, candidates).flagged

    def explain(self, question: str, candidates: Sequence[Candidate]) -> BiasDefReport:
        """The same, with how it came to it.

        Raises:
            InputError: as `flag`, or the axis does not fit the embeddings.
        """
        looked_at = candidates[: self.depth]
        similarities, vectors = _read(looked_at)
        if len(looked_at) < 2 * self.cut.smallest:
            return BiasDefReport(
                frozenset(), f"{len(looked_at)} documents are too few to cut in two"
            )
        scores = self._scores(question, looked_at, vectors)
        if scores is None:
            return BiasDefReport(frozenset(), "all embeddings are alike")
        # From here on in the order of similarity; ties keep the order of retrieval.
        order = np.argsort(-similarities, kind="stable")
        found = self._cut(similarities[order], scores[order])
        report = replace(found, scores=tuple(scores.tolist()))
        if report.threshold is not None:
            report = self._refined(report, scores[order], vectors[order])
        return _renumbered(report, order.tolist())

    def _scores(
        self, question: str, candidates: Sequence[Candidate], vectors: Floats
    ) -> Floats | None:
        """Polarization Scores (n,), or None where the pool has no axis."""
        if self.axis == "pool":
            if not np.ptp(vectors, axis=0).max() > 1e-9 * np.abs(vectors).max():
                return None
            return PolarizationAxis.fit(vectors).score(vectors)
        axis = self.axis
        if not isinstance(axis, PolarizationAxis):
            assert callable(axis)
            axis = axis(question, candidates)
        if not isinstance(axis, PolarizationAxis) or len(axis.directions) != 1:
            raise InputError(f"biasdef needs a PolarizationAxis of one direction, got {axis!r}")
        return axis.score(vectors)

    def _cut(self, similarities: Floats, scores: Floats) -> BiasDefReport:
        """Step 1: the cut with the largest divergence, where it is large enough."""
        allowed = self.cut.allowed(similarities, scores)
        if not allowed.any():
            return BiasDefReport(frozenset(), "no threshold of similarity cuts them in two")
        divergences = self.divergence.cuts(scores)
        # Subtle: the first of equals, which makes the fewest suspects.
        at = int(np.where(allowed, divergences, -1.0).argmax())
        middles = (similarities[:-1] + similarities[1:]) / 2
        needed = self.guard.needed(self.divergence, scores, allowed) if self.guard else 0.0
        report = BiasDefReport(
            frozenset(),
            "no cut separates more than chance would",
            divergence=float(divergences[at]),
            needed=needed,
            thresholds=tuple(middles[allowed].tolist()),
            divergences=tuple(divergences[allowed].tolist()),
        )
        if divergences[at] <= needed:
            return report
        below = bool(self.cut.below(scores)[at])
        suspects = range(at + 1, len(scores)) if below else range(at + 1)
        return replace(report, threshold=float(middles[at]), suspects=frozenset(suspects))

    def _refined(self, report: BiasDefReport, scores: Floats, vectors: Floats) -> BiasDefReport:
        """Steps 2 and 3, for documents in the order of similarity."""
        given_back = self._given_back(scores, sorted(report.suspects))
        suspects = sorted(report.suspects.difference(given_back))
        benign = [i for i in range(len(scores)) if i not in suspects]
        found = [benign[i] for i in self.outliers.find(vectors[benign], vectors[suspects])]
        room = self.cut.limit(len(scores)) - len(suspects)
        flagged = frozenset([*suspects, *found[:room]])
        return replace(
            report,
            flagged=flagged,
            why=f"{len(flagged)} of {len(scores)} documents look planted",
            given_back=given_back,
            outliers=tuple(found[:room]),
            spared=tuple(found[room:]),
        )

    def _given_back(self, scores: Floats, suspects: list[int]) -> tuple[int, ...]:
        """Step 2: suspects that score like the benign part, in the order they are given back."""
        if self.give_back == "none":
            return ()
        benign = [i for i in range(len(scores)) if i not in suspects]
        above = suspects[0] < benign[0]
        best, keep, moved = -math.inf, 0, list[int]()
        while True:
            parts = (suspects, benign) if above else (benign, suspects)
            now = between(self.divergence, *(scores[part] for part in parts))
            if now > best:
                best, keep = now, len(moved)
            elif self.give_back == "rise":
                break
            if len(suspects) <= self.cut.smallest:
                break
            middle = scores[benign].mean()
            nearest = min(suspects, key=lambda i: abs(scores[i] - middle))
            suspects = [i for i in suspects if i != nearest]
            benign = [*benign, nearest]
            moved.append(nearest)
        return tuple(moved[:keep])


def _read(candidates: Sequence[Candidate]) -> tuple[Floats, Floats]:
    """Similarities (n,) and vectors (n, d) of the candidates."""
    for candidate in candidates:
        if candidate.score is None or not math.isfinite(candidate.score):
            raise InputError(
                f"biasdef needs a finite score for every document; {candidate.id!r} has "
                f"{candidate.score!r}. Give the retriever's similarity"
            )
        if candidate.embedding is None:
            raise InputError(
                f"biasdef needs an embedding for every document; {candidate.id!r} has none. "
                "Retrieve with embeddings=True, or leave the filter out"
            )
    if len({len(c.embedding or ()) for c in candidates}) > 1:
        raise InputError("biasdef needs embeddings of one length; the documents have several")
    similarities = np.array([c.score for c in candidates], dtype=np.float64)
    if not len(candidates):
        return similarities, np.zeros((0, 1))
    return similarities, matrix([c.embedding for c in candidates], what="embeddings")


def _renumbered(report: BiasDefReport, order: list[int]) -> BiasDefReport:
    """The report with places in the order of similarity turned into indices of the candidates."""
    return replace(
        report,
        flagged=frozenset(order[i] for i in report.flagged),
        suspects=frozenset(order[i] for i in report.suspects),
        given_back=tuple(order[i] for i in report.given_back),
        outliers=tuple(order[i] for i in report.outliers),
        spared=tuple(order[i] for i in report.spared),
    )
