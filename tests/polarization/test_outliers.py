import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.polarization.mahalanobis import ShrunkCovariance, chi2_quantile, ledoit_wolf
from equipoise.polarization.outliers import Outliers


@settings(deadline=None)
@given(st.integers(0, 100), st.integers(2, 30), st.integers(2, 40))
def test_shrinkage_and_distances_are_those_of_scikit_learn(seed, n, d):
    from sklearn.covariance import LedoitWolf

    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) * rng.uniform(0.2, 3, size=d) + rng.normal(size=d)
    model = LedoitWolf().fit(rows)
    assert ledoit_wolf(rows) == pytest.approx(model.shrinkage_, abs=1e-9)
    if model.shrinkage_ < 1e-6 and n <= d:
        return  # no inverse there; ours shrinks a little
    ours = ShrunkCovariance.fit(rows, shrinkage=max(model.shrinkage_, 1e-6))
    others = rng.normal(size=(5, d))
    covariance = (1 - ours.shrinkage) * np.cov(rows.T, bias=True).reshape(d, d)
    covariance += ours.shrinkage * ours.scale * np.eye(d)
    away = others - rows.mean(axis=0)
    wanted = np.einsum("ij,jk,ik->i", away, np.linalg.inv(covariance), away)
    assert ours.squared(others) == pytest.approx(wanted, rel=1e-5)
    assert ShrunkCovariance.fit(rows).squared(others) == pytest.approx(
        model.mahalanobis(others), rel=1e-4
    )


def test_vectors_that_are_all_alike_have_no_spread_to_measure_by():
    assert ShrunkCovariance.fit(np.full((4, 3), 0.7)) is None
    assert ShrunkCovariance.fit(np.zeros((4, 3))) is None
    assert ShrunkCovariance.fit(np.ones((1, 3))) is None
    assert ledoit_wolf(np.ones((4, 3))) == 1.0


@pytest.mark.parametrize("freedom", [5, 20, 384, 768])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99, 0.999])
def test_chi_square_quantiles_are_within_a_hundredth_of_two(freedom, level):
    from scipy.stats import chi2

    assert chi2_quantile(level, freedom) == pytest.approx(chi2.ppf(level, freedom), rel=0.012)


BENIGN = [[x / 4, y / 4] for x in range(-2, 3) for y in range(-2, 3)]
CLUSTER = [[5.0, 5.0], [5.2, 5.0], [5.0, 5.2], [5.2, 5.2]]


def found(outliers, benign, suspects=CLUSTER):
    return outliers.find(np.array(benign, dtype=float), np.array(suspects, dtype=float))


@pytest.mark.parametrize("reading", ["benign", "suspect", "both"])
def test_a_member_of_the_planted_cluster_in_the_benign_part_is_found_by_each_reading(reading):
    assert found(Outliers(reading), [*BENIGN, [5.1, 5.1]]) == [25]
    assert found(Outliers(reading), BENIGN) == []


def test_the_readings_differ_on_a_document_that_is_merely_odd():
    odd = [*BENIGN, [-6.0, 6.0]]
    assert found(Outliers("benign"), odd) == [25]
    assert found(Outliers("suspect"), odd) == []
    assert found(Outliers("both"), odd) == [25]
    assert found(Outliers("none"), odd) == []


def test_a_document_nearer_to_the_other_benign_ones_than_to_the_suspects_is_no_member():
    beside = [[0.9, 0.0], [1.0, 0.1], [1.0, -0.1], [1.1, 0.0]]
    rows = np.array(BENIGN)
    # All are within what is far here; only what lies on the suspects' side is nearer to them.
    at = found(Outliers("suspect", level=50.0), BENIGN, beside)
    assert at
    assert all(rows[i][0] > 0.4 for i in at)
    assert [i for i in range(25) if rows[i][0] <= 0.25 and i in at] == []


def test_spread_is_the_median_and_scaled_median_absolute_deviations():
    rows = np.random.default_rng(2).standard_t(2, size=(40, 3))
    own = ShrunkCovariance.fit(rows).left_out(rows)
    apart = np.abs(own - np.median(own))
    for level in np.linspace(0.2, 3.0, 30):
        far = np.median(own) + level * 1.4826 * np.median(apart)
        at = found(Outliers("benign", level=level), rows, [[9.0, 9.0, 9.0]])
        assert set(at) == set(np.flatnonzero(own > far))


