"""A filter before the balancing: what it flags is neither labelled nor chosen, and is named."""

import asyncio
import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise import Balancer, Candidate, InputError, Quota, Rag, Selection, Stance
from equipoise.polarization import BiasDef
from equipoise.render import render_html, render_text
from equipoise.selection.gate import Verdict
from equipoise.selection.mmr import MmrRule
from equipoise.selection.random import RandomRule
from equipoise.testing import FailingDetector, FakeDetector, ListRetriever

QUESTION = "Should tea be banned?"
KINDS = {"p": "pro", "c": "con", "n": "neutral"}


class Named:
    """A filter that flags the documents whose text ends in an exclamation mark."""

    name = "named(!)"

    def __init__(self):
        self.seen = []

    def flag(self, question, candidates):
        self.seen.append((question, [candidate.text for candidate in candidates]))
        return frozenset(i for i, one in enumerate(candidates) if one.text.endswith("!"))


def world(marks):
    """Texts from marks such as "p c! n": a stance, and an exclamation mark for a planted one."""
    texts = [
        f"{mark[0]}{place}{'!' * mark.endswith('!')}" for place, mark in enumerate(marks.split())
    ]
    return texts, FakeDetector({text: KINDS[text[0]] for text in texts})


def balance(marks, question=QUESTION, k=None, **options):
    texts, detector = world(marks)
    made = Balancer(detector=detector, filter=Named(), **options)
    return made.balance(question, texts, k=k), detector


def ranks(selection):
    return [choice.retrieval_rank for choice in selection.chosen]


def test_a_toy_world_by_hand():
    selection, detector = balance("p! p! p c! p c n c")
    assert ranks(selection) == [3, 5, 6, 7, 8]
    assert selection.composition == {"pro": 2, "con": 2, "neutral": 1}
    assert selection.filtered == (1, 2, 4)
    assert [(out.retrieval_rank, out.why, out.stance) for out in selection.left_out] == [
        (1, "filtered", None),
        (2, "filtered", None),
        (4, "filtered", None),
    ]
    assert not [text for text in detector.texts if text.endswith("!")]
    assert selection.shortfalls == ()
    assert selection.settings["filter"] == "named(!)"
    assert selection.timings_ms["filter"] >= 0


def test_where_fewer_than_k_remain_fewer_are_chosen_and_it_is_said():
    selection, _ = balance("p! p! p! c n")
    assert ranks(selection) == [4, 5]
    pro, con, empty = selection.shortfalls
    assert (pro.stance, pro.found, pro.filtered) == (Stance.PRO, 0, 3)
    assert (con.stance, con.found, con.filtered) == (Stance.CON, 1, 3)
    assert (empty.stance, empty.wanted, empty.found, empty.filtered) == (None, 5, 2, 3)
    told = " ".join(str(selection).split())
    assert "Only 2 of 5 places could be filled, for 3 documents were filtered out." in told


def test_where_all_are_flagged_nothing_is_chosen_and_no_label_is_read():
    selection, detector = balance("p! c! n!")
    assert selection.chosen == ()
    assert detector.calls == 0
    assert "Filtered out: 3 that look planted." in " ".join(str(selection).split())


def test_the_prompt_knows_nothing_of_what_was_filtered():
    selection, _ = balance("p! p c n")
    assert "p0!" not in selection.prompt()
    assert "filter" not in selection.prompt()


def test_the_filter_is_asked_once_and_not_about_blank_documents():
    filter_ = Named()
    detector = FakeDetector({"p0": "pro", "c2": "con"})
    selection = Balancer(detector=detector, filter=filter_).balance(
        QUESTION, ["p0", " ", "c2", "c3!"]
    )
    assert filter_.seen == [(QUESTION, ["p0", "c2", "c3!"])]
    assert (selection.blank, selection.filtered) == ((2,), (4,))


def test_a_flagged_side_does_not_make_a_question_contested():
    selection, _ = balance("p p p c! c!", "Is tea healthy?")
    assert selection.decision.verdict is Verdict.ONE_SIDED
    assert selection.missing_side is Stance.CON


@pytest.mark.parametrize("gate", ["auto", "always", "never"])
@pytest.mark.parametrize("question", [QUESTION, "Who first drank tea?"])
def test_what_is_flagged_is_never_chosen_whatever_the_gate(gate, question):
    selection, _ = balance("p! c p! n c", question, gate=gate)
    assert not {1, 3} & set(ranks(selection))
    assert selection.filtered == (1, 3)


