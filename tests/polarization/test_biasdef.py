import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.polarization import (
    BiasDef,
    Cut,
    Gaussian,
    Guard,
    Histogram,
    Kernel,
    Outliers,
    PolarizationAxis,
)
from equipoise.types import Candidate, DocumentFilter

QUESTION = "Should tea be banned?"
# Right is pro. A given axis, so that worlds can be drawn by hand on a line.
LINE = PolarizationAxis.fit([[1.0, 0.0], [-1.0, 0.0]], stances=["pro", "con"])


def pool(scores, similarities=None, heights=None):
    """Candidates with these Polarization Scores on LINE, similarity falling unless given."""
    sims = similarities or [0.9 - 0.01 * i for i in range(len(scores))]
    ys = heights or [(i % 3 - 1) / 10 for i in range(len(scores))]
    rows = zip(scores, sims, ys, strict=True)
    return [
        Candidate(f"d{i}", f"text {i}", s, embedding=(x, y)) for i, (x, s, y) in enumerate(rows)
    ]


PLANTED = [2.0, 2.1, 1.9, 2.05, 1.95]
BENIGN = [0.5, -0.5, 0.2, -0.2, 0.6, -0.7, 0.1, -0.1, 0.4, -0.4]


def biasdef(**changes):
    return BiasDef(**{"axis": LINE, "outliers": Outliers("none"), **changes})


def explain(scores, similarities=None, heights=None, **changes):
    return biasdef(**changes).explain(QUESTION, pool(scores, similarities, heights))


def test_a_toy_world_by_hand():
    report = explain(PLANTED + BENIGN)
    assert report.flagged == report.suspects == {0, 1, 2, 3, 4}
    assert report.threshold == pytest.approx(0.855)  # half way between ranks 5 and 6
    assert report.given_back == report.outliers == report.spared == ()
    assert report.divergence == max(report.divergences) > report.needed > 0
    # Parts of three at least, and at most half of fifteen in the high one: cuts after 3 to 7.
    assert len(report.thresholds) == len(report.divergences) == 5
    assert report.scores == pytest.approx(PLANTED + BENIGN)
    assert report.why == "5 of 15 documents look planted"
    assert isinstance(BiasDef(), DocumentFilter)


def test_the_cut_is_the_best_of_all_by_the_closed_form():
    scores = [1.5, 2.2, 1.9, -0.3, 2.0, *BENIGN]
    floor = 0.3 * np.var(scores)

    def divergence(cut):
        (mp, vp), (mq, vq) = (
            (np.mean(part), max(np.var(part), floor)) for part in (scores[:cut], scores[cut:])
        )
        return math.log(vq / vp) / 2 + (vp + (mp - mq) ** 2) / (2 * vq) - 0.5

    cuts = range(3, 8)
    report = explain(scores, guard=None, give_back="none")
    assert report.divergences == pytest.approx([divergence(cut) for cut in cuts])
    assert report.suspects == set(range(max(cuts, key=divergence)))


def test_the_axis_of_the_pool_needs_no_anchors():
    assert explain(PLANTED + BENIGN, axis="pool").flagged == {0, 1, 2, 3, 4}


def test_candidates_are_cut_by_similarity_whatever_their_order():
    order = [7, 0, 12, 3, 14, 1, 9, 2, 4, 5, 6, 8, 10, 11, 13]
    shuffled = [pool(PLANTED + BENIGN)[i] for i in order]
    flagged = biasdef().flag(QUESTION, shuffled)
    assert {shuffled[i].id for i in flagged} == {"d0", "d1", "d2", "d3", "d4"}
    assert biasdef().explain(QUESTION, shuffled).scores[0] == pytest.approx((PLANTED + BENIGN)[7])


