"""Asking the retriever again for a side that is missing or short."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Final

from equipoise._candidates import to_candidates
from equipoise.balancer import Balancer
from equipoise.errors import InputError
from equipoise.result import Choice, Selection
from equipoise.selection.sought import Sought, SoughtQuery
from equipoise.stance.question import canonical_question
from equipoise.types import Reason, Retriever, Stance

# The words of whoever argues that side, and the question as it is: this needs no grammar of it, and
# found as much as rewritten statements ("X should not be Y") did; see docs/log.md.
_FORMS: Final = {
    Stance.PRO: (
        "supporters argue in favour: {question}",
        "arguments in favour: {question}",
        "{question} The answer is yes: the benefits outweigh the harms.",
    ),
    Stance.CON: (
        "critics and opponents argue against: {question}",
        "arguments against: {question}",
        "{question} The answer is no: the harms and risks outweigh the benefits.",
    ),
}


@dataclass(frozen=True, slots=True)
class Seek:
    """How a retriever is asked again when a balanced selection is short of pro or con.

    `queries` in 1 to 3 are asked for each side that is short, in English words that state it. The
    retriever is asked for as many documents as it gave before and `budget` more, and up to `k` >= 1
    new ones of each query are taken, the best of each in turn, `budget` >= 1 in all. They come
    after every rank found before, and are labelled only as far as seats are still open: nothing
    that had a seat of its stance gives it up, and no more than `budget` labels are added.

    Not asked for: a question whose order of relevance stands (a fact is not given another side),
    neutral documents, and another rule than the quota. Whoever can plant documents can write them
    for these queries too: what they bring is told apart in `Selection.sought`.

    Raises:
        InputError: a number is out of its range.

    Source: ours.
    """

    queries: int = 2
    k: int = 20
    budget: int = 40

    def __post_init__(self) -> None:
        for name, most in (("queries", 3), ("k", None), ("budget", None)):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole or value < 1 or (most is not None and value > most):
                within = f"in 1 to {most}" if most else ">= 1"
                raise InputError(f"Seek.{name} must be an int {within}, got {value!r}")

    def extend(
        self,
        selection: Selection,
        retriever: Retriever,
        candidates: Sequence[Any],
        *,
        balancer: Balancer,
        k: int | None = None,
    ) -> Selection:
        """`selection`, or the one that further documents make of it.

        Args:
            selection: what `balancer` made of `candidates` with this `k`.
            retriever: is asked once a query.
            candidates: in retrieval order.
            balancer: gives labels again; one that remembers them costs only the new ones.
            k: as in `Balancer.balance`.

        Raises:
            InputError, DetectorError: as `Balancer.balance`; and what the retriever raises.
        """
        sides = _short_sides(selection)
        if not sides:
            return selection
        began = time.perf_counter()
        asked = self._asked(selection.question, sides)
        new = self._new(retriever, [text for _, text in asked], list(candidates))
        retrieve_ms = round(1e3 * (time.perf_counter() - began), 4)
        numbers = list(enumerate((number for number, _ in new), start=len(candidates) + 1))
        queries = tuple(
            SoughtQuery(side, text, tuple(rank for rank, query in numbers if query == number))
            for number, (side, text) in enumerate(asked)
        )
        extended = selection
        if new:
            documents = [*candidates, *(item for _, item in new)]
            depth = max(balancer.quota.depth, len(documents))
            deeper = balancer.with_quota(replace(balancer.quota, depth=depth))
            extended = deeper.balance(selection.question, documents, k=k)
        taken = tuple(
            c.retrieval_rank for c in extended.chosen if c.retrieval_rank > len(candidates)
        )
        times = [selection.timings_ms] + [extended.timings_ms] * bool(new)
        return replace(
            extended,
            chosen=tuple(_told(c) if c.retrieval_rank in taken else c for c in extended.chosen),
            sought=Sought(queries, selection.missing_side, sides, taken, retrieve_ms),
            timings_ms=_summed(times, retrieve_ms),
        )

    def _asked(self, question: str, sides: Iterable[str]) -> list[tuple[Stance, str]]:
        """(side, words) of each query: the first of every side, then the second, and so on."""
        positive, negated = canonical_question(question)
        stances = [Stance(side) for side in sides]
        return [
            (side, _FORMS[side.opposite if negated else side][number].format(question=positive))
            for number in range(self.queries)
            for side in stances
        ]

    def _new(
        self, retriever: Retriever, queries: Sequence[str], known: Sequence[Any]
    ) -> list[tuple[int, Any]]:
        """(number of the query, document) of what was not found before, best of each in turn."""
        seen = {candidate.text for candidate in to_candidates(known)[1]}
        lists = []
        for query in queries:
            # Subtle: so many, for other queries may have what this one gives first.
            items, read, _ = to_candidates(retriever.retrieve(query, len(known) + self.budget))
            lists.append(list(zip(items, (candidate.text for candidate in read), strict=True)))
        new: list[tuple[int, Any]] = []
        taken: Counter[int] = Counter()
        for turn in zip_longest(*lists):
            for number, entry in enumerate(turn):
                full = len(new) == self.budget or taken[number] == self.k
                if entry is None or full or entry[1] in seen:
                    continue
                seen.add(entry[1])
                taken[number] += 1
                new.append((number, entry[0]))
        return new


def _short_sides(selection: Selection) -> dict[str, int]:
    """Side -> seats filled, for pro and con that a quota is short of; none where none applied."""
    return {s.stance.value: s.found for s in selection.shortfalls if s.stance in _FORMS}


def _told(choice: Choice) -> Choice:
    """The choice of a new document, with that as its reason; what only fills a seat still does."""
    return choice if choice.reason is Reason.FILLED else replace(choice, reason=Reason.SOUGHT)


def _summed(times: Sequence[Mapping[str, float]], retrieve_ms: float) -> dict[str, float]:
    """Milliseconds by stage over the rounds, with those of retrieving again as `seek`."""
    stages = {stage: round(sum(t[stage] for t in times), 4) for stage in times[0]}
    return {**stages, "seek": retrieve_ms, "total": round(stages["total"] + retrieve_ms, 4)}
