"""From ratings to tables: C - A by dimension, and agreement against sklearn and by hand."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from equipoise.lab.form_scores import cohens_kappa
from equipoise.lab.quality.asking import DIMENSIONS
from equipoise.lab.quality.rows import Rated, rated_of
from equipoise.lab.quality.scores import (
    agreement,
    changes,
    preferences,
    summary,
    weighted_kappa,
)
from equipoise.lab.quality.tables import markdown


def rated(rows, rater="Ann", kind="ratings", generator="hf/toy"):
    """Question -> (group, marks of A, marks of C, preference); a number stands for all four."""

    def marks(given):
        return dict(given) if isinstance(given, dict) else dict.fromkeys(DIMENSIONS, given)

    return Rated(
        {"rater": rater, "kind": kind, "generator": generator},
        {
            question: {
                "key": question,
                "group": group,
                "outcome": "scored",
                "shas": {"A": "a" + question, "C": "c" + question},
                "marks": {"A": marks(a), "C": marks(c)},
                "preference": preference,
            }
            for question, (group, a, c, preference) in rows.items()
        },
    )


TOY = {
    "q1": ("g1", 1, 5, "C"),
    "q2": ("g1", 2, 2, "tie"),
    "q3": ("g2", 4, 3, "A"),
    "q4": ("g2", {**dict.fromkeys(DIMENSIONS, 3), "coverage": "inapplicable"}, 4, None),
}


def one_of(found, name):
    return next(one for one in found if one.name == name)


def test_changes_are_paired_means_with_what_was_marked_apart_counted():
    found = changes(rated(TOY))
    assert [change.name for change in found] == list(DIMENSIONS)
    relevance, coverage = one_of(found, "relevance"), one_of(found, "coverage")
    assert (relevance.a, relevance.c, relevance.change.value) == (2.5, 3.5, 1.0)
    assert relevance.apart == {"unresolved": 0, "inapplicable": 0, "open": 0}
    # q4 is in neither mean, though C has a mark there.
    assert (coverage.a, coverage.c, coverage.change.n) == (7 / 3, 10 / 3, 3)
    assert coverage.change.value == pytest.approx(1.0)
    assert coverage.apart == {"unresolved": 0, "inapplicable": 1, "open": 0}


def test_intervals_come_from_whole_topics():
    # Two groups, means of C - A 2 and 0: a sample is both (1), or one of them twice.
    change = one_of(changes(rated(TOY)), "relevance").change
    assert (change.low, change.high, change.topics) == (0.0, 2.0, 2)


def test_open_and_unresolved_marks_are_counted_once_a_pair():
    rows = {
        "q1": ("g1", None, None, None),
        "q2": ("g1", "unresolved", None, None),
        "q3": ("g2", "inapplicable", "unresolved", "unresolved"),
    }
    [change, *_] = changes(rated(rows))
    assert (change.a, change.c, change.change.value, change.change.n) == (None, None, None, 0)
    assert change.apart == {"unresolved": 2, "inapplicable": 0, "open": 1}


def test_pairs_that_could_not_be_judged_are_in_no_mean_and_counted_as_outcomes():
    found = rated(TOY)
    rows = {**found.rows, "q5": {**found.rows["q1"], "outcome": "unparsed", "marks": None}}
    more = Rated(found.settings, rows)
    assert changes(more) == changes(found)
    assert more.outcomes() == {"scored": 4, "unparsed": 1}
    assert changes(Rated(found.settings, {"q5": rows["q5"]})) == ()


def test_preferences_are_counted():
    assert preferences(rated(TOY)) == {"A": 1, "C": 1, "tie": 1, "unresolved": 0, "open": 1}


# --- agreement


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=40),
    st.booleans(),
)
def test_kappa_is_sklearns(pairs, ordered):
    left, right = zip(*pairs, strict=True)
    assume(len({*left, *right}) > 1)  # sklearn divides by 0 where all marks are alike
    table = np.zeros((5, 5))
    np.add.at(table, (left, right), 1)
    theirs = cohen_kappa_score(
        left, right, labels=list(range(5)), weights="quadratic" if ordered else None
    )
    assert float(weighted_kappa(table, ordered=ordered)) == pytest.approx(theirs, abs=1e-9)


@settings(deadline=None)  # the machine may be busy
@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=3, max_size=3))
def test_unweighted_kappa_is_that_of_the_forms(rows):
    table = np.array(rows)
    np.testing.assert_allclose(weighted_kappa(table, ordered=False), cohens_kappa(table))


def test_two_raters_who_say_the_same_agree_fully():
    found = agreement(rated(TOY), rated(TOY, "Bob"))
    relevance, preference = one_of(found, "relevance"), one_of(found, "preference")
    assert (relevance.items, relevance.equal, relevance.kappa, relevance.weighted) == (8, 1, 1, 1)
    assert relevance.kappa_interval == (1.0, 1.0)
    assert (preference.items, preference.equal, preference.kappa) == (3, 1.0, 1.0)
    assert preference.weighted is None
    assert one_of(found, "coverage").items == 7


def test_weighted_kappa_forgives_near_misses():
    near = {
        q: (g, a if isinstance(a, dict) else min(5, a + 1), c, p) for q, (g, a, c, p) in TOY.items()
    }
    relevance = one_of(agreement(rated(TOY), rated(near, "Bob")), "relevance")
    assert relevance.kappa < relevance.weighted < 1
    assert relevance.equal == 5 / 8


def test_only_pairs_that_both_rated_on_the_same_answers_count():
    other = rated({q: TOY[q] for q in ("q1", "q2")}, "Bob")
    assert one_of(agreement(rated(TOY), other), "relevance").items == 4
    rows = {q: {**row, "shas": {"A": "new", "C": "new"}} for q, row in other.rows.items()}
    assert one_of(agreement(rated(TOY), Rated(other.settings, rows)), "relevance").items == 0


def test_one_mark_throughout_has_no_kappa_and_is_no_error():
    same = {"q1": ("g1", 5, 5, "tie"), "q2": ("g2", 5, 5, "tie")}
    relevance = one_of(agreement(rated(same), rated(same, "Bob")), "relevance")
    assert (relevance.items, relevance.equal) == (4, 1.0)
    assert relevance.kappa is relevance.weighted is relevance.kappa_interval is None


def test_samples_without_a_kappa_are_left_out_of_the_interval():
    # In g1 all is alike: a sample of g1 twice has no kappa.
    rows = {"q1": ("g1", 5, 5, "tie"), "q2": ("g2", 1, 5, "A")}
    other = {"q1": ("g1", 5, 5, "tie"), "q2": ("g2", 5, 5, "A")}
    relevance = one_of(agreement(rated(rows), rated(other, "Bob")), "relevance")
    assert relevance.kappa == 0.0
    assert relevance.kappa_interval == (0.0, 0.0)


def test_one_topic_alone_has_no_interval():
    rows = {"q1": ("g1", 1, 2, "A"), "q2": ("g1", 3, 4, "C")}
    assert one_of(agreement(rated(rows), rated(rows, "Bob")), "relevance").kappa_interval is None


# --- lines and tables


def line(settings_, question, **row):
    run = settings_["rater"] + settings_["code"]
    return {
        "key": f"{run}/{question}",
        "run": run,
        "question": question,
        "outcome": "scored",
        **row,
    }


def test_of_two_runs_of_a_rater_the_last_that_has_rows_counts():
    runs = [{"rater": "m", "kind": "ratings", "generator": "g", "code": c} for c in "123"]
    heads = [{"run": "m" + said["code"], "settings": said} for said in runs]
    lines = [heads[0], line(runs[0], "q"), heads[1], line(runs[1], "q"), heads[2]]
    assert [one.settings["code"] for one in rated_of(lines)] == ["2"]
    assert [one.settings["code"] for one in rated_of([*lines, heads[0]])] == ["1"]


def test_tables_show_each_rater_the_agreement_and_say_what_measures_are_not():
    measures = Rated(
        {"rater": "measures", "kind": "measures", "generator": "hf/toy"},
        {
            q: {
                "group": g,
                "outcome": "scored",
                "measures": {"A": {"words": 3.0}, "C": {"words": w}},
            }
            for q, g, w in (("q1", "g1", 5.0), ("q2", "g2", None))
        },
    )
    found = summary([rated(TOY), rated(TOY, "Bob"), rated(TOY, "Cy", generator="x"), measures])
    assert [pair["raters"] for pair in found["agreement"]] == [["Ann", "Bob"]]
    text = markdown(found)
    assert "### Ann: hf/toy (4 scored)" in text
    assert "| relevance | 2.500 | 3.500 | +1.000 [+0.000, +2.000] 4 | 0 |" in text
    assert "1 inapplicable" in text
    assert "Preference: A 1, C 1, tie 1, unresolved 0, open 1" in text
    assert "| words | 3.000 | 5.000 | +2.000 [one topic] 1 | 1 open |" in text
    assert "no ratings" in text
    assert markdown(summary([])) == "Nothing was rated or measured."