def test_a_benign_document_of_high_similarity_is_given_back():
    scores = [2.0, 0.05, 2.1, 1.9, 2.05, *BENIGN]
    report = explain(scores)
    assert report.suspects == {0, 1, 2, 3, 4}
    assert report.given_back == (1,)
    assert report.flagged == {0, 2, 3, 4}
    assert explain(scores, give_back="none").flagged == {0, 1, 2, 3, 4}
    assert explain(scores, give_back="best").flagged == {0, 2, 3, 4}


def test_give_back_that_rises_stops_where_best_goes_on_over_a_dip():
    # Found by search: the first step back lowers the divergence, the ones after raise it.
    rng = np.random.default_rng(0)
    differ = 0
    for _ in range(60):
        scores = [*rng.normal(1.5, 1.2, 6), *rng.normal(0, 0.5, 8)]
        rise, best = (explain(scores, guard=None, give_back=how) for how in ("rise", "best"))
        assert rise.suspects == best.suspects
        assert best.given_back[: len(rise.given_back)] == rise.given_back
        differ += best.given_back != rise.given_back
    assert differ > 0


def test_a_planted_document_of_low_similarity_is_found_as_a_member_of_the_cluster():
    scores = [2.0, 2.1, 1.9, 2.05, 1.95, *BENIGN, 2.02]
    heights = [0.1, -0.1, 0.05, -0.05, 0.0, *[(-1) ** i * 0.5 for i in range(10)], 0.01]
    report = explain(scores, heights=heights, outliers=Outliers(), guard=None)
    assert report.suspects == {0, 1, 2, 3, 4}
    assert report.outliers == (15,)
    assert report.flagged == {0, 1, 2, 3, 4, 15}
    assert report.spared == ()


def test_no_more_are_flagged_than_the_largest_share_and_the_rest_is_named():
    scores = [2.0, 2.1, 1.9, 2.05, 1.95, *BENIGN, 2.02, 2.01]
    heights = [0.1, -0.1, 0.05, -0.05, 0.0, *[(-1) ** i * 0.5 for i in range(10)], 0.01, 0.02]
    tight = explain(scores, heights=heights, outliers=Outliers(), guard=None, cut=Cut(most=6 / 17))
    assert len(tight.flagged) == 6
    assert len(tight.outliers) == len(tight.spared) == 1
    assert not set(tight.spared) & tight.flagged


def test_honest_pools_are_left_alone_as_often_as_the_guard_says():
    rng = np.random.default_rng(1)
    worlds = [rng.normal(size=20).tolist() for _ in range(200)]
    alarms = [bool(explain(scores, guard=Guard(level=0.05)).flagged) for scores in worlds]
    assert 0.01 < np.mean(alarms) < 0.09
    assert np.mean([bool(explain(scores).flagged) for scores in worlds]) < 0.03
    assert all(explain(scores, guard=None).flagged for scores in worlds)


def test_what_the_guard_refuses_is_told():
    report = explain(BENIGN)
    assert report.flagged == frozenset()
    assert report.threshold is None
    assert report.why == "no cut separates more than chance would"
    assert 0 < report.divergence <= report.needed


def test_planted_documents_under_the_genuine_ones_are_missed_by_similarity():
    # The trap: the genuine documents of the topic are nearer to the question than the planted.
    scores = BENIGN + PLANTED
    high = explain(scores)
    assert not high.flagged & {10, 11, 12, 13, 14}
    extreme = explain(scores, cut=Cut(suspects="extreme"))
    assert extreme.flagged == {10, 11, 12, 13, 14}


def test_documents_beyond_the_depth_are_never_flagged_and_play_no_part():
    scores = PLANTED + BENIGN
    longer = explain([*scores, *[9.0] * 20], depth=15)
    assert replace(longer) == explain(scores)
    assert longer.scores == pytest.approx(scores)
    beyond = pool([*scores, 9.0])
    beyond[-1] = Candidate("no vector", "text")
    assert biasdef(depth=15).flag(QUESTION, beyond) == {0, 1, 2, 3, 4}


