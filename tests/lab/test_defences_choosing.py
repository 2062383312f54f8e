"""Toy worlds by hand for the defences that choose: smart, brra, grada, mmr, pyversity."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.defences import Case, defence
from equipoise.lab.defences.brra import BrraRule, purified
from equipoise.lab.defences.grada import GradaRule, page_rank
from equipoise.lab.defences.pyversity import STRATEGIES, PyversityRule
from equipoise.lab.defences.smart import SmartRule, conflicts, greedy_map
from equipoise.selection.mmr import MmrRule
from equipoise.types import Candidate, StanceScore

PRO = StanceScore(0.9, 0.05, 0.05)
CON = StanceScore(0.05, 0.9, 0.05)
NEUTRAL = StanceScore(0.05, 0.05, 0.9)


def docs(*rows):
    """(score, vector) -> candidates; texts and ids say their place."""
    return [
        Candidate(f"d{i}", f"text {i}", score, embedding=vector)
        for i, (score, vector) in enumerate(rows)
    ]


def chosen(rule, candidates, scores=None):
    return [pick.index for pick in rule.select(candidates, scores or [NEUTRAL] * len(candidates))]


def alike(n, cosine):
    """n unit vectors, any two of this cosine."""
    shared, own = math.sqrt(cosine), math.sqrt(1 - cosine)
    return [[shared, *(own if i == j else 0.0 for j in range(n))] for i in range(n)]


# smart


def test_smart_as_published_keeps_the_other_side_out_and_turned_round_it_takes_it():
    candidates = docs(*((0.5, vector) for vector in alike(3, 0.8)))
    scores = [PRO, PRO, CON]
    assert chosen(SmartRule(k=2), candidates, scores) == [0, 1]
    assert chosen(SmartRule(k=2, conflict="seek"), candidates, scores) == [0, 2]


def test_smart_without_gamma_reads_stances_and_lets_them_change_nothing():
    candidates = docs((0.6, (1, 0)), (0.59, (1, 0.1)), (0.5, (0, 1)))
    for scores in ([PRO, PRO, PRO], [PRO, CON, CON]):
        for conflict in ("avoid", "seek"):
            assert chosen(SmartRule(k=2, gamma=0.0, conflict=conflict), candidates, scores) == [
                0,
                2,
            ]


def test_smart_with_more_weight_prefers_relevance_to_unlikeness():
    candidates = docs((0.9, (1, 0)), (0.85, (0.99, 0.14)), (0.2, (0, 1)))
    assert chosen(SmartRule(k=2, weight=0.0), candidates) == [0, 2]
    assert chosen(SmartRule(k=2, weight=0.9), candidates) == [0, 1]


def test_smart_fills_by_rank_when_nothing_adds_anything():
    candidates = docs(*[(0.5, (1, 0))] * 6)
    scores = [StanceScore(0.0, 0.0, 1.0)] * 6
    rule = SmartRule(k=4, gamma=0.0)
    assert chosen(rule, candidates, scores) == [0, 1, 2, 3]


def test_smart_reads_only_the_labels_of_its_pool():
    candidates = docs(*((0.5, vector) for vector in alike(9, 0.5)))
    assert len(chosen(SmartRule(k=2, pool=4), candidates, [PRO] * 4)) == 2


matrices = st.integers(1, 7).flatmap(
    lambda n: st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=n, max_size=n)
)


@settings(max_examples=150)
@given(matrices, st.integers(1, 7))
def test_every_step_of_the_greedy_search_has_the_largest_determinant(rows, k):
    factor = np.asarray(rows, dtype=float)
    kernel = factor @ factor.T
    taken = greedy_map(kernel, k)
    assert len(set(taken)) == len(taken) <= min(k, len(rows))

    def determinant(at):
        return float(np.linalg.det(kernel[np.ix_(at, at)]))

    for step, one in enumerate(taken):
        before = taken[:step]
        rest = [i for i in range(len(rows)) if i not in before]
        best = max(determinant([*before, i]) for i in rest)
        assert determinant([*before, one]) == pytest.approx(best, rel=1e-6, abs=1e-6)
    if len(taken) < min(k, len(rows)):  # it stopped early: nothing adds anything
        rest = [i for i in range(len(rows)) if i not in taken]
        assert all(determinant([*taken, i]) == pytest.approx(0.0, abs=1e-3) for i in rest)


def test_conflict_is_the_probability_of_opposite_sides():
    both = conflicts([StanceScore(0.6, 0.3, 0.1), StanceScore(0.2, 0.5, 0.3)])
    assert both[0, 1] == both[1, 0] == pytest.approx(0.6 * 0.5 + 0.3 * 0.2)


@pytest.mark.parametrize(
    "options", [{"weight": 1.0}, {"weight": -0.1}, {"gamma": -1}, {"conflict": "both"}]
)
def test_smart_refuses_settings_out_of_range(options):
    with pytest.raises(InputError, match="SmartRule"):
        SmartRule(**options)


# brra


@settings(max_examples=100)
@given(st.integers(0, 10_000), st.integers(3, 8), st.integers(2, 6))
def test_purified_relevance_is_the_product_once_the_axis_is_gone_from_both(seed, n, dimension):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, dimension))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    question = rng.normal(size=dimension)
    question /= np.linalg.norm(question)
    axis = np.linalg.svd(rows - rows.mean(axis=0))[2][0]
    rest = rows - np.outer(rows @ axis, axis)
    left = question - (question @ axis) * axis
    assert purified(rows, rows @ question) == pytest.approx(rest @ left, abs=1e-6)


def test_a_lead_that_is_owed_to_the_main_axis_is_lost():
    # The second coordinate tells planted (0, 1) from honest; the question leans to it.
    question = np.array([0.6, 0.7, 0.4])
    rows = [(0.6, 0.79, -0.1), (0.6, 0.79, -0.15), (0.6, -0.5, 0.6), (0.6, -0.7, 0.4)]
    rows = [np.array(row) / np.linalg.norm(row) for row in [*rows, (0.6, -0.7, -0.4)]]
    candidates = docs(*((float(row @ question), row) for row in rows))
    assert sorted(range(5), key=lambda i: -candidates[i].score)[:2] == [0, 1]
    assert chosen(BrraRule(k=2), candidates) == [2, 3]


def test_brra_keeps_the_order_of_relevance_where_there_is_no_axis():
    two = docs((0.9, (1, 0)), (0.5, (0, 1)))
    assert chosen(BrraRule(), two) == [0, 1]
    assert chosen(BrraRule(), docs(*[(0.5, (1, 0))] * 4)) == [0, 1, 2, 3]


# grada


def test_grada_lets_an_isolated_document_fall_however_relevant():
    crowd = alike(6, 0.7)
    lonely = [0.0] * 6 + [0.0, 1.0]
    rows = [(0.95, lonely), *((0.6, [*vector, 0.0]) for vector in crowd)]
    candidates = docs(*rows)
    assert 0 not in chosen(GradaRule(k=5), candidates)
    assert defence("none").defend(Case("?", tuple(candidates), [])).chosen[0] == 0


def test_grada_raises_planted_documents_that_resemble_one_another():
    # Its known weakness, and why it is a baseline here.
    planted = [(0.6, [0.99, 0.1, *([0.0] * 6)]), (0.6, [0.99, -0.1, *([0.0] * 6)])]
    spread = [(0.6, [0.0, 0.0, *vector]) for vector in alike(5, 0.3)]
    assert set(chosen(GradaRule(k=2, alpha=0.3), docs(*spread, *planted))) == {5, 6}


def test_without_edges_grada_keeps_the_order_of_relevance():
    assert chosen(GradaRule(), docs(*((0.9, v) for v in alike(7, 0.1)))) == [0, 1, 2, 3, 4]


@settings(max_examples=80)
@given(st.integers(0, 10_000), st.integers(1, 8))
def test_page_rank_is_where_a_walk_settles(seed, n):
    rng = np.random.default_rng(seed)
    edges = np.triu(rng.random((n, n)) * (rng.random((n, n)) > 0.5), 1)
    edges = edges + edges.T
    walk = np.full(n, 1.0 / n)
    for _ in range(300):
        arriving = np.zeros(n)
        for i in range(n):
            total = edges[i].sum()
            arriving += walk[i] * (edges[i] / total if total else np.full(n, 1.0 / n))
        walk = 0.15 / n + 0.85 * arriving
    assert page_rank(edges) == pytest.approx(walk, abs=1e-9)
    assert page_rank(edges).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("options", [{"alpha": -0.1}, {"damping": 1.0}, {"alpha": math.nan}])
def test_grada_refuses_settings_out_of_range(options):
    with pytest.raises(InputError, match="GradaRule"):
        GradaRule(**options)


# mmr and pyversity


def test_mmr_is_the_brute_force_for_few_documents():
    rng = np.random.default_rng(3)
    for _ in range(20):
        rows = rng.normal(size=(6, 4)) + 1.0
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        scores = np.sort(rng.random(6))[::-1]
        candidates = docs(*((float(s), r) for s, r in zip(scores, rows, strict=True)))
        taken = []
        while len(taken) < 5:
            rest = [i for i in range(6) if i not in taken]
            value = {
                i: 0.5 * scores[i] - 0.5 * max((rows[i] @ rows[j] for j in taken), default=0.0)
                for i in rest
            }
            taken.append(max(rest, key=value.get))
        said = defence("mmr").defend(Case("?", tuple(candidates), []))
        assert said.chosen == tuple(sorted(taken))


def positive_world(seed, n=12):
    rng = np.random.default_rng(seed)
    rows = rng.random((n, 5))
    scores = np.sort(rng.random(n))[::-1]
    return docs(*((float(s), r) for s, r in zip(scores, rows, strict=True)))


@pytest.mark.parametrize("seed", range(8))
def test_mmr_of_pyversity_is_ours_where_no_cosine_is_negative(seed):
    candidates = positive_world(seed)
    assert chosen(PyversityRule("mmr"), candidates) == chosen(MmrRule(), candidates)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_without_diversity_every_strategy_is_the_order_of_relevance(strategy):
    assert chosen(PyversityRule(strategy, diversity=0.0), positive_world(1)) == [0, 1, 2, 3, 4]


def test_msd_takes_the_pair_that_is_farthest_apart_from_the_first():
    candidates = docs((0.9, (1, 0)), (0.5, (0.9, 0.4)), (0.5, (-1, 0.1)), (0.5, (0, 1)))
    assert chosen(PyversityRule("msd", k=2), candidates) == [0, 2]


def test_dpp_takes_a_set_of_large_determinant():
    candidates = docs((0.5, (1, 0, 0)), (0.5, (0.99, 0.1, 0)), (0.5, (0, 1, 0)), (0.5, (0, 0, 1)))
    taken = chosen(PyversityRule("dpp", k=3, diversity=1.0), candidates)
    rows = np.array([c.embedding for c in candidates])
    volume = {
        part: np.linalg.det(rows[list(part)] @ rows[list(part)].T)
        for part in combinations(range(4), 3)
    }
    assert volume[tuple(sorted(taken))] == pytest.approx(max(volume.values()), abs=1e-6)


def test_an_unknown_strategy_or_diversity_is_refused():
    with pytest.raises(InputError, match="mmr, msd"):
        PyversityRule("best")
    with pytest.raises(InputError, match="diversity"):
        PyversityRule("mmr", diversity=1.1)
