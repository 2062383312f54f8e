"""Our Balancer as a defence: the same as the rule, and never a label read twice."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.defences import Case, defence
from equipoise.lab.defences.balanced import CaseDetector
from equipoise.selection.quota import QuotaRule
from equipoise.stance.base import LazyScores
from equipoise.testing import FailingDetector, FakeDetector
from equipoise.types import Candidate, StanceScore

LABEL = {
    "pro": StanceScore(0.9, 0.05, 0.05),
    "con": StanceScore(0.05, 0.9, 0.05),
    "neutral": StanceScore(0.05, 0.05, 0.9),
}


def case(labels, texts=None, question="Should bread be free?"):
    texts = texts or [f"text {i}" for i in range(len(labels))]
    docs = tuple(Candidate(str(i), text) for i, text in enumerate(texts))
    return Case(question, docs, [LABEL[label] for label in labels])


@settings(max_examples=100)
@given(st.lists(st.sampled_from(sorted(LABEL)), max_size=60))
def test_the_quota_of_the_balancer_is_the_rule_of_the_paper(labels):
    at = case(labels)
    picks = QuotaRule().select(at.candidates, at.scores)
    assert defence("quota").defend(at).chosen == tuple(sorted(p.index for p in picks))
    assert defence("quota_prompt").defend(at).chosen == defence("quota").defend(at).chosen


def test_the_papers_own_example_fills_with_pro():
    # SP table 19: 11 pro, 9 con, 0 neutral in the top 20 and none below -> 3 pro + 2 con.
    at = case(["pro", *["con", "pro"] * 9, "pro", *["pro"] * 30])
    chosen = defence("quota").defend(at).chosen
    assert sorted(at.scores[i].label.value for i in chosen) == ["con", "con", "pro", "pro", "pro"]


def test_a_near_copy_of_the_same_side_takes_no_seat_when_copies_are_merged():
    long = "free bread would help the poor of this town through the winter and beyond"
    texts = [long, long + " it", "other", "against one", "against two", "third for"]
    at = case(["pro", "pro", "neutral", "con", "con", "pro"], texts)
    assert defence("quota").defend(at).chosen == (0, 1, 2, 3, 4)
    assert defence("quota_duplicates").defend(at).chosen == (0, 2, 3, 4, 5)


def test_the_gate_leaves_a_question_of_fact_alone_and_reads_no_label():
    texts = [f"text {i}" for i in range(8)]
    docs = tuple(Candidate(t, t) for t in texts)
    failing = FailingDetector()
    fact = Case("When was bread first sold?", docs, LazyScores(failing, "?", texts))
    assert defence("quota_gate").defend(fact).chosen == (0, 1, 2, 3, 4)
    assert failing.calls == 0


def test_the_gate_balances_a_contested_question():
    at = case(["pro"] * 5 + ["con"] * 2 + ["neutral"])
    assert defence("quota_gate").defend(at).chosen == (0, 1, 5, 6, 7)


def test_no_text_is_labelled_twice_and_none_past_the_last_seat():
    labels = ["pro", "pro", "con", "con", "neutral", "pro", "con"]
    texts = [f"text {i}" for i in range(7)]
    detector = FakeDetector(dict(zip(texts, labels, strict=True)))
    docs = tuple(Candidate(t, t) for t in texts)
    at = Case("Should it?", docs, LazyScores(detector, "?", texts, batch=1))
    for name in ("quota", "quota_prompt", "quota_duplicates", "quota_gate"):
        defence(name).defend(at)
    assert detector.texts == texts[:5]


def test_blank_texts_take_no_seat():
    at = case(["neutral", "pro", "pro", "con", "con", "neutral"], [" ", *"abcde"])
    assert defence("quota").defend(at).chosen == (1, 2, 3, 4, 5)


def test_the_case_detector_knows_the_texts_of_its_case_only():
    detector = CaseDetector(case(["pro", "con"], ["a", "b"]))
    assert [s.label.value for s in detector.detect("?", ["b", "a"])] == ["con", "pro"]
    with pytest.raises(InputError, match="'c'"):
        detector.detect("?", ["a", "c"])
