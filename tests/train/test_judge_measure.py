"""The figures of the judge's card: what two models get wrong together, and where they stand."""

import json
from pathlib import Path

import pytest

from equipoise.errors import InputError
from equipoise.train.data import Row
from equipoise.train.judge_measure import shared_errors, tables
from equipoise.train.score import Judged

ROOT = Path(__file__).resolve().parents[2]
MEASURES = ROOT / "docs" / "runs" / "judge-1" / "measures.json"
PRO, CON, NEUTRAL = (0.1, 0.1, 0.8), (0.8, 0.1, 0.1), (0.1, 0.8, 0.1)


def judged(*probabilities):
    stances = ("pro", "pro", "con", "neutral")
    return [
        Judged(Row(f"{at}", "t", "q?", "c", "text", stance, "s"), given)
        for at, (stance, given) in enumerate(zip(stances, probabilities, strict=True))
    ]


def test_errors_in_common_are_counted_by_hand():
    found = shared_errors(judged(PRO, CON, PRO, PRO), judged(PRO, CON, NEUTRAL, NEUTRAL))
    assert found["n"] == 4
    assert found["errors"] == [3, 2]
    assert found["both_wrong"] == 2  # the second and the third row
    assert found["same_wrong_label"] == 1  # the second: con both times
    assert found["same_label"] == 0.5
    assert found["both_wrong_if_independent"] == pytest.approx(3 / 4 * 2 / 4 * 4)
    assert found["share_of_first_errors_in_common"] == pytest.approx(2 / 3)
    assert found["other_wrong_where_first_is_right"] == 0.0


def test_models_that_judged_other_rows_cannot_be_compared():
    one = judged(PRO, CON, PRO, PRO)
    with pytest.raises(InputError, match="the same rows"):
        shared_errors(one, one[::-1])


def test_the_card_has_the_figures_that_were_measured():
    report = json.loads(MEASURES.read_text("utf-8"))
    assert tables(report) in (ROOT / "judge" / "README.md").read_text("utf-8")
