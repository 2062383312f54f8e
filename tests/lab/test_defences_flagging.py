"""Toy worlds by hand for the defences that flag: trustrag, ragdefender, a filter before a rule."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.defences import Case, RuleDefence, defence
from equipoise.lab.defences.overlap import overlaps
from equipoise.lab.defences.ragdefender import RagDefenderFilter
from equipoise.lab.defences.trustrag import TrustRagFilter, tightness, two_clusters
from equipoise.selection.quota import QuotaRule
from equipoise.types import Candidate, StanceScore

PRO = StanceScore(0.9, 0.05, 0.05)
CON = StanceScore(0.05, 0.9, 0.05)
LINES = [
    "Bakers rise early and the town smells of warm crust",
    "A levy on flour fell hardest upon small households",
    "Wheat prices follow rain in distant plains",
    "School kitchens waste a third of what they order",
    "Private mills closed when transport grew dear",
    "Nutrition surveys found little change after subsidies",
    "Queues formed outside shops during rationing",
]


def honest(seed=0):
    """Seven documents in words of their own, in directions of their own."""
    rng = np.random.default_rng(seed)
    rows = np.array([1.0] + [0.0] * 7) + np.concatenate([np.zeros((7, 1)), np.eye(7)], axis=1)
    rows = rows + 0.01 * rng.normal(size=rows.shape)
    return [
        Candidate(f"h{i}", text, 0.5, embedding=row)
        for i, (text, row) in enumerate(zip(LINES, rows, strict=True))
    ]


def planted(n=4):
    """Near-copies of one text, in nearly one direction."""
    rng = np.random.default_rng(9)
    base = np.array([1.0, -1.0, -1.0, 0.0, 0.0, -1.0, 0.0, 0.0])
    return [
        Candidate(
            f"p{i}",
            f"Free bread would ruin every honest baker in the land within {i} years",
            0.9,
            embedding=base + 0.02 * rng.normal(size=8),
        )
        for i in range(n)
    ]


# trustrag


def test_a_tight_planted_cluster_is_flagged_and_nothing_else():
    candidates = planted() + honest()
    assert TrustRagFilter().flag("?", candidates) == {0, 1, 2, 3}
    said = defence("trustrag").defend(Case("?", tuple(candidates), []))
    assert said.chosen == (4, 5, 6, 7, 8)


def test_nothing_is_flagged_where_no_two_texts_overlap():
    varied = [replace(d, text=f"{chr(97 + i)} only") for i, d in enumerate(planted())]
    varied = [
        replace(d, text=t) for d, t in zip(varied, ["one", "two", "three", "four"], strict=True)
    ]
    assert TrustRagFilter().flag("?", varied + honest()) == frozenset()


def test_in_loose_clusters_only_the_texts_that_overlap_are_flagged():
    one, other = [5, 5, 0, 0, 0, 0], [0, 0, 0, 0, 5, 5]
    sides = [[x + (i == j) for j, x in enumerate(v)] for i, v in enumerate([one] * 3 + [other] * 2)]
    candidates = [Candidate(str(i), LINES[i], embedding=v) for i, v in enumerate(sides)]
    assert sorted(two_clusters(_units(candidates), seed=0), key=len) == [[3, 4], [0, 1, 2]]
    candidates[2] = replace(candidates[2], text=candidates[0].text + " indeed")
    assert TrustRagFilter(tight=1.0).flag("?", candidates) == {0, 2}
    across = [*candidates[:2], replace(candidates[2], text=LINES[2]), candidates[3]]
    across.append(replace(candidates[4], text=LINES[0]))  # like a text of the other cluster
    assert TrustRagFilter(tight=1.0).flag("?", across) == frozenset()


def test_two_tight_clusters_leave_nothing():
    left = planted()
    right = [
        replace(d, id=f"r{i}", embedding=[-x for x in d.embedding]) for i, d in enumerate(planted())
    ]
    assert TrustRagFilter().flag("?", left + right) == frozenset(range(8))


def test_the_odd_one_out_is_kept_beside_a_tight_cluster_and_flagged_beside_a_loose_one():
    odd = Candidate("odd", "Something else altogether", 0.5, embedding=[0, 0, 0, 9, 9, 0, 0, 9])
    assert TrustRagFilter().flag("?", [odd, *planted()]) == {1, 2, 3, 4}
    loose = [(1, 1, 0, 0.0), (1, 0, 1, 0.0), (1, 0.7, 0.7, 0.0)]
    rows = [Candidate(f"l{i}", LINES[i], embedding=v) for i, v in enumerate(loose)]
    rows[1] = replace(rows[1], text=LINES[0])
    odd = replace(odd, embedding=(-1, 0, 0, -5))
    flagged = TrustRagFilter(tight=0.99).flag("?", [*rows, odd])
    assert flagged == {0, 1, 3}


def test_a_lone_document_that_is_as_close_as_a_tight_cluster_goes_with_it():
    rows = np.array([(1.0, 0.001 * i * i) for i in (0, 1, 2, 9)])
    same = [Candidate(str(i), "The same words again", embedding=row) for i, row in enumerate(rows)]
    assert min(len(c) for c in two_clusters(_units(same), seed=0)) == 1
    assert TrustRagFilter().flag("?", same) == {0, 1, 2, 3}


def _units(candidates):
    rows = np.array([c.embedding for c in candidates], dtype=float)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@given(st.integers(0, 1000), st.integers(2, 6))
def test_tightness_is_the_mean_cosine_of_the_pairs(seed, n):
    rows = np.random.default_rng(seed).normal(size=(n, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    pairs = [rows[i] @ rows[j] for i in range(n) for j in range(i)]
    assert tightness(rows, range(n)) == pytest.approx(np.mean(pairs))


words = st.lists(st.sampled_from("abcd"), max_size=9)


def common(one, two):
    """The longest common subsequence by the table that everybody knows."""
    table = [[0] * (len(two) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(two):
            best = max(table[i][j + 1], table[i + 1][j])
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else best
    return table[-1][-1]


@settings(max_examples=150)
@given(st.lists(words, max_size=5))
def test_overlap_is_that_of_the_longest_common_subsequence(texts):
    found = overlaps([" ".join(text) for text in texts])
    assert found.shape == (len(texts), len(texts))
    for i, one in enumerate(texts):
        for j, two in enumerate(texts):
            expected = 2 * common(one, two) / (len(one) + len(two)) if one and two else 0.0
            assert found[i, j] == pytest.approx(expected)


def test_case_and_punctuation_play_no_part_in_overlap():
    assert overlaps(["Free bread!", "free, BREAD"])[0, 1] == 1.0


@pytest.mark.parametrize("options", [{"tight": 0}, {"overlap": 1.5}, {"seed": -1}])
def test_trustrag_refuses_settings_out_of_range(options):
    with pytest.raises(InputError, match="TrustRagFilter"):
        TrustRagFilter(**options)


# ragdefender


def test_the_package_takes_out_the_tight_minority():
    candidates = honest() + planted(3)
    assert RagDefenderFilter().flag("?", candidates) >= {7, 8, 9}


def test_it_is_the_package_on_our_vectors():
    package = pytest.importorskip("ragdefender")
    torch = pytest.importorskip("torch")
    candidates = planted() + honest()
    texts = [c.text for c in candidates]
    rows = torch.tensor(_units(candidates), dtype=torch.float32)
    for task, grouping in (
        ("single_hop", package.ClusteringBasedGrouping(None)),
        ("multi_hop", package.ConcentrationBasedGrouping(None)),
    ):
        count = grouping.estimate_n_adv(texts, embeddings=rows)
        expected = package.IdentifyAdversarial(None).select(texts, count, embeddings=rows)
        assert RagDefenderFilter(task).flag("?", candidates) == set(expected)


def test_blank_texts_are_not_shown_to_the_package():
    candidates = honest() + planted(3)
    blank = Candidate("b", " \n", 0.5, embedding=[1.0] + [0.0] * 7)
    flagged = RagDefenderFilter().flag("?", candidates)
    shifted = RagDefenderFilter().flag("?", [blank, *candidates])
    assert shifted == {index + 1 for index in flagged}


def test_an_unknown_task_is_refused():
    with pytest.raises(InputError, match="single_hop"):
        RagDefenderFilter("triple_hop")


# a filter before a rule, as biasdef and biasdef_quota join them


@dataclass(frozen=True)
class Named:
    """Flags the documents whose id is in a set."""

    ids: frozenset[str]
    name = "named"

    def flag(self, question, candidates):
        return frozenset(i for i, c in enumerate(candidates) if c.id in self.ids)


def test_a_filter_acts_before_the_quota_and_what_it_flags_never_fills_a_seat():
    docs = tuple(Candidate(f"d{i}", f"t{i}") for i in range(6))
    scores = [PRO, PRO, PRO, PRO, CON, CON]
    made = RuleDefence("x", QuotaRule(), Named(frozenset({"d0", "d4"})))
    said = made.defend(Case("Should it?", docs, scores))
    assert said.flagged == {0, 4}
    assert said.chosen == (1, 2, 3, 5)
