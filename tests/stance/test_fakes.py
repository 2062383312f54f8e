import pytest

from equipoise.errors import DetectorError, InputError
from equipoise.testing import EchoGenerator, FailingDetector, FakeDetector, ListRetriever
from equipoise.types import (
    Candidate,
    Generator,
    Outcome,
    Retriever,
    Stance,
    StanceDetector,
    StanceScore,
)


def test_the_fakes_keep_the_protocols() -> None:
    assert isinstance(FakeDetector({}), StanceDetector)
    assert isinstance(FailingDetector(), StanceDetector)
    assert isinstance(EchoGenerator(), Generator)
    assert isinstance(ListRetriever([]), Retriever)


def test_stances_names_and_scores_may_stand_in_the_table() -> None:
    score = StanceScore(0.2, 0.3, 0.5)
    detector = FakeDetector({"a": Stance.PRO, "b": "con", "c": score}, confidence=0.8)
    found = detector.detect("?", ["a", "b", "c"])
    assert found[0].to_dict() == pytest.approx({"pro": 0.8, "con": 0.1, "neutral": 0.1})
    assert (found[1].label, found[2]) == (Stance.CON, score)


def test_an_unknown_text_is_an_input_error_unless_there_is_a_default() -> None:
    with pytest.raises(InputError, match="no stance for 'b'"):
        FakeDetector({"a": "pro"}).detect("?", ["a", "b"])
    assert FakeDetector({}, default="con").detect("?", ["b"])[0].label is Stance.CON


def test_blank_texts_are_neutral_unless_the_table_has_them() -> None:
    assert FakeDetector({}).detect("?", [" "])[0].neutral == 1.0
    assert FakeDetector({" ": "pro"}).detect("?", [" "])[0].label is Stance.PRO


def test_calls_and_texts_are_counted() -> None:
    detector = FakeDetector({}, default="pro")
    detector.detect("one", ["a", "b"])
    detector.detect("two", [])
    assert (detector.calls, detector.texts) == (2, ["a", "b"])
    assert detector.questions == ["one", "two"]


def test_equal_tables_have_equal_names() -> None:
    assert (
        FakeDetector({"a": "pro", "b": "con"}).name == FakeDetector({"b": "con", "a": "pro"}).name
    )
    assert FakeDetector({"a": "pro"}).name != FakeDetector({"a": "con"}).name
    assert FakeDetector({"a": "pro"}).name != FakeDetector({"a": "pro"}, default="con").name
    assert FakeDetector({"a": "pro"}).name != FakeDetector({"a": "pro"}, confidence=0.8).name


@pytest.mark.parametrize("stance", ["yes", "PRO", ""])
def test_an_unknown_stance_is_an_input_error(stance: str) -> None:
    with pytest.raises(InputError, match="a stance must be one of"):
        FakeDetector({"a": stance})


@pytest.mark.parametrize("confidence", [0.3, 0.0, 1.1, float("nan")])
def test_confidence_must_make_the_stance_the_label(confidence: float) -> None:
    with pytest.raises(InputError, match="confidence must be"):
        FakeDetector({}, confidence=confidence)


def test_a_failing_detector_raises_its_error_each_time() -> None:
    error = InputError("mine")
    detector = FailingDetector(error)
    for _ in range(2):
        with pytest.raises(InputError, match="mine"):
            detector.detect("?", [])
    assert detector.calls == 2
    with pytest.raises(DetectorError, match="always fails"):
        FailingDetector().detect("?", ["a"])


def test_an_echo_gives_the_beginning_of_the_prompt_or_its_text() -> None:
    echo = EchoGenerator(max_chars=5)
    answer = echo.generate("1. One document")
    assert (answer.outcome, answer.text, answer.model) == (Outcome.ANSWERED, "1. On", "echo")
    assert EchoGenerator("fixed").generate("prompt").text == "fixed"
    assert echo.prompts == ["1. One document"]


@pytest.mark.parametrize("outcome", ["refused", "filtered", "error", "empty"])
def test_an_echo_that_does_not_answer_has_no_text(outcome: str) -> None:
    answer = EchoGenerator("text", outcome=outcome).generate("prompt")
    assert (answer.outcome, answer.text) == (Outcome(outcome), "")
    assert outcome in answer.detail


def test_an_empty_echo_is_empty() -> None:
    assert EchoGenerator("").generate("prompt").outcome is Outcome.EMPTY


def test_a_list_retriever_gives_the_first_k_or_all() -> None:
    retriever = ListRetriever(["a", Candidate("x", "b"), "c"])
    assert [candidate.id for candidate in retriever.retrieve("?", 2)] == ["1", "x"]
    assert len(retriever.retrieve("?", 9)) == 3
    with pytest.raises(InputError, match="k must be an int >= 1"):
        retriever.retrieve("?", 0)
