from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.audit import Audited, Kind, Passage, Question, Settings, again, audit
from equipoise.audit.judging import judged
from equipoise.audit.near import families_of, month_of, value_of
from equipoise.audit.records import Audit, mix_of
from equipoise.errors import DetectorError, InputError
from equipoise.testing import FailingDetector, FakeDetector, ListRetriever
from equipoise.types import Candidate, Stance, StanceScore

EVEN = "pro con " * 10
LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen."


def kinds(seen: Audit, number: int = 0) -> set[str]:
    return {finding.kind.value for finding in seen.questions[number].findings}


def test_an_even_question_is_let_alone(passages, audit_of) -> None:
    assert kinds(judged(audit_of(passages(EVEN + "neutral " * 30)))) == set()


def test_twelve_against_one_is_one_sided(passages, audit_of) -> None:
    mixed = passages("pro con pro " + "pro " * 10 + "neutral " * 5)
    found = judged(audit_of(mixed, passages(EVEN))).questions[0].findings
    assert [f.kind for f in found] == [Kind.ONE_SIDED, Kind.MISSING_SIDE]
    assert (found[0].side, found[0].mix.pro, found[0].mix.con) == (Stance.PRO, 12, 1)
    assert found[0].p == pytest.approx(2 * 14 / 2**13)
    assert found[0].adjusted == pytest.approx(2 * found[0].p)  # two questions were tested


def test_four_against_none_is_too_few_to_tell_but_a_side_is_missing(passages, audit_of) -> None:
    found = judged(audit_of(passages("pro pro neutral pro pro"))).questions[0].findings
    assert [(f.kind.value, f.side.value, f.p) for f in found] == [("missing-side", "con", None)]


def test_a_question_without_sides_lacks_none(passages, audit_of) -> None:
    assert kinds(judged(audit_of(passages("neutral " * 20)))) == set()


def test_a_side_that_comes_after_the_depth_is_missing(passages, audit_of) -> None:
    late = passages("pro pro pro " + "neutral " * 60 + "con con con")
    assert "missing-side" in kinds(judged(audit_of(late)))
    assert "missing-side" not in kinds(judged(audit_of(late, depth=66)))


def test_copies_count_once_and_are_reported(passages, audit_of) -> None:
    copies = [replace(p, family=1) for p in passages("pro " * 12)]
    seen = judged(audit_of([*copies, *passages("con con neutral", start=13)]))
    assert seen.questions[0].mix() == mix_of(passages("pro con con neutral"))
    assert seen.questions[0].mix(once=False).pro == 12
    found = {f.kind: f for f in seen.questions[0].findings}
    assert set(found) == {Kind.MISSING_SIDE, Kind.COPIES}
    assert found[Kind.COPIES].mix.pro == 12


def test_a_top_that_leans_otherwise_than_what_is_near_is_found(passages, audit_of) -> None:
    top_pro = passages("pro " * 20 + "con " * 20 + "neutral " * 40)
    spread = passages("pro con neutral neutral " * 20)
    seen = judged(audit_of(top_pro, spread))
    assert (kinds(seen, 0), kinds(seen, 1)) == ({"shown"}, set())


@pytest.mark.parametrize(("field", "kind"), [("source", "source"), ("month", "month")])
def test_a_group_that_gives_one_side_is_found(passages, audit_of, field, kind) -> None:
    mixed = [
        *passages("con pro " * 4 + "neutral " * 30, **{field: "2026-01"}),
        *passages("pro " * 8, start=100, **{field: "2026-02"}),
    ]
    mixed = [p for pair in zip(mixed[::2], mixed[1::2], strict=True) for p in pair[::-1]]
    found = [f for f in judged(audit_of(mixed)).questions[0].findings if f.kind == kind]
    assert [(f.group, f.side, f.mix.pro, f.mix.con) for f in found] == [
        ("2026-02", Stance.PRO, 8, 0)
    ]


def test_what_is_unknown_is_no_group(passages, audit_of) -> None:
    mixed = [
        *passages("con pro " * 4 + "neutral " * 30, source="a"),
        *passages("pro " * 8, start=99),
    ]
    assert "source" not in kinds(judged(audit_of(mixed)))


def test_one_sided_arrivals_are_a_shift_and_balanced_ones_are_not(passages, audit_of) -> None:
    old = passages("pro con neutral neutral " * 20)
    earlier = audit_of(old, old, date="then")
    one_side = [*passages("pro " * 7, start=500), *old]
    both = [*passages("pro con pro con neutral neutral", start=500), *old]
    seen = judged(audit_of(one_side, both), earlier)
    shift = next(f for f in seen.questions[0].findings if f.kind is Kind.SHIFT)
    assert (shift.group, shift.side, shift.mix.pro) == ("arrived", Stance.PRO, 7)
    assert set(shift.passages) == {f"pro-{n}" for n in range(500, 507)}
    assert "shift" not in kinds(seen, 1)
    assert seen.against == "then"


def test_a_side_that_was_taken_away_is_a_shift(passages, audit_of) -> None:
    old = passages("pro con neutral neutral " * 12)
    left = [p for p in old if p.stance is not Stance.CON]
    seen = judged(audit_of(left), audit_of(old))
    shift = next(f for f in seen.questions[0].findings if f.kind is Kind.SHIFT)
    assert (shift.group, shift.side, shift.mix.con) == ("gone", Stance.CON, 12)


def test_the_same_corpus_has_no_shift_in_any_order(passages, audit_of) -> None:
    old = passages("pro pro pro con neutral " * 10)
    assert "shift" not in kinds(judged(audit_of(old[::-1]), audit_of(old)))


