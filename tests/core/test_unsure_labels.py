"""Labels that the detector is not sure of: what they decide, and what the result says of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise import Balancer, Quota, Rag, Selection, Stance
from equipoise.selection.gate import Verdict
from equipoise.selection.random import RandomRule
from equipoise.testing import FakeDetector, ListRetriever
from equipoise.types import StanceScore

NORMATIVE, OPEN = "Should tea be banned?", "Is tea healthy?"
LABELS = {
    "P": StanceScore(0.9, 0.05, 0.05),
    "C": StanceScore(0.05, 0.9, 0.05),
    "N": StanceScore(0.1, 0.1, 0.8),
    "p": StanceScore(0.52, 0.38, 0.1),
    "c": StanceScore(0.38, 0.52, 0.1),
    "n": StanceScore(0.25, 0.25, 0.5),
}


def world(labels):
    """Texts such as "P0", "c1" (a small letter is unsure under 0.6) and their detector."""
    texts = [f"{kind}{index}" for index, kind in enumerate(labels)]
    return texts, FakeDetector({text: LABELS[text[0]] for text in texts})


def balance(labels, question=NORMATIVE, *, unsure_below=0.6, **options):
    texts, detector = world(labels)
    made = Balancer(detector=detector, unsure_below=unsure_below, **options)
    return made.balance(question, texts)


def ranks(selection):
    return [choice.retrieval_rank for choice in selection.chosen]


def test_a_toy_world_by_hand():
    #                    rank 12345678
    selection = balance("cPnPCPcN")
    # Seats: pro 2, 4; con 5; neutral 8. One seat is left over: rank 1 comes in by relevance.
    assert ranks(selection) == [1, 2, 4, 5, 8]
    assert [(c.retrieval_rank, c.reason) for c in selection.chosen if c.unsure] == [(1, "filled")]
    assert {out.retrieval_rank: (out.why, out.unsure) for out in selection.left_out} == {
        3: ("unsure", True),
        6: ("quota_full", False),
        7: ("unsure", True),
    }
    (short,) = selection.shortfalls
    assert (short.stance, short.wanted, short.found, short.unsure) == (Stance.CON, 2, 1, 2)
    assert selection.composition == {"pro": 2, "con": 2, "neutral": 1}
    assert (selection.unsure, selection.labelled) == (3, 8)
    assert selection.rule == "quota(2+2+1, pool 20, depth 50, unsure below 0.6)"
    assert selection.settings["unsure_below"] == 0.6


def test_a_side_that_only_unsure_labels_show_is_missing_though_one_is_chosen():
    selection = balance("PPcNcP")
    assert selection.decision.verdict is Verdict.ONE_SIDED
    assert selection.missing_side is Stance.CON
    assert selection.composition["con"] == 2
    assert [(s.stance, s.found, s.unsure) for s in selection.shortfalls] == [(Stance.CON, 0, 2)]


def test_copies_of_unsure_documents_are_not_counted_as_passed_over():
    texts = ["P0", "c1", "c1", "C1 ", " "]
    table = {text: LABELS[text[0]] for text in texts if text.strip()}
    selection = Balancer(detector=FakeDetector(table), unsure_below=0.6).balance(NORMATIVE, texts)
    con = next(short for short in selection.shortfalls if short.stance is Stance.CON)
    assert con.unsure == 1


def test_unsure_documents_past_the_last_seat_are_not_needed():
    selection = balance("PPCCNcp")
    assert {out.why for out in selection.left_out} == {"not_needed"}
    assert selection.shortfalls == ()


def test_without_a_threshold_no_label_is_unsure():
    selection = balance("cPnPCPcN", unsure_below=0.0)
    assert ranks(selection) == [1, 2, 3, 4, 5]
    assert selection.unsure == 0
    assert not any(choice.unsure for choice in selection.chosen)


def test_where_the_order_of_relevance_stands_unsure_labels_are_marked_too():
    selection = balance("pncnc", OPEN)
    assert selection.decision.why == "no document in the top 20 takes a side but unsure ones"
    assert ranks(selection) == [1, 2, 3, 4, 5]
    assert all(choice.unsure for choice in selection.chosen)


def test_a_document_without_a_label_is_not_unsure():
    selection = balance("pcnPC", "Who made tea?", unsure_below=0.9)
    assert selection.labelled == selection.unsure == 0
    assert not any(choice.unsure for choice in selection.chosen)


def test_another_rule_chooses_without_the_threshold_and_the_marks_are_there():
    options = {"rule": RandomRule(seed=3), "label_chosen": True}
    doubted = balance("pcn" * 4, unsure_below=0.9, **options)
    assert ranks(doubted) == ranks(balance("pcn" * 4, unsure_below=0.0, **options))
    assert all(choice.unsure for choice in doubted.chosen)
    assert {out.why for out in doubted.left_out} == {"not_selected"}


def test_settings_a_and_c_mark_the_same_labels():
    texts, detector = world("cPnPCPcN")
    rag = Rag(ListRetriever(texts), balancer=Balancer(detector=detector, unsure_below=0.6))
    plain, balanced = (answer.selection for answer in rag.compare(NORMATIVE))
    assert [choice.retrieval_rank for choice in plain.chosen if choice.unsure] == [1, 3]
    assert [choice.retrieval_rank for choice in balanced.chosen if choice.unsure] == [1]
    assert plain.settings["unsure_below"] == balanced.settings["unsure_below"] == 0.6


def test_a_near_copy_with_an_unsure_label_does_not_silence_the_sure_one():
    words = "the council should reject the charge for drivers who cannot choose their hours at all"
    planted, true = f"{words} today", f"{words} now"
    table = {planted: LABELS["c"], true: LABELS["C"], "P2": LABELS["P"]}
    texts = list(table)
    for below, kept in ((0.0, [1, 3]), (0.6, [2, 3])):
        made = Balancer(
            detector=FakeDetector(table), unsure_below=below, quota=Quota(1, 1, 0)
        ).balance(NORMATIVE, texts)
        assert ranks(made) == kept


def test_the_result_carries_the_marks_through_json_and_reads_older_results():
    selection = balance("cPnPCPcN")
    again = Selection.from_dict(json.loads(selection.to_json()))
    assert again == selection
    assert again.to_dict() == selection.to_dict()
    older = balance("cPnPCPcN", unsure_below=0.0).to_dict()
    stored = json.loads(json.dumps(older))
    del stored["unsure"], stored["settings"]["unsure_below"]
    for row in (*stored["documents"], *stored["shortfalls"]):
        del row["unsure"]
    read = Selection.from_dict(stored)
    assert read.unsure == 0
    assert {**read.to_dict(), "settings": older["settings"]} == older
    assert str(read) == str(Selection.from_dict(older))


WORDS = "each of these reports weighs what a ban on tea would cost the town in the year"


@st.composite
def pools(draw):
    """Texts with exact copies, near-copies and blanks among them, and a score for each."""
    shares = st.tuples(*(st.integers(0, 9) for _ in range(3))).filter(any)
    near = st.integers(0, 6).map(lambda n: f"{WORDS} {n}")
    plain = st.integers(0, 40).map(lambda n: f"text {n}")
    texts = draw(st.lists(st.one_of(near, plain, st.just(" ")), max_size=40))
    table = {}
    for text in dict.fromkeys(texts):
        if text.strip():
            share = draw(shares)
            table[text] = StanceScore(*(x / sum(share) for x in share))
    return texts, table


QUESTIONS = st.sampled_from([NORMATIVE, OPEN, "Who made tea?"])
THRESHOLDS = st.sampled_from([0.0, 0.35, 0.5, 0.6, 0.8, 0.99])
GATES = st.sampled_from(["always", "auto", "never"])


@given(pools(), QUESTIONS, THRESHOLDS, GATES)
def test_nothing_is_lost_and_every_mark_agrees_with_its_label(pool, question, below, gate):
    texts, table = pool
    balancer = Balancer(
        detector=FakeDetector(table), unsure_below=below, gate=gate, quota=Quota(pool=8, depth=20)
    )
    selection = balancer.balance(question, texts)
    rows = (*selection.chosen, *selection.left_out)
    assert sorted(row.retrieval_rank for row in rows) == list(range(1, len(texts) + 1))
    assert sorted(c.text for c in selection.ranking) == sorted(texts)
    for row in rows:
        assert row.unsure == (
            row.probabilities is not None and row.probabilities.confidence < below
        )
    assert not any(c.unsure and c.reason in ("quota", "reached") for c in selection.chosen)
    assert 0 <= selection.unsure <= selection.labelled


@given(pools(), QUESTIONS, THRESHOLDS)
def test_reading_every_label_first_gives_the_same_selection(pool, question, below):
    texts, table = pool

    class AllAtOnce(FakeDetector):
        lazy_batch = 1_000

    class OneByOne(FakeDetector):
        lazy_batch = 1

    made = [
        Balancer(detector=kind(table), unsure_below=below, quota=Quota(pool=8, depth=20)).balance(
            question, texts
        )
        for kind in (AllAtOnce, OneByOne)
    ]
    assert ranks(made[0]) == ranks(made[1])
    assert made[0].decision == made[1].decision
    assert made[0].shortfalls == made[1].shortfalls
    assert made[1].labelled <= made[0].labelled


@given(pools(), QUESTIONS, GATES, st.booleans())
def test_the_default_is_a_threshold_of_0(pool, question, gate, merge):
    texts, table = pool
    options = {"detector": FakeDetector(table), "gate": gate, "merge_duplicates": merge}
    plain, off = (
        Balancer(**options).balance(question, texts).to_dict(),
        Balancer(**options, unsure_below=0).balance(question, texts).to_dict(),
    )
    del plain["timings_ms"], off["timings_ms"]
    assert plain == off
    assert plain["unsure"] == 0
    assert "unsure" not in {row["left_out"] for row in plain["documents"]}


@pytest.mark.parametrize("below", [0.0, 0.6])
def test_the_detector_is_changed_and_the_threshold_stays(below):
    balancer = Balancer(detector=FakeDetector({}), unsure_below=below)
    assert balancer.with_detector(FakeDetector({"a": "pro"})).unsure_below == below
