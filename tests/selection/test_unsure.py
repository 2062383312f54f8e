import pytest

from equipoise.errors import InputError
from equipoise.selection.unsure import checked_unsure_below, is_unsure
from equipoise.types import Stance, StanceScore


def test_a_label_is_unsure_under_its_own_probability_and_sure_at_it():
    score = StanceScore(0.2, 0.5, 0.3)
    assert is_unsure(score, 0.51)
    assert not is_unsure(score, 0.5)


def test_at_0_no_label_is_unsure_not_even_a_tie():
    tie = StanceScore(0.5, 0.5, 0.0)
    assert tie.label is Stance.NEUTRAL
    assert not is_unsure(tie, 0.0)
    assert is_unsure(tie, 0.01)


@pytest.mark.parametrize("value", [0, 0.0, 0.6, 0.999])
def test_a_threshold_in_its_range_becomes_a_float(value):
    assert checked_unsure_below(value) == value
    assert type(checked_unsure_below(value)) is float


@pytest.mark.parametrize("value", [1, -1e-9, float("inf"), float("nan"), False, "0.5", None])
def test_a_threshold_out_of_its_range_is_refused(value):
    with pytest.raises(InputError, match="unsure_below must be a number"):
        checked_unsure_below(value)