def test_no_threshold_lies_between_equal_similarities():
    tied = [0.9] * 15
    report = explain(PLANTED + BENIGN, tied)
    assert report.flagged == frozenset()
    assert report.why == "no threshold of similarity cuts them in two"
    half = explain(PLANTED + BENIGN, [0.9] * 4 + [0.8] * 4 + [0.7] * 7, guard=None)
    assert half.suspects == {0, 1, 2, 3}


@pytest.mark.parametrize("number", range(6))
def test_too_few_documents_are_left_alone(number):
    report = explain(PLANTED[:number])
    assert report.flagged == frozenset()
    assert report.why == f"{number} documents are too few to cut in two"


@pytest.mark.parametrize("axis", ["pool", LINE])
def test_vectors_that_are_all_alike_are_left_alone(axis):
    same = [Candidate(f"d{i}", "x", 0.9 - i / 50, embedding=(0.3, 0.4)) for i in range(12)]
    assert BiasDef(axis=axis).flag(QUESTION, same) == frozenset()


def test_a_function_gives_the_axis_of_the_question_and_sees_what_is_looked_at():
    asked = []

    def axis_for(question, candidates):
        asked.append((question, len(candidates)))
        return LINE

    assert biasdef(axis=axis_for, depth=12).flag(QUESTION, pool(PLANTED + BENIGN)) == set(range(5))
    assert asked == [(QUESTION, 12)]


@pytest.mark.parametrize(
    ("candidate", "match"),
    [
        (Candidate("bad", "x", embedding=(1.0, 0.0)), "finite score for every document; 'bad'"),
        (Candidate("bad", "x", math.nan, embedding=(1.0, 0.0)), "finite score.*'bad' has nan"),
        (Candidate("bad", "x", 0.5), "biasdef needs an embedding.*'bad' has none"),
        (Candidate("bad", "x", 0.5, embedding=(1.0,)), "one length"),
    ],
)
def test_a_candidate_that_lacks_what_is_read_is_named(candidate, match):
    with pytest.raises(InputError, match=match):
        biasdef().flag(QUESTION, [*pool(PLANTED), candidate])


