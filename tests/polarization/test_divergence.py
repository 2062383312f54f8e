import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.polarization.divergence import (
    Divergence,
    Gaussian,
    Histogram,
    Kernel,
    between,
)

DIRECTIONS = ["first||rest", "rest||first", "symmetric"]
KINDS = [Gaussian, Histogram, Kernel]


def closed_form(p, q):
    (mp, vp), (mq, vq) = ((np.mean(x), np.var(x)) for x in (p, q))
    return math.log(math.sqrt(vq / vp)) + (vp + (mp - mq) ** 2) / (2 * vq) - 0.5


samples = st.lists(st.floats(-5, 5), min_size=2, max_size=8)


@given(samples, samples)
def test_without_a_floor_gaussian_is_the_closed_form(first, rest):
    if min(np.var(first), np.var(rest)) < 1e-3:
        return
    forward, back = closed_form(first, rest), closed_form(rest, first)
    for direction, wanted in zip(DIRECTIONS, (forward, back, (forward + back) / 2), strict=True):
        found = between(Gaussian(0.0, direction), first, rest)
        assert found == pytest.approx(wanted, rel=1e-4, abs=1e-6)


def test_two_scores_that_happen_to_be_close_have_a_bounded_divergence():
    close, rest = [0.0, 1e-9], [-1.0, 1.0, 0.3, -0.3]
    assert between(Gaussian(floor=0.0), close, rest) > 8
    assert between(Gaussian(floor=0.1), close, rest) < 1.5


def test_a_mean_far_from_both_humps_is_no_distance_to_a_gaussian_and_is_to_the_others():
    # The failure that its docstring names: one mean, one variance, two shapes.
    humps, middle = [-1.0] * 5 + [1.0] * 5, [-math.sqrt(5), *[0.0] * 8, math.sqrt(5)]
    assert between(Gaussian(floor=0.0), humps, middle) == pytest.approx(0.0, abs=1e-9)
    assert between(Histogram(), humps, middle) > 0.3
    assert between(Kernel(), humps, middle) > 0.1


def test_a_histogram_by_hand():
    # Two bins over [0, 1]: counts 2, 0 and 1, 1; with one added to each 3/4, 1/4 and 1/2, 1/2.
    found = between(Histogram(bins=2, smoothing=1.0), [0.0, 0.1], [0.2, 1.0])
    assert found == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(0.5))


def test_one_far_score_squeezes_a_histogram_into_one_bin():
    near, other = [0.0, 0.1, 0.2] * 3, [0.3, 0.4, 0.5] * 3
    assert between(Histogram(), near, other) > 1.0
    assert between(Histogram(), near, [*other, 100.0]) < 0.1


def test_every_large_gap_looks_alike_to_kernels():
    wide, wider = (between(Kernel(0.05), [0.0, 0.1, 0.2], [g, g + 0.1]) for g in (50.0, 500.0))
    assert wide == pytest.approx(wider, abs=0.6)
    assert wide < math.log(64 / 0.001)


def test_kernels_come_near_to_the_closed_form_on_many_scores():
    rng = np.random.default_rng(0)
    first, rest = rng.normal(0.5, 1, 4000), rng.normal(0, 1, 4000)
    assert between(Kernel(), first, rest) == pytest.approx(0.125, abs=0.03)
    assert between(Gaussian(0.0), first, rest) == pytest.approx(0.125, abs=0.03)
    assert between(Histogram(bins=30), first, rest) == pytest.approx(0.125, abs=0.03)


rows = st.lists(st.floats(-3, 3).map(lambda x: round(x, 3)), min_size=2, max_size=9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", DIRECTIONS)
@given(scores=rows)
def test_every_cut_is_finite_not_negative_and_the_same_alone_as_in_a_batch(kind, direction, scores):
    estimator = kind(direction=direction)
    assert isinstance(estimator, Divergence)
    found = estimator.cuts(np.array(scores))
    assert found.shape == (len(scores) - 1,)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    batch = estimator.cuts(np.array([scores, scores[::-1]]))
    assert np.allclose(batch[0], found)
    # Cut at i of the reversed row compares the same parts the other way round.
    turned = {"first||rest": "rest||first", "rest||first": "first||rest"}.get(direction, direction)
    assert np.allclose(kind(direction=turned).cuts(np.array(scores[::-1]))[::-1], found, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@given(scores=rows)
def test_sign_unit_and_origin_of_scores_do_not_matter(kind, scores):
    if np.ptp(scores) < 1e-2:
        return
    row = np.array(scores)
    wanted = kind().cuts(row)
    # Powers of two: a score exactly on the edge of two bins may not move by rounding.
    assert np.allclose(kind().cuts(4.0 * row), wanted, atol=1e-6)
    if kind is not Histogram:
        assert np.allclose(kind().cuts(7.0 - 3.0 * row), wanted, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_scores_are_0_apart(kind):
    assert not kind().cuts(np.full(6, 0.3)).any()
    assert not kind().cuts(np.zeros(6)).any()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Gaussian(floor=-0.1),
        lambda: Gaussian(floor=math.nan),
        lambda: Gaussian(direction="high||low"),
        lambda: Histogram(bins=1),
        lambda: Histogram(smoothing=0.0),
        lambda: Histogram(direction=""),
        lambda: Kernel(bandwidth=0.0),
        lambda: Kernel(points=4),
        lambda: Kernel(direction=None),
        lambda: between(Gaussian(), [], [1.0]),
        lambda: between(Gaussian(), [1.0, math.nan], [1.0]),
        lambda: between(Gaussian(), [[1.0]], [1.0]),
    ],
)
def test_settings_and_samples_out_of_range_are_refused(make):
    with pytest.raises(InputError):
        make()


def test_names_tell_the_settings_apart():
    names = {k(direction=d).name for k in KINDS for d in DIRECTIONS}
    assert len(names | {Gaussian(0.2).name, Histogram(9).name, Kernel(0.4).name}) == 12