def test_the_farthest_from_the_benign_ones_comes_first():
    assert found(Outliers("benign", level=2.0), [*BENIGN, [4.0, 4.0], [5.1, 5.1]])[0] == 26


def test_a_quantile_takes_its_share_whether_or_not_anything_is_wrong():
    assert len(found(Outliers("benign", "quantile", 0.8), BENIGN)) > 0
    assert found(Outliers("benign", "quantile", 1.0), BENIGN) == []


def test_chi_square_cuts_what_does_not_come_from_the_normal_law_of_the_others():
    rng = np.random.default_rng(0)
    many, few = rng.normal(size=(400, 2)), rng.normal(size=(20, 300))
    rule = Outliers("benign", "chi2", 0.99)
    assert found(rule, [*many.tolist(), [9.0, 9.0]], rng.normal(size=(3, 2)))[0] == 400
    assert found(rule, [*few.tolist(), (3 * rng.normal(size=300)).tolist()], few[:3]) == [20]


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 500), st.integers(3, 12), st.integers(1, 20), st.floats(1e-3, 1.0))
def test_each_vector_left_out_is_measured_as_if_it_had_never_been_there(seed, n, d, shrinkage):
    rng = np.random.default_rng(seed)
    rows, point = rng.normal(size=(n, d)), rng.normal(size=d)
    every = ShrunkCovariance.fit(rows, shrinkage=shrinkage)
    for start, measured in (
        (None, every.left_out(rows)),
        (point, every.left_out(rows, point=point)),
    ):
        for i in range(n):
            others = np.delete(rows, i, axis=0)
            spread = (1 - shrinkage) * np.cov(others.T, bias=True).reshape(d, d)
            spread += shrinkage * every.scale * np.eye(d)
            away = rows[i] - (others.mean(axis=0) if start is None else start)
            assert measured[i] == pytest.approx(away @ np.linalg.inv(spread) @ away, rel=1e-5)


def test_leaving_out_shows_what_fewer_documents_than_dimensions_hide():
    rng = np.random.default_rng(1)
    # Documents along twelve directions of 200, and one far off them: what helped to make the
    # covariance stretched it its own way.
    rows = np.vstack([rng.normal(size=(15, 12)) @ rng.normal(size=(12, 200)), rng.normal(size=200)])
    rows[-1] *= 10
    fitted = ShrunkCovariance.fit(rows)
    hidden, shown = fitted.squared(rows), fitted.left_out(rows)
    assert hidden[-1] < 2 * np.median(hidden)
    assert shown[-1] > 4 * np.median(shown)


def test_a_single_suspect_is_a_cluster_and_no_suspect_is_none():
    assert found(Outliers("suspect", level=30.0), [*BENIGN, [5.0, 5.0]], [[5.0, 5.0]]) == [25]
    assert found(Outliers("both"), [*BENIGN, [5.0, 5.0]], np.zeros((0, 2))) == []


@pytest.mark.parametrize("benign", [[[0.0, 0.0], [1.0, 0.0]], [[1.0, 1.0]] * 5])
def test_benign_documents_too_few_or_all_alike_have_no_outliers(benign):
    assert found(Outliers("both"), benign) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: Outliers("english"),
        lambda: Outliers(cutoff="iqr"),
        lambda: Outliers(cutoff="chi2", level=1.0),
        lambda: Outliers(cutoff="quantile", level=1.5),
        lambda: Outliers(level=0.0),
        lambda: Outliers(level=math.inf),
        lambda: Outliers(shrinkage=0.0),
        lambda: ShrunkCovariance.fit(np.zeros((0, 2))),
        lambda: ShrunkCovariance.fit(np.eye(2), shrinkage=2.0),
        lambda: ShrunkCovariance.fit(np.eye(2)).left_out(np.eye(2)[:1]),
        lambda: chi2_quantile(1.0, 3),
        lambda: chi2_quantile(0.5, 0),
    ],
)
def test_settings_out_of_range_are_refused(make):
    with pytest.raises(InputError):
        make()
