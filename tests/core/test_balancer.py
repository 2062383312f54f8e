import asyncio
import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise import Balancer, Candidate, DetectorError, InputError, Quota, Selection, Stance
from equipoise.selection.gate import Gate, Verdict
from equipoise.selection.random import RandomRule
from equipoise.selection.relevance import RelevanceRule
from equipoise.testing import FailingDetector, FakeDetector
from equipoise.types import StanceScore

QUESTION = "Should tea be banned?"
KINDS = {"p": "pro", "c": "con", "n": "neutral"}


def world(labels):
    """Texts such as "p0", "c1" and a detector that knows them."""
    texts = [f"{kind}{index}" for index, kind in enumerate(labels)]
    return texts, FakeDetector({text: KINDS[text[0]] for text in texts})


def balance(labels, question=QUESTION, k=None, **options):
    texts, detector = world(labels)
    return Balancer(detector=detector, **options).balance(question, texts, k=k)


def ranks(selection):
    return [choice.retrieval_rank for choice in selection.chosen]


def test_two_for_two_against_and_one_neutral_go_on_in_retrieval_order():
    selection = balance("ppppcpcnp")
    assert ranks(selection) == [1, 2, 5, 7, 8]
    assert selection.composition == {"pro": 2, "con": 2, "neutral": 1}
    assert selection.before == {"pro": 4, "con": 1, "neutral": 0}
    assert selection.decision.verdict is Verdict.CONTESTED
    assert not selection.one_sided
    assert selection.shortfalls == ()


def test_each_choice_says_its_stance_probabilities_and_reason():
    selection = balance("pp" + "n" * 20 + "cc")
    first, last = selection.chosen[0], selection.chosen[-1]
    assert (first.stance, first.reason, first.probabilities.pro) == (Stance.PRO, "quota", 0.9)
    assert (last.stance, last.reason, last.retrieval_rank) == (Stance.CON, "reached", 24)


def test_every_document_left_out_says_why():
    texts = ["p0", "p1", "P0", "p3", " ", "c5", "c6", "n7", "p8"]
    table = {t: KINDS[t[0].lower()] for t in texts if t.strip()}
    selection = Balancer(detector=FakeDetector(table)).balance(QUESTION, texts)
    why = {out.retrieval_rank: (out.why, out.duplicate_of) for out in selection.left_out}
    assert why == {
        3: ("duplicate", 1),
        4: ("quota_full", None),
        5: ("blank", None),
        9: ("not_needed", None),
    }
    assert selection.merged[0].kept == 1
    assert selection.merged[0].dropped == (3,)
    assert selection.blank == (5,)


def test_a_document_beyond_the_depth_says_so():
    selection = balance("ppnccc", quota=Quota(pool=2, depth=5))
    assert selection.left_out[-1].why == "beyond_depth"


def test_missing_side_is_said_and_never_pretended():
    selection = balance("p" * 60)
    assert selection.one_sided
    assert selection.missing_side is Stance.CON
    assert selection.composition == {"pro": 5, "con": 0, "neutral": 0}
    short = {s.stance: (s.wanted, s.found, s.searched_to_rank) for s in selection.shortfalls}
    assert short == {Stance.CON: (2, 0, 50), Stance.NEUTRAL: (1, 0, 50)}


@pytest.mark.parametrize(("n", "k"), [(6, 10), (1, 10), (0, 10), (3, 5)])
def test_asking_for_more_than_there_are_gives_all_and_says_so(n, k):
    selection = balance("pcn" * 2 if n == 6 else "p" * n, k=k)
    assert len(selection.chosen) == n
    empty = [s for s in selection.shortfalls if s.stance is None]
    assert [(s.wanted, s.found) for s in empty] == [(k, n)]


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_k_below_one_is_an_input_error(k):
    with pytest.raises(InputError, match="k must be"):
        balance("pcn", k=k)


@pytest.mark.parametrize("candidates", [[], None, ()])
def test_empty_in_is_empty_out_without_a_model_call(candidates):
    detector = FakeDetector({})
    selection = Balancer(detector=detector, gate="always").balance(QUESTION, candidates)
    assert selection.chosen == ()
    assert selection.ranking == ()
    assert detector.calls == 0


@pytest.mark.parametrize("candidates", [[""], ["   ", "\n"]])
def test_blank_bodies_are_named_and_never_chosen(candidates):
    detector = FakeDetector({})
    selection = Balancer(detector=detector, gate="always").balance(QUESTION, candidates)
    assert selection.chosen == ()
    assert selection.blank == tuple(range(1, len(candidates) + 1))
    assert detector.calls == 0


