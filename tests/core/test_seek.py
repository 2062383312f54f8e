"""Asking the retriever again for a side that is short: what is asked, what comes in, what is said."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise import Balancer, Candidate, InputError, Quota, Rag, Seek, Selection, Stance
from equipoise.data import clean_corpus, contested
from equipoise.render import render_html, render_text
from equipoise.retrieval import MemoryRetriever, load_embedder
from equipoise.selection import RandomRule
from equipoise.testing import FakeDetector

QUESTION = "Should tea be banned?"
KINDS = {"p": "pro", "c": "con", "n": "neutral"}
AGAINST = "critics and opponents argue against"
FOR = "supporters argue in favour"


def texts(labels, name):
    return [f"{kind} {name} {index}" for index, kind in enumerate(labels)]


class Library:
    """A retriever: `first` for the question; then, for queries of a side, `first` and the others."""

    def __init__(self, first, *, con="", pro=""):
        self.first = texts(first, "found")
        self.more = {"against": texts(con, "con"), "favour": texts(pro, "pro")}
        self.asked = []

    def retrieve(self, question, k):
        self.asked.append((question, k))
        side = next((side for side in self.more if f"{side}:" in question), None)
        # What states a side is nearer to the query that states it.
        found = [*self.more.get(side, ()), *self.first]
        return [Candidate(text, text) for text in found][:k]


class Detector(FakeDetector):
    """Labels by the first letter."""

    def __init__(self):
        super().__init__({})

    def _look_up(self, text):
        return FakeDetector({text: KINDS[text[0]]}).detect("", [text])[0]


def ask(library, question=QUESTION, *, seek=None, setting="C", k=None, **options):
    detector = options.pop("detector", None) or Detector()
    rag = Rag(library, balancer=Balancer(detector=detector, **options), seek=seek)
    return rag.ask(question, setting=setting, k=k).selection


def rows(selection):
    return [(c.candidate.text, c.retrieval_rank, c.reason.value) for c in selection.chosen]


def test_a_missing_side_is_asked_for_and_found():
    library = Library("pppppn", con="cc")
    before = ask(library)
    assert before.missing_side is Stance.CON
    after = ask(library, seek=Seek(queries=1))
    assert rows(after) == [
        ("p found 0", 1, "quota"),
        ("p found 1", 2, "quota"),
        ("n found 5", 6, "quota"),
        ("c con 0", 7, "sought"),
        ("c con 1", 8, "sought"),
    ]
    assert library.asked[-1] == (f"{AGAINST}: {QUESTION}", 6 + 40)
    assert (after.one_sided, after.shortfalls) == (False, ())
    sought = after.sought
    assert (sought.missing_side, sought.found) == (Stance.CON, {"con": 0})
    assert [(q.stance, q.ranks) for q in sought.queries] == [(Stance.CON, (7, 8))]
    assert sought.taken == (7, 8)


def test_nobody_is_asked_where_no_side_is_short():
    library = Library("ppccn", con="c", pro="p")
    assert ask(library, seek=Seek()).sought is None
    neutral_is_short = Library("ppccp", con="c")
    assert ask(neutral_is_short, seek=Seek()).sought is None
    assert len(library.asked) == len(neutral_is_short.asked) == 1


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("When was tea banned?", {}),
        ("Is tea a plant?", {}),  # one side only, not known to be contested: it may be a fact
        (QUESTION, {"gate": "never"}),
        (QUESTION, {"rule": RandomRule(3)}),
    ],
)
def test_where_the_quota_is_not_applied_no_side_is_made_up(question, options):
    library = Library("pppppn", con="cc")
    assert ask(library, question, seek=Seek(), **options).sought is None
    assert len(library.asked) == 1


def test_settings_without_balance_are_not_touched():
    library = Library("pppppn", con="cc")
    selection = ask(library, seek=Seek(), setting="A")
    assert selection.sought is None
    assert [c.retrieval_rank for c in selection.chosen] == [1, 2, 3, 4, 5]


def test_a_negated_question_is_asked_in_its_positive_form_with_the_sides_changed():
    library = Library("pppppn")
    ask(library, "Should tea not be banned?", seek=Seek(queries=1))
    # Short is what speaks against "should not be banned": what supports a ban.
    assert [question for question, _ in library.asked[1:]] == [f"{FOR}: {QUESTION}"]


def test_both_sides_share_the_budget():
    library = Library("nnnnn", con="cccc", pro="pppp")
    made = ask(library, seek=Seek(queries=1, budget=3), gate="always")
    assert [(q.stance, q.ranks) for q in made.sought.queries] == [
        (Stance.PRO, (6, 8)),
        (Stance.CON, (7,)),
    ]
    assert made.composition == {"pro": 2, "con": 1, "neutral": 2}
    assert [s.stance for s in made.shortfalls] == [Stance.CON]
    assert made.sought.missing_side is None  # both were missing


def test_each_side_is_asked_for_before_any_is_asked_for_twice():
    library = Library("nnnnn")
    ask(library, seek=Seek(queries=2), gate="always")
    assert [question.split(":")[0] for question, _ in library.asked[1:]] == [
        FOR,
        AGAINST,
        "arguments in favour",
        "arguments against",
    ]


def test_what_is_new_lies_past_the_depth_and_is_read_all_the_same():
    library = Library("pppppnc", con="cc")
    made = ask(library, quota=Quota(pool=3, depth=6), seek=Seek(queries=1))
    assert rows(made)[-1] == ("c con 1", 8, "sought")
    # The seventh document found is past the depth: it is among the new ones like any other.
    assert made.sought.queries[0].ranks == (7, 8, 9)


def test_a_query_gives_no_more_than_its_k_and_nothing_twice():
    library = Library("pppppn", con="nnnnnnc")
    made = ask(library, seek=Seek(queries=2, k=3))
    first, second = made.sought.queries
    # Both queries find the same: what is new to one of them counts once, for who came first.
    assert sorted(first.ranks + second.ranks) == [7, 8, 9, 10, 11, 12]
    assert (len(first.ranks), len(second.ranks)) == (3, 3)
    assert made.sought.taken == ()
    assert {s.searched_to_rank for s in made.shortfalls} == {12}


def test_when_nothing_new_comes_the_selection_stands_and_says_that_it_asked():
    library = Library("pppppn")
    before, after = ask(library), ask(library, seek=Seek())
    assert rows(after) == rows(before)
    assert after.missing_side is Stance.CON
    assert [q.ranks for q in after.sought.queries] == [(), ()]


def test_what_is_found_takes_the_seat_of_what_only_filled_it_and_of_nothing_else():
    library = Library("ppppcn", con="nc")
    before, after = ask(library), ask(library, seek=Seek(queries=1))
    kept = [row for row in rows(before) if row[2] != "filled"]
    assert kept == rows(after)[: len(kept)]
    assert rows(after)[len(kept) :] == [("c con 1", 8, "sought")]


@given(
    st.text("pcn", max_size=12),
    st.text("pcn", max_size=6),
    st.text("pcn", max_size=6),
    st.builds(Seek, queries=st.integers(1, 3), k=st.integers(1, 4), budget=st.integers(1, 8)),
)
def test_no_seat_is_lost_no_label_is_read_twice_and_the_budget_holds(first, con, pro, seek):
    library, detector = Library(first, con=con, pro=pro), Detector()
    quota = Quota(2, 2, 1, pool=4, depth=8)
    before = ask(library, quota=quota, gate="always")
    after = ask(library, quota=quota, gate="always", seek=seek, detector=detector)
    seated = [row[:2] for row in rows(before) if row[2] != "filled"]
    assert set(seated) <= {row[:2] for row in rows(after)}
    assert len(detector.texts) == len(set(detector.texts)) == after.labelled
    if after.sought is None:
        assert not {s.stance for s in before.shortfalls} & {Stance.PRO, Stance.CON}
        return
    new = after.sought.ranks
    start = min(len(first), quota.depth) + 1
    assert list(new) == list(range(start, start + len(new)))
    assert len(new) <= seek.budget
    assert all(len(query.ranks) <= seek.k for query in after.sought.queries)
    assert all(candidate.text.split()[1] == "found" for candidate in before.ranking)
    found = {s.stance: s.found for s in before.shortfalls}
    for short in after.shortfalls:
        if short.stance is not None:
            assert short.found >= found[short.stance]


def test_the_time_and_the_labels_of_both_rounds_are_counted():
    library, detector = Library("pppppn", con="ccc"), Detector()
    made = ask(library, seek=Seek(queries=1), detector=detector)
    assert made.labelled == len(detector.texts) == 8  # the third against is not needed
    assert made.timings_ms["seek"] == made.sought.retrieve_ms
    assert made.timings_ms["total"] >= made.timings_ms["seek"]


def test_a_result_goes_through_json_and_those_stored_before_still_load():
    data = json.loads(ask(Library("pppppn", con="cc"), seek=Seek()).to_json())
    assert Selection.from_dict(data).to_dict() == data
    del data["sought"]
    assert Selection.from_dict(data).sought is None
    assert render_text(data)
    assert render_html(data)


@pytest.mark.parametrize("draw", [str, Selection.to_html], ids=["text", "html"])
def test_both_pictures_tell_that_it_was_sought(draw):
    picture = " ".join(draw(ask(Library("pppppn", con="cc"), seek=Seek(queries=1))).split())
    assert "Documents 4, 5 came when the index was asked again for against." in picture
    assert f"“{AGAINST}: {QUESTION}”: 2 new, chosen ranks 7, 8" in picture
    nothing = " ".join(draw(ask(Library("pppppn"), seek=Seek(queries=1))).split())
    assert "Asked again for documents against, the index gave none that was chosen." in nothing


@pytest.mark.parametrize(
    "given", [{"queries": 0}, {"queries": 4}, {"k": 0}, {"budget": 0}, {"k": True}, {"k": 2.0}]
)
def test_a_number_out_of_its_range_is_refused(given):
    with pytest.raises(InputError, match=r"Seek\.\w+ must be an int"):
        Seek(**given)
    with pytest.raises(InputError, match="seek must be a Seek"):
        Rag(Library(""), seek=True)


def test_with_the_bundled_models_a_side_that_lies_below_the_depth_is_found():
    topic = contested()[0]
    retriever = MemoryRetriever(clean_corpus(), load_embedder("minilm"))
    first = [c for c in retriever.retrieve(topic.question, 20) if c.metadata["stance"] != "con"]

    class OneSided:
        def retrieve(self, question, k):
            return first[:6] if question == topic.question else retriever.retrieve(question, k)

    balancer = Balancer()
    before, after = (
        Rag(OneSided(), balancer=balancer, seek=seek).ask(topic.question, setting="B").selection
        for seek in (None, Seek())
    )
    assert before.composition["con"] < after.composition["con"] == 2
    true = [c.candidate.metadata["stance"] for c in after.chosen if c.stance is Stance.CON]
    assert "con" in true
