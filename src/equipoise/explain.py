"""What happened to every document, told as a Selection."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from equipoise.result import Choice, LeftOut, Merged, Selection, Shortfall
from equipoise.selection.duplicates import Copies
from equipoise.selection.gate import Decision
from equipoise.selection.unsure import is_unsure
from equipoise.types import Candidate, Pick, Quota, Reason, Stance, StanceScore


@dataclass(frozen=True, slots=True)
class Plan:
    """One question's documents, made ready: what the stages pass along.

    `unsure_below`, in [0, 1), is the probability under which a label is unsure. `filtered` are the
    indices that a filter flagged, `unsourced` those that name no source (where sources count).
    """

    question: str
    items: Sequence[Any]
    candidates: Sequence[Candidate]
    unscored: tuple[int, ...]
    blank: frozenset[int]
    copies: Copies
    quota: Quota
    unsure_below: float = 0.0
    filtered: frozenset[int] = frozenset()
    unsourced: tuple[int, ...] = ()

    @property
    def fixed(self) -> frozenset[int]:
        """Indices that take no seat whatever their stance: blank, filtered, exact copies."""
        return self.blank | self.filtered | self.copies.exact.keys()

    @property
    def unread(self) -> frozenset[int]:
        """Indices that get no label: blank, filtered, and copies of filtered texts."""
        copies = (i for i, first in self.copies.exact.items() if first in self.filtered)
        return self.blank | self.filtered | frozenset(copies)


class Seen(Protocol):
    """What is known of the labels: those read so far, and how many texts a model was asked for."""

    @property
    def seen(self) -> Mapping[int, StanceScore]:
        """Scores by index, without asking for more."""
        ...

    @property
    def labelled(self) -> int:
        """Texts that went to the model."""
        ...


def explain(
    plan: Plan,
    scores: Seen,
    decision: Decision,
    *,
    picks: Sequence[Pick],
    merged: Mapping[int, int],
    rule: str,
    by_quota: bool,
    timings_ms: Mapping[str, float],
    settings: Mapping[str, Any],
    failure: str | None,
) -> Selection:
    """The Selection that `picks` make of `plan`, its documents in retrieval order.

    `merged` maps near-copies that gave up their seat to the text they repeat.
    """
    picks = sorted(picks, key=lambda pick: pick.index)
    known = _with_copies(scores.seen, plan)
    chosen = tuple(
        Choice(
            plan.candidates[pick.index],
            *_stance(known.get(pick.index)),
            retrieval_rank=pick.index + 1,
            reason=pick.reason,
            item=plan.items[pick.index],
            unsure=_unsure(plan, known.get(pick.index)),
        )
        for pick in picks
    )
    copies = {**plan.copies.exact, **merged}
    shortfalls = tuple(_shortfalls(plan, known, picks, copies=copies, by_quota=by_quota))
    missing = decision.missing or _missing_side(shortfalls)
    return Selection(
        question=plan.question,
        chosen=chosen,
        left_out=tuple(_left_out(plan, known, picks, copies=copies, by_quota=by_quota)),
        composition=_composition(choice.stance for choice in chosen),
        before=_before(plan, known),
        decision=decision,
        one_sided=missing is not None,
        missing_side=missing,
        shortfalls=shortfalls,
        merged=_merged(plan.copies, merged),
        unscored=plan.unscored,
        blank=tuple(sorted(index + 1 for index in plan.blank)),
        labelled=scores.labelled,
        timings_ms={stage: round(value, 4) for stage, value in timings_ms.items()},
        quota=plan.quota,
        rule=rule,
        settings=settings,
        failure=failure,
        unsure=sum(
            _unsure(plan, score) for index, score in scores.seen.items() if index not in plan.unread
        ),
        filtered=tuple(sorted(index + 1 for index in plan.filtered)),
        unsourced=tuple(index + 1 for index in plan.unsourced),
    )


def _unsure(plan: Plan, score: StanceScore | None) -> bool:
    return score is not None and is_unsure(score, plan.unsure_below)


def _stance(score: StanceScore | None) -> tuple[Stance | None, StanceScore | None]:
    return (score.label, score) if score is not None else (None, None)


def _with_copies(seen: Mapping[int, StanceScore], plan: Plan) -> dict[int, StanceScore]:
    """Labels by index; a copy has the label of the text it repeats, an unread text none."""
    unread = plan.unread
    known = {index: score for index, score in seen.items() if index not in unread}
    for index, original in plan.copies.exact.items():
        if original in known:
            known[index] = known[original]
    return known


def _composition(stances: Iterable[Stance | None]) -> dict[str, int]:
    counts = Counter(stance.value if stance else "unlabelled" for stance in stances)
    made = {stance.value: counts[stance.value] for stance in Stance}
    return made | ({"unlabelled": counts["unlabelled"]} if counts["unlabelled"] else {})


def _before(plan: Plan, known: Mapping[int, StanceScore]) -> dict[str, int]:
    first = range(min(plan.quota.total, len(plan.candidates)))
    return _composition(_stance(known.get(index))[0] for index in first)


def _missing_side(shortfalls: Sequence[Shortfall]) -> Stance | None:
    """The side of which not one document was found for its seats, when the other had some."""
    empty = {s.stance for s in shortfalls if s.found == 0 and s.stance is not None}
    sides = empty & {Stance.PRO, Stance.CON}
    return next(iter(sides)) if len(sides) == 1 else None


def _left_out(
    plan: Plan,
    known: Mapping[int, StanceScore],
    picks: Sequence[Pick],
    *,
    copies: Mapping[int, int],
    by_quota: bool,
) -> Iterable[LeftOut]:
    taken = {pick.index for pick in picks}
    stopped_at = _stopped_at(plan, picks)
    for index, candidate in enumerate(plan.candidates):
        if index in taken:
            continue
        if index in plan.blank:
            why = "blank"
        elif index in plan.filtered:
            why = "filtered"
        elif index in copies:
            why = "duplicate"
        elif not by_quota:
            why = "not_selected"
        elif index >= plan.quota.depth:
            why = "beyond_depth"
        elif index > stopped_at:
            why = "not_needed"
        elif _unsure(plan, known.get(index)):
            why = "unsure"
        else:
            why = "source_full" if _had_room(plan, known, picks, index) else "quota_full"
        yield LeftOut(
            candidate,
            *_stance(known.get(index)),
            retrieval_rank=index + 1,
            why=why,
            duplicate_of=copies[index] + 1 if index in copies else None,
            item=plan.items[index],
            unsure=_unsure(plan, known.get(index)),
        )


def _had_room(
    plan: Plan, known: Mapping[int, StanceScore], picks: Sequence[Pick], index: int
) -> bool:
    """True when the stance of the document at `index` had seats left as the pass came to it.

    What was sure and is left out all the same was passed over for its source.
    """
    if index not in known:
        return False
    stance = known[index].label
    before = [p.index for p in picks if p.reason is not Reason.FILLED and p.index < index]
    return sum(known[i].label is stance for i in before) < plan.quota.of(stance)


def _stopped_at(plan: Plan, picks: Sequence[Pick]) -> int:
    """The index of the document that took the last seat, or the last index of all."""
    seated = [pick.index for pick in picks if pick.reason is not Reason.FILLED]
    return max(seated) if len(seated) == plan.quota.total else len(plan.candidates)


def _shortfalls(
    plan: Plan,
    known: Mapping[int, StanceScore],
    picks: Sequence[Pick],
    *,
    copies: Mapping[int, int],
    by_quota: bool,
) -> Iterable[Shortfall]:
    reached = min(len(plan.candidates), plan.quota.depth)
    if by_quota:
        seats = {p.index for p in picks if p.reason is not Reason.FILLED}
        seated = Counter(known[index].label for index in seats)
        # Of a stance that is short, who has no seat was passed over: as unsure, or for its source.
        passed_over = Counter(
            (score.label, _unsure(plan, score))
            for index, score in known.items()
            if index < reached and index not in copies and index not in seats
        )
        dropped = sum(index < reached for index in plan.filtered)
        for stance in Stance:
            wanted, found = plan.quota.of(stance), seated[stance]
            if found < wanted:
                yield Shortfall(
                    stance,
                    wanted,
                    found,
                    reached,
                    unsure=passed_over[stance, True],
                    filtered=dropped,
                    same_source=passed_over[stance, False],
                )
    if len(picks) < plan.quota.total:
        total, among = len(plan.candidates), len(plan.filtered)
        yield Shortfall(None, plan.quota.total, len(picks), total, filtered=among)


def _merged(copies: Copies, near: Mapping[int, int]) -> tuple[Merged, ...]:
    groups: dict[tuple[int, str], list[int]] = {}
    for kind, pairs in (("exact", copies.exact), ("near", near)):
        for index, original in sorted(pairs.items()):
            groups.setdefault((original, kind), []).append(index)
    return tuple(
        Merged(
            kept=original + 1,
            dropped=tuple(index + 1 for index in members),
            kind=kind,
            similarity=min(
                1.0 if kind == "exact" else copies.near[index][original] for index in members
            ),
        )
        for (original, kind), members in sorted(groups.items())
    )