def test_host_objects_come_back_as_the_very_objects_that_went_in():
    given = ["p0", {"text": "c1", "title": "x", "nested": {"a": [1]}}, Candidate("id", "n2")]
    detector = FakeDetector({"p0": "pro", "c1": "con", "n2": "neutral"})
    selection = Balancer(detector=detector).balance(QUESTION, given)
    assert all(got is item for got, item in zip(selection.items, given, strict=True))
    assert selection.chosen[1].candidate.metadata == {"title": "x", "nested": {"a": [1]}}


def test_the_ranking_is_a_total_order_chosen_first_blank_last():
    texts = ["p0", "p1", " ", "p3", "c4", "c5", "n6"]
    detector = FakeDetector({t: KINDS[t[0]] for t in texts if t.strip()})
    selection = Balancer(detector=detector).balance(QUESTION, texts)
    assert [c.text for c in selection.ranking] == ["p0", "p1", "c4", "c5", "n6", "p3", " "]


def test_a_question_of_fact_keeps_the_order_of_relevance_and_loads_no_model():
    selection = Balancer(detector="no such model").balance("Who wrote it?", ["a", "b", "c"], k=2)
    assert ranks(selection) == [1, 2]
    assert selection.decision.verdict is Verdict.NOT_CONTESTED
    assert selection.labelled == 0
    assert selection.before == {"pro": 0, "con": 0, "neutral": 0, "unlabelled": 2}
    assert {choice.reason for choice in selection.chosen} == {"relevance"}


def test_the_papers_settings_balance_everything_and_merge_nothing():
    texts = ["p0", "p0", "p0", "c3", "n4", "c5"]
    detector = FakeDetector({t: KINDS[t[0]] for t in texts})
    paper = Balancer(detector=detector, gate="always", merge_duplicates=False)
    assert ranks(paper.balance("Who wrote it?", texts)) == [1, 2, 4, 5, 6]


def test_five_copies_of_one_document_take_one_seat():
    texts = ["p0"] * 5 + ["p5", "c6", "c7", "n8"]
    detector = FakeDetector({t: KINDS[t[0]] for t in texts})
    selection = Balancer(detector=detector).balance(QUESTION, texts)
    assert ranks(selection) == [1, 6, 7, 8, 9]
    assert selection.before["pro"] == 5


def test_a_score_that_is_not_a_number_is_said_to_be_unscored():
    texts = [{"text": "p0", "score": float("nan")}, {"text": "c1", "score": float("inf")}, "n2"]
    selection = Balancer(detector=world("pcn")[1]).balance(QUESTION, texts)
    assert selection.unscored == (1, 2)
    json.loads(selection.to_json())


def test_an_embedding_that_is_not_finite_names_the_document():
    with pytest.raises(InputError, match="'d7'"):
        Balancer().balance(QUESTION, [{"id": "d7", "text": "x", "embedding": [1.0, float("nan")]}])


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ("one text", "list in retrieval order, got str"),
        ([3], "document 1 must be .* got int"),
        ([{"body": "x"}], "document 1 must have a 'text'"),
        (["a", {"text": None}], "document 2 must have a 'text'"),
        ([{"text": "a", "score": "high"}], "score of document 1"),
        ([{"text": "a", "id": {"x": 1}}], "id of document 1"),
        ({"a", "b"}, "list in retrieval order, got set"),
        ([{"text": "a", "x": 1, "metadata": {"x": 2}}], "both beside and inside"),
    ],
)
def test_a_malformed_document_is_named(candidates, message):
    with pytest.raises(InputError, match=message):
        Balancer(detector=FakeDetector({})).balance(QUESTION, candidates)


@pytest.mark.parametrize("question", ["", "  ", None, 7])
def test_a_question_that_is_blank_or_no_text_is_refused(question):
    with pytest.raises(InputError, match="question"):
        Balancer(detector=FakeDetector({})).balance(question, ["a"])


def test_one_sidedness_does_not_depend_on_the_batch_of_the_detector():
    class OneByOne(FakeDetector):
        lazy_batch = 1

    texts, detector = world("p" * 20 + "c")
    table = {text: KINDS[text[0]] for text in texts}
    for made in (detector, OneByOne(table)):
        selection = Balancer(detector=made).balance("Is tea healthy?", texts)
        assert selection.decision.verdict is Verdict.ONE_SIDED
        assert selection.one_sided
        assert selection.missing_side is Stance.CON