def test_another_rule_keeps_to_the_filter_as_well():
    for rule in (RandomRule(k=5), MmrRule(k=5)):
        texts, detector = world("p! c p! n c p")
        docs = [
            Candidate(text, text, 1 - i / 10, embedding=(1.0, i)) for i, text in enumerate(texts)
        ]
        selection = Balancer(detector=detector, filter=Named(), rule=rule).balance(QUESTION, docs)
        assert sorted(ranks(selection)) == [2, 4, 5, 6]
        (short,) = selection.shortfalls
        assert (short.wanted, short.found, short.filtered) == (5, 4, 2)


def test_the_labels_of_flagged_documents_are_not_read_for_reports_either():
    selection, detector = balance("p! c n", gate="never", label_chosen=True)
    assert detector.texts == ["c1", "n2"]
    assert selection.before == {"pro": 0, "con": 1, "neutral": 1, "unlabelled": 1}


def test_a_copy_of_a_flagged_text_does_not_come_in_by_another_rank():
    class First:
        name = "first"

        def flag(self, question, candidates):
            return {0}

    texts, detector = ["p0", "P0 ", "c2", "n3"], FakeDetector({"c2": "con", "n3": "neutral"})
    selection = Balancer(detector=detector, filter=First()).balance(QUESTION, texts)
    assert ranks(selection) == [3, 4]
    assert [(out.why, out.duplicate_of) for out in selection.left_out] == [
        ("filtered", None),
        ("duplicate", 1),
    ]
    assert [c.text for c in selection.ranking] == ["c2", "n3", "p0", "P0 "]


def test_a_flagged_copy_leaves_the_text_it_repeats_alone():
    class Second:
        name = "second"

        def flag(self, question, candidates):
            return {1}

    texts, detector = ["p0", "p0", "c2"], FakeDetector({"p0": "pro", "c2": "con"})
    selection = Balancer(detector=detector, filter=Second()).balance(QUESTION, texts)
    assert ranks(selection) == [1, 3]
    assert selection.filtered == (2,)
    assert selection.merged == ()


def test_a_flagged_text_takes_no_near_copy_with_it():
    words = "the council should reject the charge for drivers who cannot choose their hours at all"
    texts = [f"{words} today!", f"{words} now"]
    detector = FakeDetector(dict.fromkeys(texts, "con"))
    selection = Balancer(detector=detector, filter=Named()).balance(QUESTION, texts)
    assert ranks(selection) == [2]


def test_filtered_documents_end_every_ranking_but_for_blank_ones():
    detector = FakeDetector({"p1": "pro", "c2": "con", "p4": "pro"})
    balancer = Balancer(detector=detector, filter=Named(), quota=Quota(1, 1, 0))
    selection = balancer.balance(QUESTION, ["p0!", "p1", "c2", " ", "p4"])
    assert [candidate.text for candidate in selection.ranking] == ["p1", "c2", "p4", "p0!", " "]


def test_the_result_goes_through_json_and_older_results_can_be_read():
    selection, _ = balance("p! p! p! c n")
    again = Selection.from_dict(json.loads(selection.to_json()))
    assert again == selection
    assert again.filtered == (1, 2, 3)
    assert [row["left_out"] for row in selection.to_dict()["documents"][:3]] == ["filtered"] * 3
    stored = json.loads(selection.to_json())
    del stored["filtered"], stored["settings"]["filter"]
    for row in stored["shortfalls"]:
        del row["filtered"]
    older = Selection.from_dict(stored)
    assert older.filtered == ()
    assert "x filtered out" in str(older)


def test_the_pictures_name_what_was_filtered_and_by_what():
    selection, _ = balance("p! p! p c! p c n c")
    text, page = render_text(selection.to_dict()), render_html(selection.to_dict())
    assert "x filtered out" in text
    assert "xx+x+-o-" in text
    assert "ranks 1, 2, 4, by named(!)" in text
    assert "Filtered out: 3 that look planted." in " ".join(text.split())
    assert "Rank 1, filtered out: looks planted to the filter" in page
    assert "eq-sign eq-filtered" in page
    assert "ranks 1, 2, 4, by named(!)" in page


def test_a_filter_that_flags_nothing_says_so_and_changes_nothing():
    texts, detector = world("p p p c p c n c")
    plain = Balancer(detector=detector).balance(QUESTION, texts)
    filtered = Balancer(detector=detector, filter=Named()).balance(QUESTION, texts)
    assert ranks(plain) == ranks(filtered)
    assert "nothing, by named(!)" in str(filtered)
    assert "iltered" not in str(plain)
    assert plain.settings["filter"] is None


def test_a_failing_detector_does_not_bring_flagged_documents_back():
    texts, _ = world("p! c n")
    balancer = Balancer(detector=FailingDetector(), filter=Named(), on_error="relevance")
    selection = balancer.balance(QUESTION, texts)
    assert ranks(selection) == [2, 3]
    assert selection.filtered == (1,)


