import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.audit.chance import Mix, benjamini_hochberg, draw_p, even_p, wilson

counts = st.integers(0, 30)
numbers = st.lists(st.floats(-1, 1, allow_nan=False), min_size=0, max_size=5)


def test_wilson_is_that_of_statsmodels() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for count, total in ((0, 5), (1, 1), (7, 10), (33, 400)):
        low, high = proportion.proportion_confint(count, total, method="wilson")
        share = wilson(count, total)
        assert share.value == count / total
        assert (share.low, share.high) == pytest.approx((low, high))


def test_nothing_has_no_share() -> None:
    assert wilson(0, 0) == (None, None, None)


@given(counts, counts)
def test_the_interval_holds_the_share(count: int, rest: int) -> None:
    share = wilson(count, count + rest)
    if count + rest:
        assert 0 <= share.low <= share.value + 1e-12  # type: ignore[operator]
        assert share.value <= share.high + 1e-12 <= 1 + 1e-9  # type: ignore[operator]


def test_an_uneven_split_has_the_p_of_the_binomial_test() -> None:
    stats = pytest.importorskip("scipy.stats")
    for first, second in itertools.product(range(9), repeat=2):
        if first + second:
            expected = stats.binomtest(first, first + second).pvalue
            assert even_p(first, second) == pytest.approx(expected)
    assert even_p(0, 0) == 1.0


@given(numbers, numbers)
def test_a_draw_is_judged_as_by_trying_every_draw(drawn: list[float], rest: list[float]) -> None:
    everything = [*drawn, *rest]
    if not drawn or not rest:
        assert draw_p(drawn, rest) == 1.0
        return
    expected = len(drawn) * sum(everything) / len(everything)
    draws = [sum(one) for one in itertools.combinations(everything, len(drawn))]
    extreme = [abs(one - expected) >= abs(sum(drawn) - expected) - 1e-9 for one in draws]
    assert draw_p(drawn, rest) == pytest.approx(sum(extreme) / len(extreme), abs=1e-9)


def test_many_draws_are_sampled_by_a_fixed_seed_near_the_exact_value() -> None:
    stats = pytest.importorskip("scipy.stats")
    drawn, rest = [1.0] * 4 + [0.0] * 2, [1.0] * 10 + [0.0] * 60
    exact = stats.hypergeom(76, 14, 6).sf(3)  # the other tail is empty: 0 pro is nearer the mean
    assert draw_p(drawn, rest) == draw_p(drawn, rest)
    assert draw_p(drawn, rest) == pytest.approx(exact, abs=0.004)
    assert draw_p([1.0] * 6, [-1.0] * 70) == 1 / 10_000


@given(st.lists(st.floats(0.0001, 1), max_size=12))
def test_correction_is_that_of_statsmodels(p_values: list[float]) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    adjusted = benjamini_hochberg(p_values)
    if p_values:
        expected = multitest.multipletests(p_values, method="fdr_bh")[1]
        assert adjusted == pytest.approx(tuple(expected))
    else:
        assert adjusted == ()


def test_mixes_add_up() -> None:
    both = Mix(1, 2, 3) + Mix(4, 0, 1)
    assert (both, both.total, both.sided, both.net) == (Mix(5, 2, 4), 11, 7, 3)
