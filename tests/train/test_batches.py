"""Batches: each example once, within the budget."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.stance.pairs import Pair
from equipoise.train.batches import (
    Example,
    batches,
    collate,
    encode,
    inverse_frequency,
    mixed,
    one_hot,
)
from equipoise.train.data import Row

lengths = st.lists(st.integers(1, 60), min_size=1, max_size=60)


def example(length, at=0):
    ids = np.full(length, at, dtype=np.int64)
    return Example(Pair(ids, np.zeros_like(ids)), (0.0, 0.0, 1.0))


def row(stance, at=0, question="q?", text="good"):
    return Row(f"{at}", "t", question, "q.", text, stance, "s")


@given(lengths, st.integers(10, 200), st.integers(0, 5))
def test_batches_hold_each_example_once_and_keep_the_budget(lengths, tokens, seed):
    examples = [example(length, at) for at, length in enumerate(lengths)]
    made = batches(examples, rows=None, tokens=tokens, rng=random.Random(seed))
    assert sorted(int(e.pair.ids[0]) for batch in made for e in batch) == list(range(len(lengths)))
    for batch in made:
        padded = max(len(e.pair.ids) for e in batch) * len(batch)
        assert padded <= tokens or len(batch) == 1


@given(lengths, st.integers(1, 9))
def test_batches_of_rows_are_full_but_one(lengths, rows):
    made = batches(
        [example(n, at) for at, n in enumerate(lengths)], rows=rows, tokens=1, rng=random.Random(1)
    )
    sizes = sorted(map(len, made), reverse=True)
    assert sum(sizes) == len(lengths)
    assert all(size == rows for size in sizes[:-1])


def test_batches_of_one_seed_are_the_same():
    examples = [example(n, n) for n in range(1, 40)]

    def plan(seed):
        made = batches(examples, rows=None, tokens=80, rng=random.Random(seed))
        return [[len(e.pair.ids) for e in batch] for batch in made]

    assert plan(4) == plan(4)
    assert plan(4) != plan(5)


def test_collated_rows_are_padded_with_the_models_own_token():
    inputs, targets, weights = collate([example(2, 7), example(3, 8)], pad_id=9)
    assert inputs.ids.tolist() == [[7, 7, 9], [8, 8, 8]]
    assert inputs.mask.tolist() == [[1, 1, 0], [1, 1, 1]]
    assert targets.shape == (2, 3)
    assert weights.tolist() == [1.0, 1.0]


def test_a_class_of_a_third_of_the_rows_weighs_one():
    rows = [row("pro")] * 4 + [row("con")] * 2 + [row("neutral")] * 6
    assert inverse_frequency(rows) == {"con": 2.0, "neutral": 12 / 18, "pro": 1.0}


def test_class_weights_reach_the_examples(word_pieces):
    rows = [row("pro"), row("con")]
    targets = [one_hot(r.stance, smoothing=0) for r in rows]
    weights = {"pro": 0.5, "con": 2.0, "neutral": 1.0}
    made = encode(rows, targets, word_pieces, max_length=60, weights=weights)
    assert [e.weight for e in made] == [0.5, 2.0]
    assert [e.weight for e in encode(rows, targets, word_pieces, max_length=60)] == [1.0, 1.0]


def test_the_passage_is_cut_and_the_question_is_not(word_pieces):
    long = row("pro", question="is it good?", text="bad " * 500)
    [made] = encode([long], [(0.0, 0.0, 1.0)], word_pieces, max_length=60)
    asked = word_pieces.ids("is it good?")
    assert len(made.pair.ids) == 60
    assert made.pair.ids[1 : 1 + len(asked)].tolist() == asked.tolist()


def test_a_question_that_leaves_no_room_is_named(word_pieces):
    with pytest.raises(InputError, match="shorten the question"):
        encode([row("pro", question="x " * 90)], [(0, 0, 1)], word_pieces, max_length=60)


def test_smoothing_takes_from_the_label_and_gives_to_all_three():
    assert one_hot("con", smoothing=0.3) == (0.8, 0.1, 0.1)
    assert sum(one_hot("neutral", smoothing=0.05)) == pytest.approx(1)


def test_a_teachers_share_is_its_weight():
    assert mixed((1.0, 0.0, 0.0), (0.0, 0.5, 0.5), 0.5) == (0.5, 0.25, 0.25)
    assert mixed((1.0, 0.0, 0.0), (0.0, 0.5, 0.5), 0.0) == (1.0, 0.0, 0.0)
