"""What is found in passages that were seen: each finding by a stated test, corrected together.

Whether some of the passages lean otherwise than the rest is told by a permutation test of their
`lean` (the probability of pro less that of con), which sees more than labels do.

The tests of one kind, over all questions (and sources, or months), are corrected as one family by
Benjamini and Hochberg: of what is reported, a share of at most `level` is expected to be chance. A
test alone is not enough: the families in question must lead to one side, too (`Settings.share`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from equipoise.audit.chance import Mix, benjamini_hochberg, draw_p, even_p
from equipoise.audit.records import (
    UNKNOWN,
    Audit,
    Audited,
    Finding,
    Kind,
    Passage,
    Settings,
    leaning,
    mix_of,
    once_each,
)
from equipoise.errors import InputError
from equipoise.selection.duplicates import fold
from equipoise.types import Stance

ARRIVED, GONE = "arrived", "gone"


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A test of one group of passages near the question of that number, before correction."""

    question: int
    finding: Finding


def judged(audit: Audit, earlier: Audit | None = None) -> Audit:
    """The audit with its findings, in place of any it had.

    Raises:
        InputError: the earlier audit was labelled by another detector, or looked elsewhere.
    """
    questions, settings = audit.questions, audit.settings
    found = [*missing(questions, settings), *copied(questions, settings)]
    for tested in (one_sided, shown, sources, months):
        found += corrected(tested(questions, settings), settings)
    if earlier is not None:
        require_comparable(audit, earlier)
        found += corrected(shifts(questions, settings, earlier), settings)
    order = list(Kind)
    found.sort(key=lambda one: (order.index(one.finding.kind), one.finding.adjusted or 0.0))
    return replace(
        audit,
        against=None if earlier is None else earlier.date,
        questions=tuple(
            replace(q, findings=tuple(s.finding for s in found if s.question == number))
            for number, q in enumerate(questions)
        ),
    )


def corrected(tests: Iterable[Suspicion], settings: Settings) -> list[Suspicion]:
    """Those that hold after correction for all of `tests`, and whose side leads."""
    made = list(tests)
    adjusted = benjamini_hochberg([one.finding.p or 0.0 for one in made])
    return [
        replace(one, finding=replace(one.finding, adjusted=value))
        for one, value in zip(made, adjusted, strict=True)
        if value <= settings.level and leads(one.finding.mix, settings)
    ]


def leads(mix: Mix, settings: Settings) -> bool:
    """True when one side has enough families, and enough of those that take a side."""
    most = max(mix.pro, mix.con)
    return most >= settings.least and most >= settings.share * mix.sided


def one_sided(questions: Sequence[Audited], settings: Settings) -> Iterable[Suspicion]:
    """All that is near: do pro and con split more unevenly than even chance would?"""
    for number, question in enumerate(questions):
        mix = question.mix()
        if mix.sided:
            p = even_p(mix.pro, mix.con)
            yield _about(number, Kind.ONE_SIDED, "near", mix, mix, p, question.passages)


def shown(questions: Sequence[Audited], settings: Settings) -> Iterable[Suspicion]:
    """The top: does it lean farther than a blind draw from what is near would?"""
    for number, question in enumerate(questions):
        top, everything = question.mix(settings.shown), question.mix()
        if top.sided and top.total < everything.total:
            shown_ones = question.passages[: settings.shown]
            p = lean_p(shown_ones, question.passages)
            group = f"top {settings.shown}"
            yield _about(number, Kind.SHOWN, group, top, everything, p, shown_ones)


def sources(questions: Sequence[Audited], settings: Settings) -> Iterable[Suspicion]:
    """Each source that gives half of a side: does it lean farther than a blind draw?"""
    for number, question in enumerate(questions):
        everything = question.mix()
        for source, passages in question.by(lambda p: p.source).items():
            mix = mix_of(passages)
            side = leaning(mix)
            if source == UNKNOWN or side is Stance.NEUTRAL or mix.total == everything.total:
                continue
            if 2 * _of(mix, side) >= _of(everything, side):
                p = lean_p(passages, question.passages)
                yield _about(number, Kind.SOURCE, source, mix, everything, p, passages)


def months(questions: Sequence[Audited], settings: Settings) -> Iterable[Suspicion]:
    """Each month of arrival: does what came in it lean farther than a blind draw?"""
    for number, question in enumerate(questions):
        everything = question.mix()
        for month, passages in question.by(lambda p: p.month).items():
            mix = mix_of(passages)
            if month != UNKNOWN and mix.sided and mix.total < everything.total:
                p = lean_p(passages, question.passages)
                yield _about(number, Kind.MONTH, month, mix, everything, p, passages)


