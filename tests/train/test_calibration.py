import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.train.calibrate import (
    Calibration,
    Probabilities,
    fit_calibration,
    negative_log_likelihood,
)
from equipoise.train.data import LABELS, Row
from equipoise.train.measure import (
    THRESHOLDS,
    abstention,
    calibrated,
    held_out,
    negated,
    negation_swaps,
    opposites,
)
from equipoise.train.reading import Read
from equipoise.train.score import Judged, calibration_error


def row(stance: str, number: int = 0, *, question: str = "Should it stay?") -> Row:
    return Row(str(number), "topic", question, "It should stay.", f"text {number}", stance, "made")


def drawn(n: int, temperature: float, bias: tuple[float, float, float]) -> tuple[np.ndarray, list]:
    """Logits, and labels drawn from softmax(logits / temperature + bias)."""
    rng = np.random.default_rng(7)
    logits = rng.normal(0, 3, (n, 3)) + 40  # a constant added to a row must change nothing
    powers = np.exp(logits / temperature + np.asarray(bias))
    shares = powers / powers.sum(axis=1, keepdims=True)
    return logits, [int(rng.choice(3, p=line)) for line in shares]


def reads(logits: np.ndarray, labels: list[int]) -> list[Read]:
    return [
        Read(row(LABELS[label], at, question=f"Should {at % 50} stay?"), line[None], negated=False)
        for at, (line, label) in enumerate(zip(logits, labels, strict=True))
    ]


@pytest.mark.parametrize("temperature", [0.7, 1.0, 2.5])
def test_a_known_temperature_is_recovered(temperature: float) -> None:
    logits, labels = drawn(6_000, temperature, (0.0, 0.0, 0.0))
    found = fit_calibration(logits, labels, with_bias=False)
    assert found.temperature == pytest.approx(temperature, rel=0.08)
    assert found.bias == ()


def test_a_known_temperature_and_bias_are_recovered() -> None:
    logits, labels = drawn(6_000, 1.6, (0.5, 0.0, -0.5))
    found = fit_calibration(logits, labels, with_bias=True)
    assert found.temperature == pytest.approx(1.6, rel=0.08)
    assert found.bias == pytest.approx((0.5, 0.0, -0.5), abs=0.1)


def test_a_bias_never_moves_neutral_whatever_its_share() -> None:
    logits, labels = drawn(4_000, 1.0, (0.2, -2.0, -0.2))
    con, neutral, pro = fit_calibration(logits, labels, with_bias=True).bias
    assert (neutral, con) == (0.0, -pro)
    assert con == pytest.approx(0.2, abs=0.1)


@pytest.mark.parametrize("with_bias", [False, True])
def test_the_fit_is_finite_and_in_bounds_where_all_is_right_or_a_class_is_missing(
    with_bias: bool,
) -> None:
    logits = np.asarray([[9.0, 0.0, 0.0], [0.0, 0.0, 9.0]] * 20)
    found = fit_calibration(logits, [0, 2] * 20, with_bias=with_bias)
    assert 0.5 <= found.temperature <= 4.0
    assert all(abs(value) < 20 for value in found.bias)


def test_outputs_that_mislead_end_at_the_hottest_temperature() -> None:
    logits = np.asarray([[9.0, 0.0, 0.0], [0.0, 0.0, 9.0]] * 20)
    assert fit_calibration(logits, [2, 0] * 20, with_bias=False).temperature == 4.0


def test_no_other_temperature_near_the_fitted_one_has_less_loss() -> None:
    logits, labels = drawn(400, 1.4, (0.4, 0.0, -0.4))
    best = fit_calibration(logits, labels, with_bias=True)

    def loss(calibration: Calibration) -> float:
        return negative_log_likelihood([calibration.probabilities(x) for x in logits], labels)

    for step in (-0.1, 0.1):
        assert loss(best) < loss(Calibration(best.temperature + step, best.bias))
        con, neutral, pro = best.bias
        assert loss(best) < loss(Calibration(best.temperature, (con - step, neutral, pro + step)))


def test_a_fit_without_rows_is_an_input_error() -> None:
    with pytest.raises(InputError, match="at least one held-out row"):
        fit_calibration(np.zeros((0, 3)), [], with_bias=True)


def test_the_bias_is_kept_where_it_helps_on_questions_it_was_not_fitted_on() -> None:
    found, told = calibrated(reads(*drawn(1_500, 1.5, (0.9, 0.0, -0.9))))
    assert told["kept"] == "temperature and bias"
    assert found.bias == pytest.approx((0.9, 0.0, -0.9), abs=0.25)
    losses = told["cross_fitted_loss"]
    assert losses["temperature and bias"] < losses["temperature"]


def test_the_bias_is_dropped_where_it_does_not_help() -> None:
    """Two questions whose labels lean to opposite sides: what fits one misfits the other."""
    logits = np.zeros((200, 3)) + np.asarray([0.0, 0.5, 0.0])
    labels = [0 if at % 50 < 25 else 2 for at in range(200)]
    made = [
        Read(row(LABELS[label], at, question=f"Q {label}"), line[None], negated=False)
        for at, (line, label) in enumerate(zip(logits, labels, strict=True))
    ]
    found, told = calibrated(made)
    assert (found.bias, told["kept"]) == ((), "temperature")
    assert "bias" not in told


def test_one_question_is_too_few_to_choose_by() -> None:
    made = reads(*drawn(1, 1.0, (0.0, 0.0, 0.0)))
    with pytest.raises(InputError, match="held-out row"):
        calibrated(made)


