"""The judge's errors undone: by hand, against scipy, and by simulation."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equipoise.errors import InputError
from equipoise.lab.judge.correct import CorrectedBootstrap, true_shares
from equipoise.lab.stats import TopicBootstrap, difference, distance_reduction

VALUES = np.array([1.0, 0.0, -1.0])
PERFECT = np.eye(3) * 40
ERRING = np.array([[0.80, 0.12, 0.08], [0.12, 0.75, 0.13], [0.08, 0.14, 0.78]])
"""P(label | truth) of a judge that is right in about three of four."""


def labelled(truth, matrix, rng):
    """Labels of answers (topics, 3) by a judge that errs as `matrix` says."""
    drawn = [
        [rng.multinomial(count, row) for count, row in zip(topic, matrix, strict=True)]
        for topic in truth
    ]
    return np.array(drawn).sum(axis=1)


# --- the shares themselves


def test_a_known_matrix_is_undone_by_hand():
    # All true pro: labels come as the first row says.
    assert true_shares(ERRING, ERRING[0]).tolist() == pytest.approx([1, 0, 0])
    # Half pro, half con: (0.8 + 0.08) / 2, (0.12 + 0.14) / 2, (0.08 + 0.78) / 2.
    assert true_shares(ERRING, np.array([0.44, 0.13, 0.43])).tolist() == pytest.approx(
        [0.5, 0, 0.5]
    )


shares = arrays(np.float64, 3, elements=st.floats(0.01, 1)).map(lambda row: row / row.sum())
matrices = st.tuples(shares, shares, shares).map(np.stack)


@settings(deadline=None)
@given(matrices, shares)
def test_shares_are_on_the_simplex(matrix, said):
    found = true_shares(matrix, said)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1)


@settings(max_examples=60, deadline=None)
@given(matrices, shares)
def test_no_mixture_comes_nearer_by_scipys_least_squares(matrix, said):
    from scipy.optimize import nnls

    found = true_shares(matrix, said)
    miss = np.linalg.norm(found @ matrix - said)
    # The sum as a row that weighs much: an answer of nnls is on the simplex up to 1e-4 or so.
    heavy = 1e4
    rival, _ = nnls(np.vstack([matrix.T, np.full(3, heavy)]), np.append(said, heavy))
    rival /= rival.sum()
    assert miss <= np.linalg.norm(rival @ matrix - said) + 1e-7


@settings(deadline=None)
@given(matrices, shares)
def test_true_shares_give_back_the_mixture_that_was_labelled(matrix, truth):
    said = truth @ matrix
    assert (true_shares(matrix, said) @ matrix).tolist() == pytest.approx(said.tolist(), abs=1e-6)


@pytest.mark.parametrize(
    "matrix",
    [
        np.full((3, 3), 1 / 3),  # says nothing
        np.tile([1.0, 0.0, 0.0], (3, 1)),  # says pro whatever it reads
        np.array([[1, 0, 0], [0.5, 0, 0.5], [0, 0, 1.0]]),  # neutral is a mixture of the others
        np.array([[1, 0, 0], [1, 0, 0], [0, 0, 1.0]]),  # pro and neutral are one to it
    ],
)
def test_a_matrix_without_an_inverse_gives_finite_shares(matrix):
    for said in ([1, 0, 0], [0.2, 0.3, 0.5], [0, 1, 0], [1 / 3, 1 / 3, 1 / 3]):
        found = true_shares(matrix, np.array(said, dtype=float))
        assert (found >= 0).all()
        assert found.sum() == pytest.approx(1)
        others = np.vstack([np.eye(3), np.full((1, 3), 1 / 3)])
        miss = np.linalg.norm(found @ matrix - said)
        assert (miss <= np.linalg.norm(others @ matrix - said, axis=1) + 1e-9).all()


# --- estimates


def test_a_perfect_judge_changes_nothing():
    rng = np.random.default_rng(1)
    first = rng.multinomial(5, [0.6, 0.3, 0.1], size=12)
    second = rng.multinomial(5, [0.3, 0.3, 0.4], size=12)
    columns = [np.repeat(np.tile(VALUES, 12), counts.ravel()) for counts in (first, second)]
    names = np.repeat([f"t{at:02}" for at in range(12)], 5)
    plain = TopicBootstrap(list(names))
    # So many labelled answers that the draws of the matrix say the same as the matrix.
    judge = CorrectedBootstrap(np.eye(3) * 1e9, 12)
    for effect in (difference, distance_reduction):
        found = judge.estimate(first, second, effect=effect)
        expected = plain.estimate(*(list(column) for column in columns), effect=effect)
        assert found.value == pytest.approx(expected.value)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-6)
        assert (found.n, found.topics) == (60, 12)


def test_what_a_judge_took_away_is_given_back_on_large_data():
    rng = np.random.default_rng(2)
    truth = rng.multinomial(2_000, [0.7, 0.2, 0.1], size=40)
    said = labelled(truth, ERRING, rng)
    plain = said.sum(axis=0) @ VALUES / said.sum()
    found = CorrectedBootstrap(ERRING * 30_000, 40).estimate(said)
    score = truth.sum(axis=0) @ VALUES / truth.sum()
    assert abs(plain - score) > 0.15
    assert found.value == pytest.approx(score, abs=0.01)
    assert found.low < score < found.high


def test_fewer_labelled_answers_make_the_interval_wider():
    said = np.random.default_rng(3).multinomial(5, [0.5, 0.3, 0.2], size=42)
    found = [CorrectedBootstrap(ERRING * n, 42).estimate(said) for n in (10, 40, 4_000)]
    widths = [one.high - one.low for one in found]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 1.3 * widths[2]


@pytest.mark.parametrize(
    "confusion", [np.full((3, 3), 15), np.tile([40, 0, 0], (3, 1)), np.zeros((3, 3))]
)
def test_a_useless_judge_gives_a_wide_interval_and_no_value(confusion):
    said = np.random.default_rng(4).multinomial(5, [0.8, 0.1, 0.1], size=42)
    found = CorrectedBootstrap(confusion, 42).estimate(said)
    assert found.value is None
    assert found.high - found.low > 1.5


def test_a_stance_that_nobody_labelled_leaves_the_value_open():
    counts = PERFECT.copy()
    counts[2] = 0
    found = CorrectedBootstrap(counts, 5).estimate(np.tile([3, 1, 1], (5, 1)))
    assert found.value is None
    assert found.low < found.high


def test_no_answers_and_one_topic_have_no_interval():
    empty = CorrectedBootstrap(PERFECT, 3).estimate(np.zeros((3, 3)))
    assert (empty.value, empty.low, empty.n) == (None, None, 0)
    one = CorrectedBootstrap(PERFECT, 2).estimate([[2, 0, 2], [0, 0, 0]])
    assert (one.value, one.low, one.high, one.topics) == (0.0, None, None, 1)
    none = CorrectedBootstrap(PERFECT, 0).estimate(np.zeros((0, 3)))
    assert (none.value, none.n) == (None, 0)


def test_topics_that_were_not_drawn_with_an_answer_are_left_out():
    said = np.zeros((4, 3))
    said[0] = [3, 0, 0]
    said[1] = [0, 0, 3]
    found = CorrectedBootstrap(PERFECT, 4).estimate(said)
    assert (found.value, found.n, found.topics) == (0.0, 6, 2)
    assert found.low < -0.9 < 0.9 < found.high


def test_pairs_share_their_draws():
    said = np.random.default_rng(5).multinomial(5, [0.5, 0.3, 0.2], size=20)
    judge = CorrectedBootstrap(ERRING * 20, 20)
    same = judge.estimate(said, said, effect=distance_reduction)
    assert (same.value, same.low, same.high) == (0, 0, 0)
    assert judge.estimate(said) == CorrectedBootstrap(ERRING * 20, 20).estimate(said)
    assert judge.estimate(said) != CorrectedBootstrap(ERRING * 20, 20, seed=1).estimate(said)


def test_a_mirror_of_sides_turns_the_sign():
    said = np.random.default_rng(6).multinomial(5, [0.5, 0.3, 0.2], size=20)
    counts = (ERRING * 100).round()
    one = CorrectedBootstrap(counts, 20).estimate(said)
    other = CorrectedBootstrap(counts[::-1, ::-1], 20).estimate(said[:, ::-1])
    assert other.value == pytest.approx(-one.value)
    # Other draws of the matrix, the same up to chance.
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low), abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "each"), [((0.5, 0.3, 0.2), 40), ((0.34, 0.33, 0.33), 20), ((0.85, 0.1, 0.05), 40)]
)
def test_about_95_of_100_intervals_hold_the_truth(base, each):
    """Topics differ, answers cluster in them, the judge errs, and its matrix is counted on few."""
    rng = np.random.default_rng(7)
    base = np.array(base)
    hits, rounds = 0, 300
    for number in range(rounds):
        confusion = [rng.multinomial(each, row) for row in ERRING]
        truth = [rng.multinomial(5, row) for row in rng.dirichlet(base * 4, size=42)]
        judge = CorrectedBootstrap(confusion, 42, samples=400, seed=number)
        found = judge.estimate(labelled(truth, ERRING, rng))
        hits += found.low <= base @ VALUES <= found.high
    # 300 rounds have a standard error of 1.3 points.
    assert 0.92 <= hits / rounds <= 0.985


@pytest.mark.slow
def test_about_95_of_100_paired_intervals_hold_the_truth():
    rng = np.random.default_rng(8)
    hits, rounds = 0, 300
    strong, weak = np.array([0.75, 0.15, 0.1]), np.array([0.5, 0.25, 0.25])
    expected = strong @ VALUES - weak @ VALUES
    for number in range(rounds):
        confusion = [rng.multinomial(40, row) for row in ERRING]
        pair = []
        for base in (strong, weak):
            truth = [rng.multinomial(5, row) for row in rng.dirichlet(base * 4, size=42)]
            pair.append(labelled(truth, ERRING, rng))
        judge = CorrectedBootstrap(confusion, 42, samples=400, seed=number)
        found = judge.estimate(*pair, effect=distance_reduction)
        hits += found.low <= expected <= found.high
    assert 0.92 <= hits / rounds <= 0.985


def test_5000_draws_of_a_pair_are_quick():
    rng = np.random.default_rng(9)
    pair = [rng.multinomial(5, [0.5, 0.3, 0.2], size=42) for _ in range(2)]
    took = []
    for _ in range(5):
        began = time.process_time()
        CorrectedBootstrap(ERRING * 40, 42).estimate(*pair, effect=distance_reduction)
        took.append(time.process_time() - began)
    assert min(took) < 0.3  # seconds of the processor


@pytest.mark.parametrize(
    "confusion",
    [np.eye(2), np.full((3, 3), -1.0), np.full((3, 3), np.nan), np.zeros((3, 4)), [1, 2, 3]],
)
def test_a_matrix_must_be_three_by_three_counts(confusion):
    with pytest.raises(InputError, match=r"\(3, 3\)"):
        CorrectedBootstrap(confusion, 2)


@pytest.mark.parametrize(
    "options", [{"samples": 0}, {"level": 1.0}, {"prior": 0.0}, {"prior": float("inf")}]
)
def test_options_must_be_in_range(options):
    with pytest.raises(InputError, match="samples must be"):
        CorrectedBootstrap(PERFECT, 2, **options)


def test_counts_must_fit_topics_and_each_other():
    judge = CorrectedBootstrap(PERFECT, 2)
    with pytest.raises(InputError, match=r"\(2, 3\)"):
        judge.estimate([[1, 1, 1]])
    with pytest.raises(InputError, match=r"\(2, 3\)"):
        judge.estimate([[1, 1, -1], [1, 1, 1]])
    with pytest.raises(InputError, match="same answers"):
        judge.estimate([[1, 1, 1], [1, 1, 1]], [[1, 1, 1], [1, 1, 0]])
