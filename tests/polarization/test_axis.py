import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.polarization import PolarizationAxis, check_axis
from equipoise.polarization.check import auc, spearman

# Two pro anchors at the right, two con ones at the left, a little height that is no stance.
ANCHORS = [[3.0, 1.0], [3.0, -1.0], [-3.0, 1.0], [-3.0, -1.0]]
STANCES = ["pro", "pro", "con", "con"]


def random_rows(seed, n, d):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_a_toy_world_by_hand():
    axis = PolarizationAxis.fit(ANCHORS, stances=STANCES)
    assert np.allclose(axis.directions, [[1.0, 0.0]])
    assert np.allclose(axis.mean, [0.0, 0.0])
    assert axis.explained == pytest.approx((0.9,))  # 4 * 9 of 4 * 10
    assert axis.sign_fixed
    assert axis.anchors == 4
    assert np.allclose(axis.score([[2.0, 9.0], [-1.0, 0.0]]), [2.0, -1.0])


@settings(deadline=None)  # the first import of scikit-learn takes seconds
@given(st.integers(0, 50), st.integers(2, 12), st.integers(1, 15))
def test_the_first_component_is_that_of_scikit_learn(seed, n, d):
    from sklearn.decomposition import PCA

    rows = random_rows(seed, n, d)
    ours, theirs = PolarizationAxis.fit(rows), PCA(n_components=1).fit(rows)
    assert abs(ours.directions[0] @ theirs.components_[0]) == pytest.approx(1.0, abs=1e-6)
    assert ours.explained[0] == pytest.approx(theirs.explained_variance_ratio_[0])


def test_several_components_are_orthogonal_and_explain_ever_less():
    axis = PolarizationAxis.fit(random_rows(1, 8, 30), components=7)
    assert np.allclose(axis.directions @ axis.directions.T, np.eye(7))
    assert list(axis.explained) == sorted(axis.explained, reverse=True)
    assert sum(axis.explained) == pytest.approx(1.0)
    assert axis.score(random_rows(2, 5, 30)).shape == (5, 7)


@given(st.integers(0, 200))
def test_the_mean_score_of_the_pro_anchors_is_positive(seed):
    rng = np.random.default_rng(seed)
    rows, stances = rng.normal(size=(9, 4)), rng.choice(["pro", "con", "neutral"], size=9)
    if not 0 < (stances == "pro").sum() < 9:
        return
    axis = PolarizationAxis.fit(rows, stances=list(stances), components=3)
    assert axis.signs_fixed == (True, True, True)
    assert (axis.score(rows)[stances == "pro"].mean(axis=0) > 0).all()


@pytest.mark.parametrize("stances", [None, ["con"] * 4, ["pro"] * 4, ["pro", "con", "con", "pro"]])
def test_a_sign_that_the_stances_cannot_fix_is_the_same_each_time_and_said_so(stances):
    # All pro: their mean is the middle. The last: one pro at each end, their mean is the middle.
    axis = PolarizationAxis.fit(ANCHORS, stances=stances)
    assert not axis.sign_fixed
    assert np.allclose(axis.directions, [[1.0, 0.0]])  # the largest coordinate is positive
    flipped = PolarizationAxis.fit(-np.array(ANCHORS), stances=stances)
    assert np.allclose(flipped.directions, [[1.0, 0.0]])


def test_a_shift_is_measured_from_the_neutral_reference_and_knows_no_centre():
    axis = PolarizationAxis.fit(ANCHORS, stances=STANCES)
    texts, neutral = np.array([[5.0, 2.0], [1.0, 0.0]]), np.array([1.0, 7.0])
    assert np.allclose(axis.shift(texts, neutral), [4.0, 0.0])
    uncentred = texts @ axis.directions[0] - neutral @ axis.directions[0]
    assert np.allclose(axis.shift(texts, neutral), uncentred)
    assert np.allclose(axis.shift(texts, [neutral, [3.0, 0.0]]), [3.0, -1.0])
    two = PolarizationAxis.fit(random_rows(3, 6, 2), components=2)
    assert two.shift(texts, neutral).shape == (2, 2)


def test_an_axis_of_means_finds_stance_where_the_first_component_finds_the_subject():
    # Height is what the anchors differ in most; stance is a small step to the side.
    rows = [[0.3, 5.0], [0.3, -5.0], [-0.3, 5.1], [-0.3, -5.1]]
    component = PolarizationAxis.fit(rows, stances=STANCES)
    means = PolarizationAxis.fit_means(rows, stances=STANCES)
    assert check_axis(component, rows, STANCES).alignment == pytest.approx(0.0, abs=0.01)
    assert check_axis(means, rows, STANCES).alignment == pytest.approx(1.0)
    assert check_axis(means, rows, STANCES).auc == 1.0
    assert means.explained[0] < 0.01
    assert means.sign_fixed