def test_windows_and_negation_are_done_as_the_detector_does_them() -> None:
    logits = np.log(np.asarray([[0.1, 0.2, 0.7], [0.1, 0.2, 0.7]]))
    turned = Read(row("con"), logits, negated=True)
    assert turned.probabilities(Calibration()) == pytest.approx((0.7, 0.2, 0.1))
    assert turned.truth == LABELS.index("pro")
    blank = Read(row("neutral"), np.zeros((0, 3)), negated=False)
    assert blank.probabilities(Calibration(2.0, (1.0, 0.0, -1.0))) == (0.0, 1.0, 0.0)


TOY = [
    # (probabilities, truth): top 0.95 right, 0.92 wrong, 0.55 right, 0.51 right
    ((0.95, 0.03, 0.02), "con"),
    ((0.92, 0.04, 0.04), "pro"),
    ((0.25, 0.55, 0.20), "neutral"),
    ((0.30, 0.19, 0.51), "pro"),
]


def toy() -> list[Judged]:
    return [Judged(row(stance, at), shares) for at, (shares, stance) in enumerate(TOY)]


def test_calibration_error_can_be_worked_out_by_hand() -> None:
    # bin 0.9-1.0: |0.95 + 0.92 - 1| = 0.87; bin 0.5-0.6: |0.55 + 0.51 - 2| = 0.94; over 4 rows
    assert calibration_error(toy()) == pytest.approx((0.87 + 0.94) / 4)


def test_the_abstention_curve_can_be_worked_out_by_hand() -> None:
    curve = {point["threshold"]: (point["kept"], point["accuracy"]) for point in abstention(toy())}
    assert list(curve) == list(THRESHOLDS)
    assert (THRESHOLDS[0], THRESHOLDS[-1]) == (0.4, 0.95)
    assert curve[0.4] == curve[0.5] == (1.0, 0.75)
    assert curve[0.55] == (0.75, pytest.approx(2 / 3))
    assert curve[0.6] == curve[0.9] == (0.5, 0.5)
    assert curve[0.95] == (0.25, 1.0)


def test_a_threshold_that_nothing_reaches_has_no_accuracy() -> None:
    judged = [Judged(row("pro"), (0.3, 0.3, 0.4))]
    assert abstention(judged)[-1] == {"threshold": 0.95, "kept": 0.0, "accuracy": None}


@given(st.lists(st.tuples(*[st.floats(0.01, 1)] * 3), min_size=1, max_size=20))
def test_a_higher_threshold_never_keeps_more(weights: list[Probabilities]) -> None:
    judged = [Judged(row("pro"), tuple(w / sum(line) for w in line)) for line in weights]
    kept = [point["kept"] for point in abstention(judged)]
    assert kept == sorted(kept, reverse=True)


def test_pairs_of_opposite_queries_are_counted_by_hand() -> None:
    pro, con, neutral = (0.1, 0.1, 0.8), (0.8, 0.1, 0.1), (0.1, 0.8, 0.1)
    plan = [
        (1, "pro", pro, "con", con),  # swapped, both right
        (2, "pro", con, "con", pro),  # swapped, both wrong
        (3, "pro", pro, "con", neutral),  # not swapped
        (4, "pro", pro, "con", pro),  # not swapped
        (9, "pro", pro, "con", con),  # not marked as opposite
    ]
    judged = []
    for line, one, first, two, second in plan:
        for at, (stance, shares) in enumerate(((one, first), (two, second))):
            made = Row(f"own-test-{line}-{at}", "kind", "q", "q", "t", stance, "own_test")
            judged.append(Judged(made, shares))
    assert opposites(judged, {1, 2, 3, 4}) == {"n": 4, "swapped": 0.5, "both_right": 0.25}


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("Should zoos be closed?", "Should zoos not be closed?"),
        ("Should we abolish zoos?", "Should we not abolish zoos?"),
        ("Should zoos not be closed?", None),
        ("Is it true that zoos are bad?", None),
        ("Should zoos", None),
    ],
)
def test_a_question_is_negated_where_its_verb_is_plain(question: str, form: str | None) -> None:
    assert negated(question) == form


def test_swaps_are_counted_over_rows_that_are_labelled_pro_or_con() -> None:
    def read_as(shares: Probabilities, stance: str, question: str) -> Read:
        return Read(row(stance, question=question), np.log([shares]), negated=False)

    asked = "Should zoos be closed?"
    pro, con, neutral = (0.1, 0.1, 0.8), (0.8, 0.1, 0.1), (0.1, 0.8, 0.1)
    made = [
        read_as(pro, "pro", asked),
        read_as(pro, "con", asked),
        read_as(neutral, "pro", asked),
        read_as(pro, "neutral", asked),
        read_as(pro, "pro", "Is it so?"),
        read_as(pro, "pro", "Should no zoo be closed?"),
    ]
    answers = iter([con, pro])

    def again(rows: list[Row]) -> list[Read]:
        return [Read(r, np.log([next(answers)]), negated=False) for r in rows]

    found = negation_swaps(made, Calibration(), again)  # type: ignore[arg-type]
    assert found == {"n": 2, "swapped": 0.5, "not_formed": 1}


def test_held_out_scores_say_what_calibration_changed() -> None:
    made = reads(*drawn(800, 2.5, (0.0, 0.0, 0.0)))
    found = held_out(made, Calibration(2.5))
    assert found["ece"]["after"] < found["ece"]["before"]
    assert found["loss"]["after"] < found["loss"]["before"]
    assert found["paper_kind"] is None
    assert found["all"]["n"] == found["sources"]["made"]["n"] == 800
