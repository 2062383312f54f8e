"""The quota: so many pro, so many con, so many neutral, in one pass in rank order."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from itertools import islice

from equipoise.selection.sources import Sources, Voices
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

    With `sources`, the pass takes at most `sources.most` documents of one source for the seats of
    one stance and passes over the others: it reads further, to the next source. They come last
    when seats left over are filled, after sources with fewer documents chosen, so that no seat
    stays empty for them.

    Cost: O(depth). Not for questions that nobody contests: there it displaces the documents that
    answer (see `gate`).

    Raises:
        InputError: `unsure_below` is not in [0, 1).

    Source: SP 3.4; unsure labels and sources are ours.

    >>> rule = QuotaRule(Quota(pro=1, con=1, neutral=0))
    >>> docs = [Candidate(str(i), f"text {i}") for i in range(3)]
    >>> pro, con = StanceScore(0.8, 0.1, 0.1), StanceScore(0.1, 0.8, 0.1)
    >>> [pick.index for pick in rule.select(docs, [pro, pro, con])]
    [0, 2]
    """

    quota: Quota = field(default_factory=Quota)
    unsure_below: float = 0.0
    sources: Sources | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "unsure_below", checked_unsure_below(self.unsure_below))

    @property
    def name(self) -> str:
        """The rule with its numbers, such as `quota(2+2+1, pool 20, depth 50)`.

        A threshold that is not 0 follows: `quota(2+2+1, pool 20, depth 50, unsure below 0.6)`; and
        so does what one source may have: `quota(2+2+1, pool 20, depth 50, 1 a source)`.
        """
        q = self.quota
        unsure = f", unsure below {self.unsure_below:g}" if self.unsure_below else ""
        voices = f", {self.sources.most} a source" if self.sources else ""
        seats = f"{q.pro}+{q.con}+{q.neutral}"
        return f"quota({seats}, pool {q.pool}, depth {q.depth}{unsure}{voices})"

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
        voices = Voices(self.sources, candidates)
        picks: list[Pick] = []
        for index in range(min(len(candidates), quota.depth)):
            if open_seats == 0:
                break
            if index in skip:
                continue
            score = scores[index]
            stance = score.label
            fit = room[stance] > 0 and not is_unsure(score, self.unsure_below)
            if fit and voices.may_sit(index, stance):
                voices.seat(index, stance)
                room[stance] -= 1
                open_seats -= 1
                picks.append(Pick(index, Reason.QUOTA if index < quota.pool else Reason.REACHED))
        if open_seats == 0:  # nothing more is read, of `skip` neither
            return picks
        taken = {pick.index for pick in picks}
        free = (i for i in range(len(candidates)) if i not in taken and i not in skip)
        by_rank = islice(voices.fresh_first(free), open_seats)
        return picks + [Pick(index, Reason.FILLED) for index in by_rank]
