"""Intervals, paired effects, randomisation and Holm: by hand, by brute force, by other libraries."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.stats import (
    Estimate,
    TopicBootstrap,
    difference,
    distance_reduction,
    holm,
    randomisation_p,
)

# SP table 15.
RAW = (0.09058, 0.00120, 0.00020, 0.00020, 0.08818, 0.00300, 0.00060, 0.00020)
ADJUSTED = (0.17636, 0.00480, 0.00160, 0.00160, 0.17636, 0.00900, 0.00300, 0.00160)


def test_holm_gives_the_column_of_the_paper():
    assert holm(RAW) == pytest.approx(ADJUSTED, abs=1e-9)


@pytest.mark.slow  # for its import
def test_holm_is_that_of_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
    def same(p_values):
        expected = multitest.multipletests(p_values, method="holm")[1]
        assert holm(p_values) == pytest.approx(list(expected), abs=1e-12)

    same()


def test_holm_of_no_test_is_nothing():
    assert holm([]) == ()


def test_a_valid_question_weighs_the_same_whatever_its_topic():
    found = TopicBootstrap(["a", "a", "a", "b"]).estimate([1.0, 1.0, 1.0, 0.0])
    assert found.value == 0.75
    assert (found.n, found.topics) == (4, 2)


def test_a_question_that_is_not_valid_is_neither_scored_nor_counted():
    found = TopicBootstrap(["a", "a", "b"]).estimate([1.0, None, 0.0])
    assert (found.value, found.n) == (0.5, 2)


def test_a_topic_without_a_valid_question_is_drawn_and_adds_nothing():
    found = TopicBootstrap(["a", "b", "c"]).estimate([1.0, 0.0, None])
    assert (found.n, found.topics) == (2, 2)
    assert (found.low, found.high) == (0.0, 1.0)


def test_without_a_valid_question_there_is_no_number():
    nothing = Estimate(None, None, None, 0, 0)
    assert TopicBootstrap(["a", "b"]).estimate([None, None]) == nothing
    assert TopicBootstrap([]).estimate([]) == nothing


def test_one_topic_has_a_mean_and_no_interval():
    assert TopicBootstrap(["a", "a"]).estimate([0.0, 1.0]) == Estimate(0.5, None, None, 2, 1)


def test_two_topics_give_the_interval_that_a_reader_can_count():
    # Draws of two topics: aa (1/4), ab or ba (1/2), bb (1/4): means 0, 1/2, 1.
    clusters, values = ["a", "b"], [0.0, 1.0]
    found = TopicBootstrap(clusters, level=0.4).estimate(values)
    assert (found.low, found.high) == (0.5, 0.5)
    found = TopicBootstrap(clusters, level=0.6).estimate(values)
    assert (found.low, found.high) == (0.0, 1.0)


def test_the_interval_is_that_of_resampling_in_a_loop():
    clusters = ["a", "a", "b", "c", "c", "c", "d"]
    values = [0.2, 0.9, -0.4, None, 0.5, 0.1, 0.7]
    found = TopicBootstrap(clusters, samples=400, seed=3).estimate(values)
    names = sorted(set(clusters))
    means = []
    for row in np.random.default_rng(3).integers(0, 4, size=(400, 4)):
        drawn = [
            value
            for number in row
            for value, cluster in zip(values, clusters, strict=True)
            if cluster == names[number] and value is not None
        ]
        means.append(np.mean(drawn))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))


def test_the_order_of_the_questions_does_not_matter():
    clusters = list("gfedcbaabc")
    values = [0.13, 0.92, 0.44, 0.31, 0.77, 0.58, 0.05, 0.66, 0.29, 0.81]
    turned = TopicBootstrap(clusters[::-1], samples=200).estimate(values[::-1])
    found = TopicBootstrap(clusters, samples=200).estimate(values)
    assert (turned.low, turned.high) == pytest.approx((found.low, found.high), abs=1e-12)


def test_paired_columns_share_their_draws_and_their_valid_questions():
    topics = TopicBootstrap(["a", "b", "c", "d"])
    first = [0.9, 0.1, 0.5, None]
    found = topics.estimate(first, [0.7, -0.1, 0.3, 5.0], effect=difference)
    # Every difference is 0.2: with shared draws, so is every sample's.
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.2, 0.2))
    assert found.n == 3


def test_the_reduction_of_distance_forgets_the_sides():
    found = TopicBootstrap(["a", "b"]).estimate([-0.8, -0.6], [0.2, 0.2], effect=distance_reduction)
    assert found.value == pytest.approx(0.5)


def test_a_column_of_another_length_is_refused():
    with pytest.raises(InputError, match="2 values"):
        TopicBootstrap(["a", "b"]).estimate([1.0])


@pytest.mark.parametrize(("samples", "level"), [(0, 0.95), (10, 0.0), (10, 1.0)])
def test_samples_and_level_must_make_sense(samples, level):
    with pytest.raises(InputError, match="samples"):
        TopicBootstrap(["a"], samples=samples, level=level)


def exact_p(first, second, clusters, effect):
    """Every way of swapping whole topics, each as likely."""
    names = sorted(set(clusters))
    pairs = list(zip(first, second, clusters, strict=True))

    def value(swapped):
        both = [(b, a) if c in swapped else (a, b) for a, b, c in pairs]
        return effect(np.array([np.mean([a for a, _ in both]), np.mean([b for _, b in both])]))

    observed = abs(value(())) - 1e-9
    ways = [
        set(swapped)
        for size in range(len(names) + 1)
        for swapped in itertools.combinations(names, size)
    ]
    return sum(abs(value(swapped)) >= observed for swapped in ways) / len(ways)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([-1.0, 0.0, 1.0]), st.sampled_from([-1.0, 0.0, 1.0]), st.integers(0, 4)
        ),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([difference, distance_reduction]),
)
def test_the_randomised_p_is_near_that_of_every_swap(rows, effect):
    first, second, numbers = zip(*rows, strict=True)
    clusters = [str(number) for number in numbers]
    found = randomisation_p(first, second, clusters, effect=effect)
    # Four standard errors of 5,000 randomisations, at most.
    assert found == pytest.approx(exact_p(first, second, clusters, effect), abs=0.03)


def test_p_counts_the_observed_order_as_one_of_the_randomisations():
    clusters = [str(number) for number in range(40)]
    assert randomisation_p([1.0] * 40, [0.0] * 40, clusters) == 1 / 5001


def test_two_equal_columns_have_p_one():
    assert randomisation_p([0.1, 0.7], [0.1, 0.7], ["a", "b"]) == 1.0


def test_no_common_question_has_no_p():
    assert randomisation_p([1.0, None], [None, 0.0], ["a", "b"]) is None


@pytest.mark.slow
def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(11)
    clusters = [f"{topic:02}" for topic in range(42) for _ in range(5)]
    covered = 0
    for trial in range(400):
        topics = rng.normal(0.3, 0.4, size=42)
        values = np.repeat(topics, 5) + rng.normal(0, 0.5, size=210)
        found = TopicBootstrap(clusters, samples=1000, seed=trial).estimate(values.tolist())
        covered += found.low <= 0.3 <= found.high
    # 95% less the little that a percentile interval of 42 topics lacks; 3 standard errors.
    assert 0.90 <= covered / 400 <= 0.975


def test_an_interval_by_question_would_be_too_narrow_and_ours_is_not():
    clusters = [str(topic) for topic in range(20) for _ in range(10)]
    values = [float(topic % 2) for topic in range(20) for _ in range(10)]
    ours = TopicBootstrap(clusters).estimate(values)
    alone = TopicBootstrap([str(i) for i in range(200)]).estimate(values)
    assert ours.high - ours.low > 2 * (alone.high - alone.low)
