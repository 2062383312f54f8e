"""Batches shared between callers: order, sharing, failures, and that nobody waits for ever."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import DetectorError, InputError
from equipoise.stance import BatchingDetector, ClassifierDetector
from equipoise.testing import FakeDetector
from equipoise.types import StanceScore

TABLE = {"a": "pro", "b": "con", "c": "neutral"}


class Held:
    """A real fake detector that takes several questions at once and waits to be let go."""

    name = "held"

    def __init__(self, fails_on: str = "") -> None:
        self.go = threading.Event()
        self.began = threading.Event()
        self.batches: list[list[tuple[str, list[str]]]] = []
        self._fake = FakeDetector(TABLE)
        self._fails_on = fails_on

    def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
        return self.detect_many([(question, texts)])[0]

    def detect_many(self, asked: Sequence[tuple[str, Sequence[str]]]) -> list[list[StanceScore]]:
        self.began.set()
        assert self.go.wait(10)
        self.batches.append([(question, list(texts)) for question, texts in asked])
        if any(self._fails_on in texts for _, texts in asked):
            raise DetectorError("no label for this text")
        return [self._fake.detect(question, texts) for question, texts in asked]


def ask_while_busy(
    held: Held, shared: BatchingDetector, asks: list[tuple[str, list[str]]]
) -> list[object]:
    """What each ask got: the first is running while the others come in, in order."""

    def one(ask: tuple[str, list[str]]) -> object:
        try:
            return [score.label.value for score in shared.detect(*ask)]
        except DetectorError as error:
            return str(error)

    with ThreadPoolExecutor(len(asks)) as pool:
        futures = [pool.submit(one, asks[0])]
        assert held.began.wait(10)
        for number, ask in enumerate(asks[1:], start=1):
            futures.append(pool.submit(one, ask))
            until = time.monotonic() + 10
            while len(shared._waiting) < number and time.monotonic() < until:
                time.sleep(0.001)
        held.go.set()
        return [future.result(10) for future in futures]


def test_what_is_asked_while_the_model_is_busy_goes_next_as_one_batch() -> None:
    held, seen = Held(), []
    shared = BatchingDetector(held, on_batch=lambda texts, asks: seen.append((texts, asks)))
    got = ask_while_busy(held, shared, [("q", ["a"]), ("q", ["b"]), ("r", ["c", "a"])])
    assert got == [["pro"], ["con"], ["neutral", "pro"]]
    assert held.batches == [[("q", ["a"])], [("q", ["b"]), ("r", ["c", "a"])]]
    assert seen == [(1, 1), (3, 2)]


def test_equal_texts_of_one_question_are_read_once() -> None:
    held = Held()
    asks = [("q", ["a"]), ("q", ["b", "c"]), ("q", ["c", "b", "b"])]
    got = ask_while_busy(held, BatchingDetector(held), asks)
    assert got == [["pro"], ["con", "neutral"], ["neutral", "con", "con"]]
    assert held.batches[1] == [("q", ["b", "c"])]


def test_a_batch_ends_at_its_bound_and_a_large_ask_is_not_cut() -> None:
    held = Held()
    asks = [("q", ["a"]), ("q", ["a", "b"]), ("r", ["a"]), ("s", ["a", "b", "c"])]
    ask_while_busy(held, BatchingDetector(held, max_texts=3), asks)
    sizes = [sum(len(texts) for _, texts in batch) for batch in held.batches]
    assert sizes == [1, 3, 3]
    shared = BatchingDetector(FakeDetector(TABLE), max_texts=1)
    assert len(shared.detect("q", ["a", "b", "c"])) == 3


def test_a_text_that_fails_fails_its_own_caller_only() -> None:
    held = Held(fails_on="c")
    got = ask_while_busy(held, BatchingDetector(held), [("q", ["a"]), ("q", ["b"]), ("r", ["c"])])
    assert got == [["pro"], ["con"], "no label for this text"]


def test_a_detector_without_many_questions_gets_one_call_a_question() -> None:
    class Plain(Held):
        detect_many = None  # type: ignore[assignment]

        def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
            return Held.detect_many(self, [(question, texts)])[0]

    held = Plain()
    got = ask_while_busy(
        held, BatchingDetector(held), [("q", ["a"]), ("q", ["b"]), ("r", ["a"]), ("q", ["c"])]
    )
    assert got == [["pro"], ["con"], ["pro"], ["neutral"]]
    assert held.batches[1:] == [[("q", ["b", "c"])], [("r", ["a"])]]


def test_the_bound_must_be_a_count() -> None:
    with pytest.raises(InputError, match="max_texts must be an int >= 1, got 0"):
        BatchingDetector(FakeDetector({}), max_texts=0)


@settings(max_examples=30, deadline=None)
@given(
    asks=st.lists(
        st.tuples(st.sampled_from("qrs"), st.lists(st.sampled_from("abc"), max_size=5)),
        min_size=1,
        max_size=12,
    ),
    bound=st.integers(1, 6),
)
def test_callers_side_by_side_get_what_they_would_get_alone(
    asks: list[tuple[str, list[str]]], bound: int
) -> None:
    shared = BatchingDetector(FakeDetector(TABLE), max_texts=bound)
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda ask: shared.detect(*ask), asks))
    assert got == [FakeDetector(TABLE).detect(*ask) for ask in asks]


def test_the_bundled_model_scores_a_shared_batch_as_it_scores_each_alone() -> None:
    detector = ClassifierDetector()
    asked = [
        ("Should tea be banned?", ["Tea is wonderful and must stay.", " ", "Tea ruins sleep."]),
        ("Should tea not be banned?", ["Tea ruins sleep."]),
        ("Is coffee good?", []),
    ]
    together = detector.detect_many(asked)
    assert together == [detector.detect(question, texts) for question, texts in asked]
    assert [len(scores) for scores in together] == [3, 1, 0]
