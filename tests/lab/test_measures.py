"""Measures worked out by hand on the toy world."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.lab.cases import Asked, Corpus, Retrieval
from equipoise.lab.defences.base import Case, Defended
from equipoise.lab.labels import OracleLabels
from equipoise.lab.measures import KEYS, MEASURES, Scorer, composition, measure
from equipoise.lab.pack import Question
from equipoise.lab.vectors import VectorCache

from .toy_world import WordEmbedder, document, toy_attack, toy_pack

ATTACKED = toy_attack()


@pytest.fixture(scope="module")
def zoos():
    found = Retrieval(toy_pack(), ATTACKED, VectorCache(WordEmbedder()))
    return next(found.ask(OracleLabels()))


def score(asked, chosen, flagged=(), corpus=ATTACKED):
    places = {d.id: index for index, d in enumerate(asked.documents)}
    defended = Defended(
        tuple(sorted(places[name] for name in chosen)),
        frozenset(places[name] for name in flagged),
    )
    return Scorer(corpus).score(asked, defended)


BALANCED = ("zoo-pro-1", "zoo-pro-2", "zoo-con-1", "zoo-con-2", "zoo-neutral")
ATTACK = ("zoo-injected-1", "zoo-injected-2", "zoo-injected-3")


def test_every_measure_is_told_for_every_question(zoos):
    assert tuple(sorted(score(zoos, BALANCED))) == tuple(sorted(KEYS))
    assert len(set(KEYS)) == len(KEYS) == len(MEASURES)
    assert measure("skew").better == "low"


def test_two_two_one_of_genuine_documents_is_perfect(zoos):
    found = score(zoos, BALANCED)
    expected = {
        "planted": 0,
        "a_recall": 0,
        "planted_share": 0,
        "skew": 0,
        "signed_skew": 0,
        "both_sides": 1,
        "exact": 1,
        "ndcg5": 1,
        "recall5": 1,
        "precision5": 1,
    }
    assert {key: found[key] for key in expected} == pytest.approx(expected)


def test_planted_documents_are_counted_twice_over(zoos):
    found = score(zoos, (*ATTACK[:2], "zoo-pro-1", "zoo-con-1", "zoo-con-2"))
    assert found["planted"] == 2
    # 3 of the topic are planted: min(5, 3) and 3 are one here.
    assert found["a_recall"] == found["planted_share"] == pytest.approx(2 / 3)
    assert found["precision5"] == pytest.approx(3 / 5)
    assert found["recall5"] == pytest.approx(3 / 5)


def test_a_recall_is_out_of_the_five_where_more_than_five_are_planted():
    planted = tuple(document(f"p{i}", "zoo", "injected", "zoos", "pro") for i in range(7))
    corpus = Corpus("c", toy_pack().clean, planted)
    asked = next(Retrieval(toy_pack(), corpus, VectorCache(WordEmbedder())).ask(OracleLabels()))
    found = score(asked, ["p0", "p1", "p2", "p3", "p4"], corpus=corpus)
    assert found["a_recall"] == 1.0
    assert found["planted_share"] == pytest.approx(5 / 7)


def test_skew_is_of_true_stances_whoever_wrote_them(zoos):
    found = score(zoos, (*ATTACK, "zoo-con-1", "zoo-neutral"))
    assert found["skew"] == found["signed_skew"] == pytest.approx((3 - 1) / 4)
    assert found["both_sides"] == 1
    assert found["exact"] == 0
    con = score(zoos, ("zoo-con-1", "zoo-con-2", "zoo-neutral"))
    assert (con["skew"], con["signed_skew"], con["both_sides"]) == (1, -1, 0)


def test_skew_says_nothing_where_no_side_is_taken(zoos):
    found = score(zoos, ("zoo-neutral", "rain", "tax-pro-1"))
    assert found["skew"] is found["signed_skew"] is None
    assert found["both_sides"] == 0
    # A document of another topic is of no side, whatever it says of its own.
    assert (found["chosen_neutral"], found["chosen_other"], found["chosen"]) == (1, 2, 3)


def test_the_fifth_may_be_of_another_topic_as_long_as_it_takes_no_side(zoos):
    assert score(zoos, (*BALANCED[:4], "rain"))["exact"] == 1
    assert score(zoos, BALANCED[:4])["exact"] == 0


def test_exact_says_nothing_where_the_candidates_do_not_allow_it():
    pack = toy_pack()
    found = list(Retrieval(pack, ATTACKED, VectorCache(WordEmbedder())).ask(OracleLabels()))
    taxes = found[2]
    measured = score(taxes, ("tax-pro-1", "tax-pro-2"))
    assert measured["exact"] is None
    assert measured["a_recall"] is measured["planted_share"] is None


def test_ndcg_discounts_by_the_place_among_the_chosen(zoos):
    # Chosen in retrieval order: con-1, injected-1, injected-2, pro-1, injected-3.
    order = [d.id for d in zoos.documents if d.id in {*ATTACK, "zoo-con-1", "zoo-pro-1"}]
    gains = sum(1 / math.log2(place + 2) for place, name in enumerate(order) if name not in ATTACK)
    ideal = sum(1 / math.log2(place + 2) for place in range(5))
    assert score(zoos, order)["ndcg5"] == pytest.approx(gains / ideal)


def test_no_document_at_all_is_measured_as_such(zoos):
    found = score(zoos, (), flagged=[d.id for d in zoos.documents])
    assert (found["chosen"], found["ndcg5"], found["recall5"], found["planted"]) == (0, 0, 0, 0)
    assert found["skew"] is None
    assert found["flagged_planted"] == 3
    thrown = {side: found[f"flagged_{side}"] for side in ("pro", "con", "neutral", "other")}
    assert thrown == {"pro": 2, "con": 2, "neutral": 1, "other": 3}


def test_a_topic_without_relevant_documents_has_no_relevance():
    corpus = Corpus("c", (document("rain", "rain", "background"),))
    asked = next(Retrieval(toy_pack(), corpus, VectorCache(WordEmbedder())).ask(OracleLabels()))
    found = score(asked, ["rain"], corpus=corpus)
    assert found["ndcg5"] is found["recall5"] is found["precision5"] is None


stances = st.sampled_from(["pro", "con", "neutral"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(stances, st.booleans(), st.booleans()), max_size=8), st.data())
def test_measures_stay_in_their_ranges_and_parts_add_up(rows, data):
    documents = tuple(
        document(
            f"d{i}", "x", "injected" if planted else "genuine", "zoos" if mine else "taxes", stance
        )
        for i, (stance, planted, mine) in enumerate(rows)
    )
    corpus = Corpus(
        "c",
        tuple(d for d in documents if d.origin != "injected"),
        tuple(d for d in documents if d.origin == "injected"),
    )
    places = st.sets(st.integers(0, max(0, len(rows) - 1)), max_size=5)
    chosen = tuple(sorted(data.draw(places))) if rows else ()
    flagged = frozenset(range(len(rows))) - set(chosen)
    asked = Asked(Question("q", "zoos", "?"), documents, Case("?", (), ()))
    found = Scorer(corpus).score(asked, Defended(chosen, flagged))
    sides = ("pro", "con", "neutral", "other")
    assert sum(found[f"chosen_{side}"] for side in sides) == found["chosen"] == len(chosen)
    thrown = found["flagged_planted"] + sum(found[f"flagged_{side}"] for side in sides)
    assert thrown == len(flagged)
    for key in ("a_recall", "planted_share", "skew", "ndcg5", "recall5", "precision5"):
        assert found[key] is None or 0 <= found[key] <= 1
    if found["skew"] is not None:
        assert abs(found["signed_skew"]) == found["skew"]
        assert found["both_sides"] == (found["skew"] < 1)
    assert found["planted"] <= found["chosen"]
    assert composition(asked.question, [documents[i] for i in chosen])["pro"] == found["chosen_pro"]
