import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.selection.mmr import MmrRule
from equipoise.types import Candidate


def doc(name, score, *vector):
    return Candidate(name, name, score=score, embedding=vector)


def chosen(rule, docs):
    return [pick.index for pick in rule.select(docs, [])]


def test_a_near_copy_of_the_first_document_gives_way_to_an_unlike_one():
    docs = [doc("a", 0.9, 1, 0), doc("b", 0.89, 1, 0.01), doc("c", 0.6, 0, 1)]
    assert chosen(MmrRule(k=2), docs) == [0, 2]


def test_weight_one_is_the_order_of_relevance():
    docs = [doc("a", 0.2, 1, 0), doc("b", 0.9, 1, 0.01), doc("c", 0.6, 1, 0.02)]
    assert chosen(MmrRule(k=3, weight=1.0), docs) == [1, 2, 0]


vectors = st.tuples(*(st.integers(-3, 3) for _ in range(3))).filter(any)


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.integers(0, 20), vectors), max_size=8),
    st.integers(1, 8),
    st.sampled_from([0.0, 0.3, 0.5, 0.9]),
)
def test_every_pick_is_the_best_by_the_formula_given_those_before_it(rows, k, weight):
    docs = [doc(str(i), score / 20, *vector) for i, (score, vector) in enumerate(rows)]
    ours = chosen(MmrRule(k=k, weight=weight), docs)
    assert len(ours) == min(k, len(docs))
    assert len(set(ours)) == len(ours)
    for at, pick in enumerate(ours):
        # Not the same indices: floating point breaks ties either way, and what follows differs.
        rest = [i for i in range(len(docs)) if i not in ours[:at]]
        best = max(_value(docs, [*ours[:at], i], weight) for i in rest)
        assert _value(docs, [*ours[:at], pick], weight) == pytest.approx(best, abs=1e-9)


def _value(docs, taken, weight):
    *before, last = taken
    units = [[x / math.hypot(*d.embedding) for x in d.embedding] for d in docs]
    closest = max(
        (sum(a * b for a, b in zip(units[last], units[j], strict=True)) for j in before),
        default=0.0,
    )
    return weight * docs[last].score - (1 - weight) * closest


def test_min_max_puts_scores_of_another_scale_beside_the_cosines():
    docs = [doc("a", 30.0, 1, 0), doc("b", 29.0, 1, 0.001), doc("c", 12.0, 0, 1)]
    assert chosen(MmrRule(k=2), docs) == [0, 1]
    assert chosen(MmrRule(k=2, normalise="minmax"), docs) == [0, 2]


def test_a_document_without_a_usable_score_comes_after_all_others():
    docs = [
        doc("a", math.nan, 1, 0),
        doc("b", 0.1, 1, 0),
        doc("c", None, 0, 1),
        doc("d", 0.2, 0, 1),
    ]
    assert chosen(MmrRule(k=4), docs) == [3, 1, 0, 2]


def test_a_missing_embedding_is_named():
    with pytest.raises(InputError, match="'second'"):
        MmrRule().select([doc("first", 1.0, 1.0), Candidate("second", "x", score=0.5)], [])


def test_embeddings_of_different_lengths_are_refused():
    with pytest.raises(InputError, match="one length"):
        MmrRule().select([doc("a", 1.0, 1.0), doc("b", 0.5, 1.0, 0.0)], [])


def test_only_the_pool_is_considered():
    docs = [doc(str(i), i / 10, 1, i) for i in range(10)]
    assert set(chosen(MmrRule(k=5, pool=5), docs)) == set(range(5))
    assert all(a != b for a, b in pairwise(chosen(MmrRule(k=5, pool=5), docs)))