def test_copies_of_what_was_there_are_no_arrivals(passages, audit_of) -> None:
    old = passages("pro con neutral neutral " * 10)
    copies = [replace(p, family=1) for p in passages("pro " * 10, start=700)]
    seen = judged(audit_of([*old[:1], *copies, *old[1:]]), audit_of(old))
    assert "shift" not in kinds(seen)


def test_arrivals_beyond_the_depth_are_not_looked_at(passages, audit_of) -> None:
    old = passages("pro con neutral neutral " * 20)
    late = [*old, *passages("pro " * 8, start=900)]
    assert "shift" not in kinds(judged(audit_of(late), audit_of(old)))
    assert "shift" in kinds(judged(audit_of(late, depth=100), audit_of(old)))


def test_an_audit_by_another_detector_cannot_be_compared(passages, audit_of) -> None:
    made = audit_of(passages(EVEN))
    with pytest.raises(InputError, match="same detector"):
        judged(made, replace(made, detector="other"))
    with pytest.raises(InputError, match="same detector"):
        judged(made, audit_of(passages(EVEN), near=50))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["pro", "con", "neutral"]), min_size=1, max_size=60))
def test_swapping_the_sides_swaps_every_finding(stances: list[str]) -> None:
    def seen(turned: bool) -> list[tuple]:
        made = []
        for number, name in enumerate(stances, 1):
            stance = Stance(name).opposite if turned else Stance(name)
            lean = {"pro": 0.9, "con": -0.9}.get(stance.value, 0.0)
            made.append(Passage(str(number), str(number), stance, lean, None, number))
        audited = Audited(Question("1", "Q?"), tuple(made))
        found = judged(Audit("", "d", "", Settings(), (audited,))).questions[0].findings
        return [(f.kind, f.side.opposite if turned else f.side, f.p) for f in found]

    assert seen(False) == seen(True)


def test_families_are_copies_of_one_stance() -> None:
    near = LONG + " Fifteen."
    texts = [LONG, near, LONG.upper(), "Other words.", near + " Sixteen."]
    pro, con = StanceScore(0.9, 0.05, 0.05), StanceScore(0.05, 0.9, 0.05)
    assert families_of(texts, [pro, pro, pro, pro, con]) == [0, 0, 0, 3, 4]
    assert families_of(texts, [pro, pro, con, pro, con]) == [0, 0, 2, 3, 4]


def test_metadata_are_read_as_they_come() -> None:
    assert value_of({"lang": " en ", "language": ""}, ("language", "lang")) == "en"
    assert value_of({}, ("source",)) == "unknown"
    for value, month in (("2026-11-30", "2026-11"), ("2026-13", "unknown"), (None, "unknown")):
        assert month_of({"date": value}, ("arrived", "date")) == month


def test_an_audit_labels_what_is_near_and_leaves_blanks_out() -> None:
    texts = [Candidate("a", "for", score=0.9), Candidate("b", " "), Candidate("c", "no", score=0.2)]
    detector = FakeDetector({"for": "pro", "no": "con"})
    seen = audit(ListRetriever(texts), ["Q?"], detector=detector, corpus="c", date="d")
    assert [p.id for p in seen.questions[0].passages] == ["a", "c"]
    assert (seen.corpus, seen.date, seen.detector) == ("c", "d", detector.name)
    assert seen.questions[0].spread is None
    low = Settings(floor=0.5)
    only = audit(ListRetriever([texts[0], texts[2]]), ["Q?"], detector=detector, settings=low)
    assert [p.id for p in only.questions[0].passages] == ["a"]


def test_the_spread_of_scores_is_that_of_the_vectors() -> None:
    texts = {"a": "pro", "b": "pro", "c": "con", "d": "con"}
    rows = [
        Candidate(t, t, embedding=[x, 0.0]) for t, x in zip(texts, (1, 0.8, -1, -0.8), strict=True)
    ]
    seen = audit(ListRetriever(rows), ["Q?"], detector=FakeDetector(texts))
    spread = seen.questions[0].spread
    assert spread is not None
    assert spread.sign_fixed
    assert spread.alignment == pytest.approx(1.0)
    assert spread.sd == pytest.approx(0.905539, abs=1e-5)


def test_misuse_is_told() -> None:
    retriever, detector = ListRetriever(["a"]), FakeDetector({"a": "pro"})
    with pytest.raises(InputError, match="at least one question"):
        audit(retriever, [], detector=detector)
    with pytest.raises(InputError, match="there twice"):
        audit(retriever, [Question("1", "a"), Question("1", "b")], detector=detector)
    with pytest.raises(InputError, match="floor needs"):
        audit(retriever, ["Q?"], detector=detector, settings=Settings(floor=0.1))
    with pytest.raises(DetectorError):
        audit(retriever, ["Q?"], detector=FailingDetector())
    for wrong in ({"near": 0}, {"share": 0.5}, {"level": 1}, {"floor": 2}, {"least": 1}):
        with pytest.raises(InputError, match=f"Settings.{next(iter(wrong))}"):
            Settings(**wrong)


def test_other_thresholds_need_no_new_reading(passages, audit_of) -> None:
    seen = judged(audit_of(passages("pro " * 9 + "con con con")))
    assert "one-sided" not in kinds(seen)
    assert "one-sided" in kinds(again(seen, settings=Settings(level=0.2)))
    with pytest.raises(InputError, match="near decides"):
        again(seen, settings=Settings(near=7))