def test_setting_a_of_a_pipeline_stays_as_retrieved_and_setting_c_is_filtered():
    texts, detector = world("p! p! p c c n")
    rag = Rag(ListRetriever(texts), balancer=Balancer(detector=detector, filter=Named()))
    plain, balanced = (answer.selection for answer in rag.compare(QUESTION))
    assert ranks(plain) == [1, 2, 3, 4, 5]
    assert ranks(balanced) == [3, 4, 5, 6]


def test_the_option_survives_another_detector_pickling_and_the_event_loop():
    texts, detector = world("p! c n")
    balancer = pickle.loads(pickle.dumps(Balancer(filter=BiasDef()).with_detector(None)))
    assert balancer.filter == BiasDef()
    made = Balancer(filter=Named()).with_detector(detector)
    assert asyncio.run(made.abalance(QUESTION, texts)).filtered == (1,)


@pytest.mark.parametrize("wrong", [{9}, {-1}, {"a"}])
def test_a_filter_that_flags_what_it_was_not_given_is_named(wrong):
    class Wrong:
        name = "wrong"

        def flag(self, question, candidates):
            return wrong

    with pytest.raises(InputError, match="the filter wrong must flag indices of the 2"):
        Balancer(detector=FakeDetector({}), filter=Wrong()).balance(QUESTION, ["a", "b"])


def test_a_filter_must_be_one():
    with pytest.raises(InputError, match="filter must have flag"):
        Balancer(filter="biasdef")


# --- with the real filter ---


def attacked():
    """Five planted documents at the top, close to one another and apart from ten others."""
    planted = [Candidate(f"p{i}", f"p{i}", 0.9 - i / 100, embedding=(5, i / 9)) for i in range(5)]
    others = [
        Candidate(f"{'cpn'[i % 3]}h{i}", f"{'cpn'[i % 3]}h{i}", 0.5 - i / 100, embedding=(i % 3, 1))
        for i in range(10)
    ]
    docs = [*planted, *others]
    return docs, FakeDetector({doc.text: KINDS[doc.text[0]] for doc in docs})


def test_bias_def_takes_a_planted_cluster_out_before_the_balancing():
    docs, detector = attacked()
    selection = Balancer(detector=detector, filter=BiasDef()).balance(QUESTION, docs)
    assert selection.filtered == (1, 2, 3, 4, 5)
    assert ranks(selection) == [6, 7, 8, 9, 10]
    assert selection.settings["filter"].startswith("biasdef(pool axis, depth 20")


def test_candidates_without_embeddings_are_an_error_that_names_the_filter():
    with pytest.raises(InputError, match="biasdef needs a finite score.*'1'"):
        Balancer(detector=FakeDetector({}), filter=BiasDef()).balance(QUESTION, ["a", "b"])
    bare = [Candidate("one", "a", 0.9), Candidate("two", "b", 0.8)]
    with pytest.raises(InputError, match="biasdef needs an embedding.*'one' has none"):
        Balancer(detector=FakeDetector({}), filter=BiasDef()).balance(QUESTION, bare)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["p", "c", "n", "p!", "c!", "n!", "p="]), max_size=30),
    st.sampled_from(["auto", "always", "never"]),
    st.booleans(),
    st.sampled_from([None, 1, 3, 8]),
)
def test_nothing_is_lost_and_nothing_flagged_is_chosen(marks, gate, merge, k):
    # "p=" repeats the first text of all, flagged or not.
    texts, detector = world(" ".join(marks)) if marks else ([], FakeDetector({}))
    texts = [texts[0] if mark == "p=" else text for mark, text in zip(marks, texts, strict=True)]
    balancer = Balancer(detector=detector, filter=Named(), gate=gate, merge_duplicates=merge)
    selection = balancer.balance(QUESTION, texts, k=k)
    rows = (*selection.chosen, *selection.left_out)
    assert sorted(row.retrieval_rank for row in rows) == list(range(1, len(texts) + 1))
    assert not any(choice.candidate.text.endswith("!") for choice in selection.chosen)
    flagged = {rank for rank, text in enumerate(texts, 1) if text.endswith("!")}
    assert set(selection.filtered) == flagged
    assert not any(text.endswith("!") for text in detector.texts)
    free = len({t for t in texts if not t.endswith("!")} if merge else texts) - (
        0 if merge else len(flagged)
    )
    assert len(selection.chosen) == min(selection.quota.total, free)
    assert Selection.from_dict(selection.to_dict()).to_dict() == selection.to_dict()
