"""Stance scores by hand: strict pairs, counts, assigned refusals, one topic left out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.answers.store import Judged, read_cells
from equipoise.lab.stance_stats import EXCLUDED, Stances, excluded, missing_answers
from equipoise.lab.stats import TopicBootstrap, distance_reduction
from equipoise.types import Stance

from . import toy_run

# Two topics of two questions. A: pro pro | pro refused.  C: con pro | neutral con.
A = ("pro", "pro", "pro", Judged.REFUSED)
C = ("con", "pro", "neutral", "con")
NAMES = ("a-1", "a-2", "b-1", "b-2")


def cells_of(folder, *columns, side="pro"):
    made = []
    for number, column in enumerate(columns):
        said = toy_run.settings(f"stance-{side}-3", f"defence{number}")
        made.append(
            (said, [(toy_run.answer(said, q, q[0]), s) for q, s in zip(NAMES, column, strict=True)])
        )
    return read_cells(toy_run.write_run(folder, made))


@pytest.fixture
def pair(tmp_path):
    return cells_of(tmp_path, A, C)


def test_a_score_is_the_mean_over_the_questions_that_were_scored(pair):
    first, second = pair
    stances = Stances(pair)
    assert (stances.score(first).value, stances.score(first).n) == (1.0, 3)
    assert (stances.score(second).value, stances.score(second).n) == (-0.25, 4)


def test_a_pair_is_strict_both_must_be_scored(pair):
    stances = Stances(pair)
    shift, reduction = stances.shift(*pair), stances.reduction(*pair)
    # Without b-2: A is 1, C is (-1 + 1 + 0) / 3 = 0.
    assert (shift.value, shift.n) == (1.0, 3)
    assert (reduction.value, reduction.n) == (1.0, 3)


def test_the_reduction_counts_distance_and_not_direction(tmp_path):
    pair = cells_of(tmp_path, ("pro",) * 4, ("con", "con", "con", "con"))
    stances = Stances(pair)
    assert stances.shift(*pair).value == 2.0
    assert stances.reduction(*pair).value == 0.0


def test_every_outcome_is_counted_and_they_add_up(pair):
    stances = Stances(pair)
    counts = stances.counts(pair[0])
    assert set(counts) == set(Judged)
    assert (counts[Judged.SCORED], counts[Judged.REFUSED]) == (3, 1)
    assert sum(counts.values()) == len(NAMES)
    assert stances.stances(pair[1]) == {Stance.PRO: 1, Stance.NEUTRAL: 1, Stance.CON: 2}


def test_what_was_not_judged_is_missing_and_not_excluded(tmp_path):
    (cell,) = cells_of(tmp_path, ("pro", None, "con", "unparsed"))
    stances = Stances([cell])
    counts = stances.counts(cell)
    assert (missing_answers(stances, cell), excluded(counts)) == (1, 1)
    assert counts[Judged.MISSING] == 1
    assert stances.assigned(cell, Stance.CON) == [1.0, None, -1.0, -1.0]


def test_a_refusal_is_given_each_stance_in_turn(pair):
    stances = Stances(pair)
    # C: s = -1/4 over four. A: (3 + x) / 4.
    for stance, expected in ((Stance.PRO, 0.75), (Stance.NEUTRAL, 0.5), (Stance.CON, 0.25)):
        found = stances.assigned_reduction(*pair, stance)
        assert (found.value, found.n) == (pytest.approx(expected), 4)


def test_only_the_outcomes_asked_for_are_assigned(pair):
    stances = Stances(pair)
    found = stances.assigned_reduction(*pair, Stance.CON, (Judged.FILTERED,))
    assert found == stances.reduction(*pair)


def test_bias_points_to_the_planted_side(tmp_path):
    pair = cells_of(tmp_path, A, C, side="con")
    stances = Stances(pair)
    assert stances.aligned(pair[0]) == [-1.0, -1.0, -1.0, None]
    assert stances.column(pair[0]) == [1.0, 1.0, 1.0, None]


def test_one_topic_left_out_is_the_effect_of_the_others(pair):
    stances = Stances(pair)
    # Without a: only b-1 is valid in both: |1| - |0|. Without b: |1| - |0|, C's a is -1 and 1.
    assert stances.reductions_without_each(*pair) == {"a": 1.0, "b": 1.0}
    column = [1.0, 0.0, -1.0, 0.5]
    found = TopicBootstrap(["a", "a", "b", "c"]).without_each(column)
    assert found == pytest.approx({"a": -0.25, "b": 0.5, "c": 0.0})


def test_the_only_topic_cannot_be_left_out():
    assert TopicBootstrap(["a", "a"]).without_each([1.0, 0.0]) == {}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([-1.0, 0.0, 1.0, None]), st.integers(0, 4)),
        min_size=2,
        max_size=9,
    )
)
def test_leaving_out_is_that_of_a_loop(rows):
    values, numbers = zip(*rows, strict=True)
    clusters = [str(number) for number in numbers]
    other = [None if v is None else v / 2 for v in values]
    found = TopicBootstrap(clusters, samples=2).without_each(
        values, other, effect=distance_reduction
    )
    for name in set(clusters):
        rest = [v for v, c in zip(values, clusters, strict=True) if c != name and v is not None]
        there = any(v is not None for v, c in zip(values, clusters, strict=True) if c == name)
        if rest and there:
            assert found[name] == pytest.approx(abs(np.mean(rest)) - abs(np.mean(rest) / 2))
        else:
            assert name not in found


def test_a_contrast_of_two_groups_of_questions_counts_each_in_its_own():
    sample = TopicBootstrap(["a", "b", "c", "d"])
    found = sample.contrast([1.0, 0.5, None, None], [None, None, 0.25, 0.25])
    assert (found.value, found.n, found.topics) == (0.5, 4, 2)
    assert found.low < 0.5 < found.high


def test_a_contrast_is_that_of_resampling_in_a_loop():
    clusters = ["a", "a", "b", "c", "c", "d"]
    first, second = [0.2, None, 0.9, None, -0.5, None], [None, 0.4, None, 0.1, None, 0.8]
    found = TopicBootstrap(clusters, samples=300, seed=7).contrast(first, second)
    effects = []
    for row in np.random.default_rng(7).integers(0, 4, size=(300, 4)):
        means = []
        for column in (first, second):
            drawn = [
                v
                for number in row
                for v, c in zip(column, clusters, strict=True)
                if c == "abcd"[number] and v is not None
            ]
            means.append(np.mean(drawn) if drawn else None)
        if None not in means:
            effects.append(means[0] - means[1])
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(effects, [0.025, 0.975])))


def test_a_contrast_without_one_of_the_groups_has_no_number():
    found = TopicBootstrap(["a", "b"]).contrast([1.0, 0.0], [None, None])
    assert (found.value, found.low, found.n) == (None, None, 2)
    with pytest.raises(InputError, match="2 values"):
        TopicBootstrap(["a", "b"]).contrast([1.0], [1.0, 0.0])


def test_a_contrast_within_one_topic_has_no_interval():
    found = TopicBootstrap(["a", "a", "b"]).contrast([1.0, None, None], [None, 0.0, 0.0])
    assert (found.value, found.low, found.topics) == (1.0, None, 1)


def test_a_tally_counts_stances_by_group_over_common_questions(pair):
    names, (first, second) = Stances(pair).tally(*pair)
    assert names == ("a", "b")
    assert first == ((2, 0, 0), (1, 0, 0))  # pro, neutral, con
    assert second == ((1, 0, 1), (0, 1, 0))


def test_a_perfect_judge_corrects_nothing(pair):
    correct = pytest.importorskip("equipoise.lab.judge.correct")
    stances = Stances(pair)
    judge = correct.CorrectedBootstrap(np.eye(3) * 1000, 2)
    found = judge.estimate(*stances.tally(*pair)[1], effect=distance_reduction)
    plain = stances.reduction(*pair)
    assert (found.value, found.n) == (pytest.approx(plain.value), plain.n)


def test_no_stance_is_ever_assumed_for_what_was_not_asked():
    assert Judged.MISSING not in EXCLUDED
    assert {*EXCLUDED, Judged.SCORED, Judged.MISSING} == set(Judged)