def test_zero_is_half_way_between_the_means_however_many_anchors_a_side_has():
    axis = PolarizationAxis.fit_means([[4.0], [4.0], [4.0], [0.0]], stances=["pro"] * 3 + ["con"])
    assert np.allclose(axis.score([[4.0], [2.0], [0.0]]), [2.0, 0.0, -2.0])


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        ([[1.0, 2.0]], "two anchors, got 1"),
        ([], "shape"),
        ([[1.0, 2.0], [1.0, 2.0]], "all alike"),
        ([[0.0, 0.0], [0.0, 0.0]], "all alike"),
        ([[1.0, np.nan], [1.0, 2.0]], "finite; row 0"),
        ([[1.0, 2.0], [np.inf, 2.0]], "finite; row 1"),
        ([[1.0, 2.0], [1.0]], "one length"),
        ([1.0, 2.0], "shape"),
        ([["a"], ["b"]], "one length"),
    ],
)
def test_anchors_that_make_no_axis_are_refused(rows, match):
    with pytest.raises(InputError, match=match):
        PolarizationAxis.fit(rows)


@pytest.mark.parametrize("components", [0, -1, True, 1.5])
def test_components_must_be_a_whole_number(components):
    with pytest.raises(InputError, match="components must be"):
        PolarizationAxis.fit(ANCHORS, components=components)


def test_more_components_than_the_anchors_differ_in_are_refused():
    with pytest.raises(InputError, match="differ in 1"):
        PolarizationAxis.fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], components=2)


@pytest.mark.parametrize(
    ("stances", "match"),
    [(["pro"], "4 texts, 1"), (["pro", "con", "for", "con"], "one of pro, con, neutral")],
)
def test_stances_must_be_known_and_as_many_as_the_anchors(stances, match):
    with pytest.raises(InputError, match=match):
        PolarizationAxis.fit(ANCHORS, stances=stances)


@pytest.mark.parametrize(
    ("rows", "stances", "match"),
    [
        (ANCHORS, ["pro"] * 4, "at least one pro and one con"),
        ([[1.0], [2.0], [1.0], [2.0]], ["pro", "pro", "con", "con"], "whose means differ"),
    ],
)
def test_means_that_make_no_axis_are_refused(rows, stances, match):
    with pytest.raises(InputError, match=match):
        PolarizationAxis.fit_means(rows, stances=stances)


def test_vectors_of_another_dimension_are_refused():
    axis = PolarizationAxis.fit(ANCHORS)
    with pytest.raises(InputError, match=r"shape \(n, 2\), got \(1, 3\)"):
        axis.score([[1.0, 2.0, 3.0]])
    with pytest.raises(InputError, match="reference must have the shape"):
        axis.shift([[1.0, 2.0]], [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="at least one neutral"):
        axis.shift([[1.0, 2.0]], np.zeros((0, 2)))


@given(st.floats(1e-150, 1e150), st.integers(0, 20))
def test_the_unit_of_the_vectors_changes_scores_and_nothing_else(size, seed):
    rows = random_rows(seed, 6, 4)
    plain, large = PolarizationAxis.fit(rows), PolarizationAxis.fit(rows * size)
    assert np.allclose(plain.directions, large.directions)
    assert np.allclose(plain.score(rows) * size, large.score(rows * size))
    assert plain.explained == pytest.approx(large.explained)


def test_an_axis_survives_pickling():
    axis = PolarizationAxis.fit(ANCHORS, stances=STANCES)
    again = pickle.loads(pickle.dumps(axis))
    assert np.array_equal(again.score(ANCHORS), axis.score(ANCHORS))
    assert again.signs_fixed == axis.signs_fixed


# --- does it measure stance? ---

values = st.lists(st.integers(-3, 3), min_size=2, max_size=12)


@settings(deadline=None)
@given(values, st.randoms(use_true_random=False))
def test_rank_correlation_is_that_of_scipy(first, random):
    from scipy.stats import spearmanr

    second = [random.randint(-2, 2) for _ in first]
    ours = spearman(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert ours is None
    else:
        assert ours == pytest.approx(spearmanr(first, second).statistic)


@given(values, values)
def test_auc_is_the_share_of_pairs_in_order(positive, negative):
    pairs = [(p > n) + 0.5 * (p == n) for p in positive for n in negative]
    assert auc(positive, negative) == pytest.approx(sum(pairs) / len(pairs))


def test_what_cannot_be_judged_is_none_and_never_0():
    axis = PolarizationAxis.fit(ANCHORS)
    check = check_axis(axis, ANCHORS[:2], ["pro", "pro"])
    assert (check.spearman, check.auc, check.alignment, check.texts) == (None, None, None, 2)
    assert spearman([1], [2]) is None
    with pytest.raises(InputError, match="one length"):
        spearman([1, 2], [1, 2, 3])


def test_a_check_by_hand_with_neutral_texts_in_the_middle():
    axis = PolarizationAxis.fit(ANCHORS, stances=STANCES)
    rows, stances = [[2, 0], [1, 0], [-1, 0], [0.5, 0]], ["pro", "neutral", "con", "con"]
    check = check_axis(axis, rows, stances)
    # Ranks of the scores 4 3 1 2, of the stances 4 3 1.5 1.5.
    assert check.spearman == pytest.approx(0.9486832980505138)
    assert check.auc == 1.0
