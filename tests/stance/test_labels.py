from itertools import permutations

import pytest

from equipoise.errors import DetectorError, InputError
from equipoise.stance.labels import checked_labels, stance_order
from equipoise.stance.zero_shot import nli_order
from equipoise.types import Stance

PRO, CON, NEUTRAL = Stance.PRO, Stance.CON, Stance.NEUTRAL
UNNAMED = ("LABEL_0", "LABEL_1", "LABEL_2")


@pytest.mark.parametrize("names", [*permutations(["con", "neutral", "pro"])])
def test_stance_names_are_read_in_any_order(names: tuple[str, ...]) -> None:
    assert [stance.value for stance in stance_order(names)] == list(names)


@pytest.mark.parametrize("names", [*permutations(["CONTRADICTION", "Neutral", "entailment "])])
def test_nli_names_are_read_in_any_order_and_case(names: tuple[str, ...]) -> None:
    meaning = {"CONTRADICTION": CON, "Neutral": NEUTRAL, "entailment ": PRO}
    assert list(stance_order(names)) == [meaning[name] for name in names]
    assert nli_order(names, None) == stance_order(names)


@pytest.mark.parametrize(
    "names",
    [
        UNNAMED,
        (),
        ("pro", "con"),
        ("pro", "con", "con"),
        ("pro", "con", "neutral", "other"),
        ("favor", "against", "none"),
        ("entailment", "not_entailment"),
    ],
)
def test_names_that_do_not_say_their_stance_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(DetectorError, match=r'labels=\("con", "neutral", "pro"\)'):
        stance_order(names)


def test_the_caller_may_give_the_order_of_unnamed_outputs() -> None:
    assert stance_order(UNNAMED, ("pro", "con", "neutral")) == (PRO, CON, NEUTRAL)
    assert nli_order(UNNAMED, ("neutral", "entailment", "contradiction")) == (NEUTRAL, PRO, CON)


def test_the_caller_may_repeat_but_not_contradict_the_names() -> None:
    names = ("con", "neutral", "pro")
    assert stance_order(names, names) == (CON, NEUTRAL, PRO)
    with pytest.raises(DetectorError, match="must agree with the model's own names"):
        stance_order(names, ("pro", "neutral", "con"))
    with pytest.raises(DetectorError, match="must agree"):
        stance_order(("a", "b"), names)


@pytest.mark.parametrize("given", ["con", ("con", "pro"), ("con", "con", "pro"), ("a", "b", "c")])
def test_given_labels_must_be_the_three_stances(given: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="each of pro, con and neutral once"):
        checked_labels(given)


def test_two_way_nli_names_are_read_in_both_orders() -> None:
    assert nli_order(("entailment", "not_entailment"), None) == (PRO, CON)
    assert nli_order(("not_entailment", "entailment"), None) == (CON, PRO)