def missing(questions: Sequence[Audited], settings: Settings) -> Iterable[Suspicion]:
    """One side cannot fill its seats within the depth, and the other can. No test: a count."""
    for number, question in enumerate(questions):
        mix = question.mix(settings.depth)
        if min(mix.pro, mix.con) < settings.seats <= max(mix.pro, mix.con):
            side = leaning(mix).opposite
            group = f"top {settings.depth}"
            yield Suspicion(
                number, Finding(Kind.MISSING_SIDE, side, group, mix, question.mix())
            )  # fmt: skip


def copied(questions: Sequence[Audited], settings: Settings) -> Iterable[Suspicion]:
    """A family that takes several of the first places for one side. No test: a count."""
    for number, question in enumerate(questions):
        top = question.passages[: settings.shown]
        for family, size in sorted(Counter(p.family for p in top).items()):
            members = tuple(p for p in top if p.family == family)
            side = members[0].stance
            if size >= settings.copies and side is not Stance.NEUTRAL:
                mix = mix_of(members, once=False)
                group = f"copies of {question.passages[family - 1].id}"
                ids = tuple(p.id for p in members)
                finding = Finding(Kind.COPIES, side, group, mix, mix_of(top), passages=ids)
                yield Suspicion(number, finding)


def shifts(questions: Sequence[Audited], settings: Settings, earlier: Audit) -> Iterable[Suspicion]:
    """What came or went since the earlier audit: does it lean otherwise than what was there?

    Looked for within `depth`. A copy of what was there is no arrival, and what still has a copy has
    not gone. Questions that the earlier audit did not ask have no shift.
    """
    before = {fold(q.question.text): q for q in earlier.questions}
    for number, question in enumerate(questions):
        old = before.get(fold(question.question.text))
        if old is None:
            continue
        came = within(newcomers(question.passages, old.passages), question, settings.depth)
        went = within(newcomers(old.passages, question.passages), old, settings.depth)
        yield from shift(number, ARRIVED, came, old.passages)
        yield from shift(number, GONE, went, newcomers(old.passages, went))


def within(passages: Sequence[Passage], question: Audited, depth: int) -> tuple[Passage, ...]:
    """Those of `passages` that are among the first `depth` of the question."""
    first = set(question.passages[:depth])
    return tuple(passage for passage in passages if passage in first)


def newcomers(new: Sequence[Passage], old: Sequence[Passage]) -> tuple[Passage, ...]:
    """The passages of `new` whose whole family is not among `old`, by their texts."""
    known = {passage.digest for passage in old}
    familiar = {passage.family for passage in new if passage.digest in known}
    return tuple(passage for passage in new if passage.family not in familiar)


def shift(
    question: int, group: str, passages: Sequence[Passage], rest: Sequence[Passage]
) -> Iterable[Suspicion]:
    """The test of passages that came or went, held against the rest; none where none has a side."""
    mix = mix_of(passages)
    if mix.sided:
        p = draw_p(_leans(passages), _leans(rest))
        everything = mix + mix_of(rest)
        yield _about(question, Kind.SHIFT, group, mix, everything, p, passages)


def lean_p(some: Sequence[Passage], everything: Sequence[Passage]) -> float:
    """P that a blind draw of families from `everything` leans as far as `some` of them."""
    chosen = {passage.family for passage in some}
    rest = [passage for passage in everything if passage.family not in chosen]
    return draw_p(_leans(some), _leans(rest))


def require_comparable(audit: Audit, earlier: Audit) -> None:
    """Nothing, when the two audits looked alike: same detector, same `near`, same floor.

    Raises:
        InputError: they did not.
    """
    now = (audit.detector, audit.settings.near, audit.settings.floor)
    then = (earlier.detector, earlier.settings.near, earlier.settings.floor)
    if now != then:
        raise InputError(
            "an earlier audit must have the same detector, near and floor, or a shift would be "
            f"one of method: now {now}, then {then}. Run the earlier one again with these settings"
        )


def _about(
    number: int,
    kind: Kind,
    group: str,
    mix: Mix,
    against: Mix,
    p: float,
    passages: Sequence[Passage],
) -> Suspicion:
    side = leaning(mix)
    ids = () if kind is Kind.ONE_SIDED else tuple(x.id for x in passages if x.stance is side)
    return Suspicion(number, Finding(kind, side, group, mix, against, p=p, passages=ids))


def _leans(passages: Iterable[Passage]) -> list[float]:
    return [passage.lean for passage in once_each(passages)]


def _of(mix: Mix, side: Stance) -> int:
    return int(getattr(mix, side.value))
