"""The quota: so many pro, so many con, so many neutral, in one pass in rank order."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from itertools import islice

from equipoise.selection.unsure import checked_unsure_below, is_unsure
from equipoise.types import Candidate, Pick, Quota, Reason, Stance, StanceScore


@dataclass(frozen=True, slots=True)
class QuotaRule:
    """Chooses documents by stance quota.

    One greedy pass in retrieval order takes a document while its stance still has room, and stops
    when every seat is taken or `quota.depth` is reached; seats left over are filled in retrieval
    order. This is the same as the paper's two steps (the pool, then beyond it for what is short),
    because each stance takes its documents in rank order either way. Labels are read one by one,
    and none past the document that takes the last seat.

    A document whose label is unsure (its own probability is under `unsure_below`, in [0, 1); 0
    makes none unsure) gets no seat in the pass, neutral ones included: it is no evidence that a
    side is heard. It can still fill a seat that is left over.

    Cost: O(depth). Not for questions that nobody contests: there it displaces the documents that
    answer (see `gate`).

    Raises:
        InputError: `unsure_below` is not in [0, 1).

    Source: SP 3.4; unsure labels are ours.

    >>> rule = QuotaRule(Quota(pro=1, con=1, neutral=0))
    >>> docs = [Candidate(str(i), f"text {i}") for i in range(3)]
    >>> pro, con = StanceScore(0.8, 0.1, 0.1), StanceScore(0.1, 0.8, 0.1)
    >>> [pick.index for pick in rule.select(docs, [pro, pro, con])]
    [0, 2]
    """

    quota: Quota = field(default_factory=Quota)
    unsure_below: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "unsure_below", checked_unsure_below(self.unsure_below))

    @property
    def name(self) -> str:
        """The rule with its numbers, such as `quota(2+2+1, pool 20, depth 50)`.

        A threshold that is not 0 follows: `quota(2+2+1, pool 20, depth 50, unsure below 0.6)`.
        """
        q = self.quota
        unsure = f", unsure below {self.unsure_below:g}" if self.unsure_below else ""
        return f"quota({q.pro}+{q.con}+{q.neutral}, pool {q.pool}, depth {q.depth}{unsure})"

    def select(
        self,
        candidates: Sequence[Candidate],
        scores: Sequence[StanceScore],
        *,
        skip: Set[int] = frozenset(),
    ) -> list[Pick]:
        """At most `quota.total` picks; fewer only when there are fewer documents."""
        quota = self.quota
        room = {stance: quota.of(stance) for stance in Stance}
        open_seats = quota.total
        picks: list[Pick] = []
        for index in range(min(len(candidates), quota.depth)):
            if open_seats == 0:
                break
            if index in skip:
                continue
            score = scores[index]
            stance = score.label
            if room[stance] > 0 and not is_unsure(score, self.unsure_below):
                room[stance] -= 1
                open_seats -= 1
                picks.append(Pick(index, Reason.QUOTA if index < quota.pool else Reason.REACHED))
        return picks + fill(len(candidates), open_seats, taken=[p.index for p in picks], skip=skip)


def fill(count: int, seats: int, *, taken: Sequence[int], skip: Set[int]) -> list[Pick]:
    """The first `seats` indices in [0, count) that are neither taken nor skipped, by rank."""
    free = (index for index in range(count) if index not in taken and index not in skip)
    return [Pick(index, Reason.FILLED) for index in islice(free, seats)]
