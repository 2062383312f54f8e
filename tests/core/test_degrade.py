"""The benchmark that degrades labels: its labels are as wrong as it says, its measures right."""

import importlib
import sys
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise import Candidate

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module("degrade")
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.fixture(scope="module")
def report(bench):
    return importlib.import_module("degrade_report")


def world(bench, truth):
    documents = tuple(Candidate(str(i), f"passage {i}") for i in range(len(truth)))
    return bench.World("Should it?", documents, np.array(truth))


def test_uniform_labels_reach_the_macro_f1_they_were_made_for(bench):
    truth = np.repeat([0, 1, 2], (700, 4_600, 700))
    for target in (0.9, 0.7, 0.4):
        scale = bench.scale_for(target, np.bincount(truth), bench.UNIFORM)
        chances = bench.transition(bench.UNIFORM, scale)
        said = bench.degrade(truth, chances, np.random.default_rng(1))
        confusion = bench.confusion_of([world(bench, truth)], [said])
        assert bench.macro_f1(confusion) == pytest.approx(target, abs=0.02)


def test_labels_are_confused_as_the_rates_say(bench):
    truth = np.repeat([0, 1, 2], 20_000)
    chances = np.array([[0.7, 0.1, 0.2], [0.0, 1.0, 0.0], [0.5, 0.3, 0.2]])
    said = bench.degrade(truth, chances, np.random.default_rng(2))
    found = bench.confusion_of([world(bench, truth)], [said]) / 20_000
    assert found == pytest.approx(chances, abs=0.015)


def test_errors_are_nested_so_that_a_worse_label_set_keeps_the_errors_of_a_better(bench):
    truth = np.repeat([0, 1, 2], 200)
    said = [
        bench.degrade(truth, bench.transition(bench.UNIFORM, scale), np.random.default_rng(3))
        for scale in (0.1, 0.4)
    ]
    assert (said[1] != truth)[said[0] != truth].all()


def test_a_macro_f1_that_the_errors_cannot_reach_is_named(bench):
    errors = np.array([[0, 0, 0.1], [0, 0, 0], [0, 0, 0.0]])
    with pytest.raises(ValueError, match=r"macro-F1 must be in \[0\.\d+, 1\], got 0\.4"):
        bench.scale_for(0.4, np.array([100, 100, 100]), errors)


def test_the_macro_f1_is_the_one_counted_by_hand(bench):
    assert bench.macro_f1(np.array([[1, 0, 1], [0, 2, 0], [0, 0, 2]])) == pytest.approx(
        (2 / 3 + 1 + 4 / 5) / 3
    )


def test_the_rates_of_the_bundled_card_are_read(bench):
    card = (files("equipoise.stance") / "models/default/README.md").read_text(encoding="utf-8")
    errors = bench.card_errors(card)
    assert np.diag(errors).tolist() == [0, 0, 0]
    assert (errors >= 0).all()
    assert (errors.sum(axis=1) > 0).all()
    assert (errors.sum(axis=1) < 1).all()


def test_a_card_without_its_confusion_table_is_refused(bench):
    with pytest.raises(ValueError, match="confusion row for con, got 0"):
        bench.card_errors("| pro | 1 | 2 | 3 |\n")


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1), st.integers(0, 2**32))
def test_scores_say_the_labels_they_were_made_for(bench, pairs, seed):
    labels, truth = (np.array(side) for side in zip(*pairs, strict=True))
    scores = bench.scores_for(labels, truth, np.random.default_rng(seed))
    assert [score.label for score in scores] == [bench.ORDER[label] for label in labels]


def test_right_labels_are_surer_than_wrong_ones(bench):
    truth = np.zeros(4_000, dtype=int)
    rng = np.random.default_rng(4)
    right, wrong = (
        np.mean([s.confidence for s in bench.scores_for(labels, truth, rng)])
        for labels in (truth, truth + 2)
    )
    assert right == pytest.approx(0.85, abs=0.01)
    assert wrong == pytest.approx(0.61, abs=0.01)


def test_nearest_is_what_the_pool_allows(bench):
    assert bench.nearest((9, 9, 9)) == 0
    assert bench.nearest((0, 9, 9)) == 4  # two seats of con go to others
    assert bench.nearest((1, 0, 9)) == 4
    assert bench.nearest((1, 1, 0)) == 3  # only two documents


def test_measures_count_true_stances(bench):
    con, neutral, pro = 0, 1, 2
    pool = world(bench, [pro, pro, pro, con, con, neutral])
    assert bench.measure(pool, (0, 1, 3, 4, 5)) == (0.0, 1.0, 1.0)
    assert bench.measure(pool, (0, 1, 2, 3, 4)) == (0.2, 1.0, 0.0)
    assert bench.measure(pool, (0, 1, 2)) == (1.0, 0.0, 0.0)


def test_true_labels_give_the_nearest_composition(bench):
    worlds = [world(bench, [2, 2, 2, 2, 2, 1, 0, 0]), world(bench, [2, 2, 2, 1, 1, 1])]
    for row in bench.true_labels(worlds, seed=1):
        if row["rule"] == "always":
            assert row["nearest"]["mean"] == 1.0


def test_the_interval_of_equal_questions_is_a_point(bench):
    found = bench.interval(np.full((5, 3), 0.4), np.random.default_rng(0))
    assert found == pytest.approx(np.full((3, 3), 0.4))


def test_a_file_of_other_settings_is_not_continued(bench, tmp_path):
    path = tmp_path / "rows.jsonl"
    assert bench.finished(path, {"seed": 1}) == set()
    with pytest.raises(ValueError, match="remove it first"):
        bench.finished(path, {"seed": 2})


def rows_of(bench, name):
    worlds = [world(bench, [2, 2, 2, 2, 2, 1, 0, 0])] * 2
    draws = {"always": 2, "default": 1}
    rows = [*bench.top_five(worlds, 1), *bench.true_labels(worlds, 1)]
    for target in (0.8, 0.6):
        rows += bench.degraded(worlds, "uniform", bench.UNIFORM, target=target, seed=1, draws=draws)
    return [{"world": name, "pool": {"con": 2, "neutral": 1, "pro": 5}, **row} for row in rows]


def test_the_picture_is_well_formed_and_names_every_corpus(bench, report):
    drawn = report.picture([*rows_of(bench, "first <one>"), *rows_of(bench, "second")])
    texts = [element.text for element in ElementTree.fromstring(drawn).iter() if element.text]
    assert texts.count("first <one>") == texts.count("second") == len(report.PANELS)


def test_the_table_has_the_measures_of_both_settings_in_one_line(bench, report):
    lines = report.table(rows_of(bench, "first")).splitlines()
    found = next(line for line in lines if line.startswith("| top five |"))
    assert found == "| top five | - | - | 1.00 [1.00, 1.00] | 0.00 [0.00, 0.00] " + (
        "| 0.00 [0.00, 0.00] | - |"
    )
    assert sum(line.startswith("| errors at random |") for line in lines) == 2