def test_a_failed_detector_has_labelled_nothing():
    balancer = Balancer(detector=FailingDetector(), on_error="relevance")
    assert balancer.balance(QUESTION, ["a", "b"]).labelled == 0


def test_k_does_not_go_with_another_rule_whose_own_number_is_reported():
    texts, detector = world("ppppp")
    with pytest.raises(InputError, match="k scales a quota"):
        Balancer(detector=detector, rule=RelevanceRule(3)).balance(QUESTION, texts, k=2)
    selection = Balancer(detector=detector, rule=RelevanceRule(3)).balance(QUESTION, texts)
    assert selection.to_dict()["k"] == 3
    assert selection.shortfalls == ()


@pytest.mark.parametrize(
    "options",
    [
        {"quota": (2, 2, 1)},
        {"merge_duplicates": "no"},
        {"merge_duplicates": 1},
        {"rule": "quota"},
        {"detector": 5},
        {"gate": 3},
        {"gate": "sometimes"},
        {"on_error": "ignore"},
        {"unsure_below": 1.0},
        {"unsure_below": -0.1},
        {"unsure_below": float("nan")},
        {"unsure_below": True},
        {"unsure_below": "0.5"},
        {"unsure_below": None},
    ],
)
def test_an_option_of_a_wrong_kind_is_refused(options):
    with pytest.raises(InputError):
        Balancer(**options)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Candidate("a", "b", score="x"),
        lambda: Candidate("a", "b", embedding="abc"),
        lambda: Candidate("a", "b", embedding=5),
        lambda: StanceScore("a", 0, 1),
        lambda: Gate(sure="x"),
    ],
)
def test_data_of_a_wrong_kind_is_refused(make):
    with pytest.raises(InputError):
        make()


def test_a_detector_that_fails_raises_by_default():
    with pytest.raises(DetectorError):
        Balancer(detector=FailingDetector(DetectorError("down"))).balance(QUESTION, ["a"])


def test_a_detector_that_fails_can_keep_relevance_and_say_so():
    balancer = Balancer(detector=FailingDetector(DetectorError("down")), on_error="relevance")
    selection = balancer.balance(QUESTION, ["a", "b"])
    assert ranks(selection) == [1, 2]
    assert selection.failure == "DetectorError: down"
    assert selection.decision.verdict is Verdict.UNLABELLED
    assert selection.composition == {"pro": 0, "con": 0, "neutral": 0, "unlabelled": 2}


def test_an_error_that_is_no_detector_error_is_never_hidden():
    balancer = Balancer(detector=FailingDetector(ZeroDivisionError("bug")), on_error="relevance")
    with pytest.raises(ZeroDivisionError):
        balancer.balance(QUESTION, ["a"])


def test_another_rule_decides_alone():
    texts, detector = world("p" * 30)
    selection = Balancer(detector=detector, rule=RandomRule(seed=3)).balance(QUESTION, texts)
    assert selection.rule == "random(5 of 20, seed 3)"
    assert ranks(selection) == sorted(ranks(selection))
    assert detector.calls == 0
    assert {out.why for out in selection.left_out} == {"not_selected"}


def test_label_chosen_reads_labels_for_the_report_and_changes_no_choice():
    plain, told = (
        balance("pppppcn", gate="never"),
        balance("pppppcn", gate="never", label_chosen=True),
    )
    assert ranks(plain) == ranks(told)
    assert plain.labelled == 0
    assert told.composition == {"pro": 5, "con": 0, "neutral": 0}


async def test_the_asynchronous_form_gives_the_same_and_leaves_the_loop_free():
    texts, detector = world("ppppccn")
    balancer = Balancer(detector=detector)
    threads = set()
    inner = detector.detect

    class Watching(FakeDetector):
        def detect(self, question, texts):
            threads.add(threading.current_thread())
            return inner(question, texts)

    watched = Balancer(detector=Watching({}))
    results = await asyncio.gather(*(watched.abalance(QUESTION, texts) for _ in range(3)))
    assert all(ranks(r) == ranks(balancer.balance(QUESTION, texts)) for r in results)
    assert threading.main_thread() not in threads