def test_an_axis_that_does_not_fit_is_refused():
    wide = PolarizationAxis.fit([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    two = PolarizationAxis.fit([[1.0, 0.0], [0.0, 1.0], [3.0, 3.0]], components=2)
    for axis, match in ((wide, "shape"), (two, "one direction"), (lambda *_: None, "got None")):
        with pytest.raises(InputError, match=match):
            biasdef(axis=axis).flag(QUESTION, pool(PLANTED + BENIGN))


@pytest.mark.parametrize(
    "make",
    [
        lambda: BiasDef(axis="first"),
        lambda: BiasDef(axis=None),
        lambda: BiasDef(depth=0),
        lambda: BiasDef(depth=True),
        lambda: BiasDef(give_back="all"),
        lambda: BiasDef(divergence="gaussian"),
        lambda: BiasDef(cut=3),
        lambda: BiasDef(outliers=None),
        lambda: BiasDef(guard=0.05),
        lambda: Cut(smallest=0),
        lambda: Cut(smallest=2.5),
        lambda: Cut(most=1.0),
        lambda: Cut(suspects="low"),
        lambda: Guard(level=0.0),
        lambda: Guard(level=0.01, shuffles=98),
        lambda: Guard(shuffles=0),
    ],
)
def test_settings_out_of_range_are_refused(make):
    with pytest.raises(InputError):
        make()


def test_a_guard_of_the_fewest_shuffles_asks_for_more_than_all_of_them():
    scores = np.array(PLANTED + BENIGN)
    allowed = np.ones(14, dtype=bool)
    few = Guard(level=0.01, shuffles=99)
    rng = np.random.default_rng(0)
    rows = rng.permuted(np.tile(scores, (99, 1)), axis=1)
    assert few.needed(Gaussian(), scores, allowed) == Gaussian().cuts(rows).max()


def test_every_setting_shows_in_the_name():
    made = [
        BiasDef(),
        BiasDef(axis=LINE),
        BiasDef(depth=50),
        BiasDef(divergence=Kernel()),
        BiasDef(cut=Cut(smallest=2)),
        BiasDef(cut=Cut(most=0.3)),
        BiasDef(cut=Cut(suspects="extreme")),
        BiasDef(guard=None),
        BiasDef(guard=Guard(level=0.2)),
        BiasDef(give_back="none"),
        BiasDef(outliers=Outliers("none")),
        BiasDef(outliers=Outliers(shrinkage=0.5)),
    ]
    assert len({one.name for one in made}) == len(made)


def test_the_filter_survives_pickling():
    again = pickle.loads(pickle.dumps(biasdef()))
    assert again.flag(QUESTION, pool(PLANTED + BENIGN)) == {0, 1, 2, 3, 4}


choices = st.fixed_dictionaries(
    {
        "axis": st.sampled_from(["pool", LINE]),
        "depth": st.sampled_from([1, 7, 20, 50]),
        "divergence": st.sampled_from(
            [Gaussian(), Gaussian(0.0, "symmetric"), Histogram(), Kernel(None, 16, "rest||first")]
        ),
        "cut": st.builds(
            Cut,
            smallest=st.integers(1, 4),
            most=st.sampled_from([0.2, 0.5, 0.9]),
            suspects=st.sampled_from(["high", "extreme"]),
        ),
        "guard": st.sampled_from([None, Guard(level=0.2, shuffles=20)]),
        "give_back": st.sampled_from(["rise", "best", "none"]),
        "outliers": st.builds(
            Outliers,
            reading=st.sampled_from(["benign", "suspect", "both", "none"]),
            cutoff=st.sampled_from(["chi2", "quantile", "spread"]),
            level=st.sampled_from([0.5, 0.95]),
        ),
    }
)
# Few values, so that ties, copies and zero vectors are common.
number = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0, 1e-12])
documents = st.lists(st.tuples(number, number, number), max_size=40)


@settings(max_examples=100, deadline=None)
@given(choices, documents)
def test_whatever_comes_in_the_answer_is_sound(settings_, rows):
    docs = [Candidate(f"d{i}", "x", s, embedding=(x, y)) for i, (s, x, y) in enumerate(rows)]
    filter_ = BiasDef(**settings_)
    report = filter_.explain(QUESTION, docs)
    looked_at = min(len(docs), filter_.depth)
    assert report.flagged <= set(range(looked_at))
    assert len(report.flagged) <= filter_.cut.most * looked_at
    assert report.flagged == (report.suspects - set(report.given_back)) | set(report.outliers)
    assert not set(report.outliers) & set(report.spared)
    assert set(report.given_back) <= report.suspects
    assert (report.threshold is None) == (not report.flagged)
    if report.threshold is not None:
        assert len(report.suspects) >= filter_.cut.smallest
        assert report.divergence > report.needed
    for value in (report.divergence, report.needed, *report.divergences, *report.scores):
        assert math.isfinite(value)
    assert filter_.flag(QUESTION, docs) == report.flagged


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([2, 5, 60, 200]), st.sampled_from([2, 100]))
def test_pools_of_any_size_and_dimension_are_judged(seed, n, d):
    rng = np.random.default_rng(seed)
    vectors, sims = rng.normal(size=(n, d)), rng.uniform(size=n)
    docs = [
        Candidate(f"d{i}", "x", float(sims[i]), embedding=vectors[i].tolist()) for i in range(n)
    ]
    # Turning the whole space changes no inner product, and so no flag.
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    turned = [replace(doc, embedding=(vectors[i] @ turn).tolist()) for i, doc in enumerate(docs)]
    filter_ = BiasDef(depth=200, guard=None)
    assert filter_.flag(QUESTION, docs) == filter_.flag(QUESTION, turned)
