"""One suite over every selection rule; a new rule joins by one line in RULES."""

import pytest

from equipoise.selection.mmr import MmrRule
from equipoise.selection.quota import QuotaRule
from equipoise.selection.random import RandomRule
from equipoise.selection.relevance import RelevanceRule
from equipoise.selection.sources import Sources
from equipoise.types import Candidate, SelectionRule, StanceScore

RULES = [
    QuotaRule(),
    QuotaRule(unsure_below=0.9),
    QuotaRule(sources=Sources()),
    RelevanceRule(),
    RandomRule(),
    MmrRule(),
]
PRO = StanceScore(0.8, 0.1, 0.1)


def world(n):
    docs = [Candidate(f"d{i}", f"text {i}", 1 - i / 100, embedding=(1.0, i)) for i in range(n)]
    return docs, [PRO] * n


@pytest.fixture(params=RULES, ids=lambda rule: rule.name)
def rule(request):
    return request.param


def test_it_is_a_selection_rule_with_a_name(rule):
    assert isinstance(rule, SelectionRule)
    assert rule.name


@pytest.mark.parametrize("n", [0, 1, 4, 5, 50])
def test_it_chooses_five_or_all_there_are_each_once(rule, n):
    picks = rule.select(*world(n))
    assert len({pick.index for pick in picks}) == len(picks) == min(5, n)


def test_it_never_chooses_what_is_to_be_skipped(rule):
    docs, scores = world(9)
    picks = rule.select(docs, scores, skip={0, 2, 4})
    assert {pick.index for pick in picks} <= {1, 3, 5, 6, 7, 8}
    assert len(picks) == 5


def test_it_gives_the_same_answer_twice_and_changes_nothing(rule):
    docs, scores = world(30)
    before = list(docs)
    assert rule.select(docs, scores) == rule.select(docs, scores)
    assert docs == before


def test_random_draws_differ_with_the_seed_and_with_the_list():
    docs, scores = world(20)
    other = [Candidate(f"other{i}", d.text) for i, d in enumerate(docs)]
    assert RandomRule(seed=1).select(docs, scores) != RandomRule(seed=2).select(docs, scores)
    assert RandomRule().select(docs, scores) != RandomRule().select(other, scores)


def test_random_draws_reach_every_document_of_the_pool():
    docs, scores = world(25)
    drawn = {p.index for seed in range(60) for p in RandomRule(seed=seed).select(docs, scores)}
    assert drawn == set(range(20))