def test_k_scales_the_quota_and_keeps_the_sides_equal():
    assert balance("pppppcccccnnnnn", k=10).composition == {"pro": 4, "con": 4, "neutral": 2}
    assert balance("pppppcccccnnnnn", k=1).composition == {"pro": 0, "con": 0, "neutral": 1}


@pytest.mark.parametrize(
    "make", [lambda: Quota(-1), lambda: Quota(0, 0, 0), lambda: Quota(pool=51), lambda: Quota(1.5)]
)
def test_a_quota_that_cannot_be_is_refused(make):
    with pytest.raises(InputError):
        make()


@st.composite
def scored(draw):
    shares = st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)).filter(any)
    rows = draw(st.lists(st.tuples(st.sampled_from("abcdef"), shares), max_size=60))
    texts = [f"{word} {index if index % 3 else 0}" for index, (word, _) in enumerate(rows)]
    table = {
        text: StanceScore(*(x / sum(s) for x in s))
        for text, (_, s) in zip(texts, rows, strict=True)
    }
    return texts, table


@given(
    scored(),
    st.sampled_from([QUESTION, "Is tea healthy?", "tea"]),
    st.sampled_from(["always", "auto", "never"]),
    st.booleans(),
    st.integers(1, 12),
    st.sampled_from([0.0, 0.4, 0.6, 0.9]),
)
def test_lazy_labels_choose_the_same_as_labelling_everything(
    data, question, gate, merge, k, unsure_below
):
    texts, table = data
    lazy = Balancer(
        detector=FakeDetector(table),
        gate=gate,
        merge_duplicates=merge,
        quota=Quota(pool=8, depth=20),
        unsure_below=unsure_below,
    ).balance(question, texts, k=k)
    from equipoise.selection.duplicates import Copies, Duplicates, Merging, find_copies
    from equipoise.selection.gate import decide
    from equipoise.selection.quota import QuotaRule

    quota = Quota(pool=8, depth=20).scaled(k) if k != 5 else Quota(pool=8, depth=20)
    everything = [table[text] for text in texts]
    copies = find_copies(texts, Duplicates()) if merge else Copies()
    fixed = frozenset(copies.exact)
    verdict = decide(
        Gate(gate), question, everything, quota=quota, skip=fixed, unsure_below=unsure_below
    )
    rule = QuotaRule(quota, unsure_below) if verdict.balance else RelevanceRule(k)
    merging = Merging(fixed, copies.near, everything, unsure_below=unsure_below)
    skip = merging if verdict.balance else fixed
    docs = [Candidate(str(i), text) for i, text in enumerate(texts)]
    full = sorted(pick.index + 1 for pick in rule.select(docs, everything, skip=skip))
    assert ranks(lazy) == full
    assert lazy.decision == verdict
    assert lazy.labelled <= len(texts)


@given(scored(), st.sampled_from([QUESTION, "Is tea healthy?", "Who made tea?"]))
def test_a_selection_survives_the_round_trip_through_json(data, question):
    texts, table = data
    selection = Balancer(detector=FakeDetector(table)).balance(question, texts)
    again = Selection.from_dict(json.loads(selection.to_json()))
    assert again.to_dict() == selection.to_dict()
    assert again.decision == selection.decision
    assert [c.candidate.text for c in again.chosen] == [c.candidate.text for c in selection.chosen]


def test_a_selection_of_another_schema_is_refused():
    with pytest.raises(InputError, match="schema"):
        Selection.from_dict({"schema": 99})
    with pytest.raises(InputError, match="not a selection"):
        Selection.from_dict({"schema": 1})


def test_threads_that_start_together_share_one_detector():
    balancer = Balancer()
    with ThreadPoolExecutor(8) as pool:
        loaded = list(pool.map(lambda _: balancer.detector, range(32)))
    assert len({id(detector) for detector in loaded}) == 1


def test_a_balancer_can_be_pickled_and_keeps_its_settings():
    again = pickle.loads(pickle.dumps(Balancer(quota=Quota(pro=1, con=1, neutral=0), gate="never")))
    assert again.quota == Quota(pro=1, con=1, neutral=0)
    assert again.gate == Gate("never")


def test_metadata_that_contains_itself_is_named_when_written_out():
    circular = {}
    circular["self"] = circular
    detector = FakeDetector({"a": "pro"})
    selection = Balancer(detector=detector).balance(
        QUESTION, [{"id": "d1", "text": "a", "metadata": circular}]
    )
    with pytest.raises(InputError, match="'d1' must not contain itself"):
        selection.to_dict()
