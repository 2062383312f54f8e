import threading
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import DetectorError, InputError
from equipoise.stance import CachedDetector, LazyScores
from equipoise.testing import FailingDetector, FakeDetector
from equipoise.types import Stance, StanceDetector, StanceScore

TEXTS = [f"text {index}" for index in range(20)]


def fake() -> FakeDetector:
    return FakeDetector({text: ("pro", "con", "neutral")[i % 3] for i, text in enumerate(TEXTS)})


def test_nothing_is_labelled_before_it_is_read() -> None:
    detector = fake()
    scores = LazyScores(detector, "?", TEXTS)
    assert (len(scores), scores.labelled, scores.seen, scores.label_ms) == (20, 0, {}, 0.0)
    assert repr(scores) == "LazyScores(20 texts, 0 labelled)"
    assert detector.calls == 0


def test_reading_one_labels_batches_of_rank_order_up_to_it() -> None:
    detector = fake()
    scores = LazyScores(detector, "?", TEXTS, batch=8)
    assert scores[9].label is Stance.PRO
    assert detector.texts == TEXTS[:16]
    assert (detector.calls, scores.labelled, sorted(scores.seen)) == (2, 16, list(range(16)))


def test_a_second_read_costs_no_call() -> None:
    detector = fake()
    scores = LazyScores(detector, "?", TEXTS)
    assert scores[3] == scores[3]
    assert detector.calls == 1


def test_negative_indices_and_slices_follow_the_sequence_protocol() -> None:
    scores = LazyScores(fake(), "?", TEXTS, batch=3)
    full = fake().detect("?", TEXTS)
    assert scores[2:5] == tuple(full[2:5])
    assert scores.labelled == 6
    assert scores[-1] == full[-1]
    assert scores[::-4] == tuple(full[::-4])
    assert scores[5:5] == ()
    assert list(reversed(scores)) == full[::-1]
    with pytest.raises(IndexError):
        scores[20]
    with pytest.raises(IndexError):
        scores[-21]


def test_iterating_stops_where_the_reader_stops() -> None:
    detector = fake()
    scores = LazyScores(detector, "?", TEXTS, batch=2)
    for score in scores:
        if score.label is Stance.NEUTRAL:
            break
    assert detector.texts == TEXTS[:4]


def test_blank_texts_never_reach_the_detector() -> None:
    detector = fake()
    scores = LazyScores(detector, "?", ["  ", TEXTS[0], "\u200b", TEXTS[1]], batch=1)
    assert scores[2] == StanceScore(pro=0.0, con=0.0, neutral=1.0, windows=0)
    assert detector.calls == 0
    assert [score.label.value for score in scores] == ["neutral", "pro", "neutral", "con"]
    assert detector.texts == [TEXTS[0], TEXTS[1]]


def test_copies_share_the_label_of_their_original() -> None:
    detector = fake()
    scores = LazyScores(detector, "?", TEXTS[:6], same_as={2: 0, 5: 2, 4: 1})
    assert [score.label.value for score in scores] == ["pro", "con", "pro", "pro", "con", "pro"]
    assert detector.texts == [TEXTS[0], TEXTS[1], TEXTS[3]]
    assert sorted(scores.seen) == list(range(6))


def test_a_copy_that_stands_before_its_original_reads_the_original() -> None:
    detector = fake()
    scores = LazyScores(detector, "?", TEXTS[:3], batch=1, same_as={0: 2})
    assert scores[0].label is Stance.NEUTRAL
    assert detector.texts == [TEXTS[2]]


@pytest.mark.parametrize("same_as", [{0: 7}, {-1: 0}, {0: 1, 1: 0}, {0: 1, 1: 2, 2: 1}])
def test_same_as_must_lead_to_a_text(same_as: dict[int, int]) -> None:
    with pytest.raises(InputError, match="same_as must"):
        LazyScores(fake(), "?", TEXTS[:3], same_as=same_as)


@pytest.mark.parametrize("batch", [0, -1, True, 2.0])
def test_batch_must_be_a_positive_int(batch: int) -> None:
    with pytest.raises(InputError, match="batch must be an int >= 1"):
        LazyScores(fake(), "?", TEXTS, batch=batch)


def test_a_function_makes_the_detector_once_and_only_when_needed() -> None:
    made: list[FakeDetector] = []

    def make() -> StanceDetector:
        made.append(fake())
        return made[-1]

    scores = LazyScores(make, "?", ["", *TEXTS], batch=2)
    assert scores[0].label is Stance.NEUTRAL
    assert made == []
    assert (scores[1].label, scores[9].label) == (Stance.PRO, Stance.NEUTRAL)
    assert len(made) == 1


class _Wrong:
    name = "wrong"

    def __init__(self, scores: list[StanceScore]) -> None:
        self.scores = scores

    def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
        return self.scores


NEUTRAL = StanceScore(0.0, 0.0, 1.0)


@pytest.mark.parametrize("scores", [[], [NEUTRAL], [NEUTRAL] * 3])
def test_a_wrong_number_of_scores_is_a_detector_error(scores: list[StanceScore]) -> None:
    lazy = LazyScores(_Wrong(scores), "?", TEXTS[:2])
    with pytest.raises(DetectorError, match=f"gave {len(scores)} for 2 texts"):
        lazy[0]


def test_something_else_than_scores_is_a_detector_error() -> None:
    with pytest.raises(DetectorError, match="gave str for text 1"):
        LazyScores(_Wrong([NEUTRAL, "pro"]), "?", TEXTS[:2])[0]  # type: ignore[list-item]


def test_a_failure_passes_through_and_the_next_read_asks_again() -> None:
    detector = FailingDetector(DetectorError("no model"))
    scores = LazyScores(detector, "?", TEXTS)
    for _ in range(2):
        with pytest.raises(DetectorError, match="no model"):
            scores[0]
    assert detector.calls == 2
    assert scores.seen == {}


class Slow(FakeDetector):
    def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
        threading.Event().wait(0.02)
        return super().detect(question, texts)


def test_time_in_the_detector_is_counted() -> None:
    scores = LazyScores(Slow({}, default="pro"), "?", TEXTS, batch=10)
    assert len(list(scores)) == 20
    assert scores.label_ms >= 39


def test_threads_that_read_at_once_label_each_text_once() -> None:
    detector = Slow({}, default="pro")
    scores = LazyScores(detector, "?", TEXTS, batch=3)
    threads = [threading.Thread(target=lambda: list(scores)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(detector.texts) == sorted(TEXTS)


@given(
    texts=st.lists(st.sampled_from([*TEXTS[:5], "", " "]), max_size=20),
    batch=st.integers(1, 7),
    reads=st.lists(st.integers(-20, 19), max_size=10),
)
def test_lazy_labels_equal_labelling_everything(
    texts: list[str], batch: int, reads: list[int]
) -> None:
    first = {text: index for index, text in reversed(list(enumerate(texts)))}
    same_as = {i: first[text] for i, text in enumerate(texts) if first[text] != i}
    scores = LazyScores(fake(), "?", texts, batch=batch, same_as=same_as)
    full = fake().detect("?", texts)
    for index in reads:
        if -len(texts) <= index < len(texts):
            assert scores[index] == full[index]
    assert all(full[index] == score for index, score in scores.seen.items())
    assert scores.labelled <= len(set(texts) - {"", " "})


def test_the_batch_is_the_detectors_own_where_it_has_one():
    class OneByOne(FakeDetector):
        lazy_batch = 1

    texts = [f"text {index}" for index in range(20)]
    one = LazyScores(OneByOne({}, default="pro"), "?", texts)
    eight = LazyScores(FakeDetector({}, default="pro"), "?", texts)
    _ = one[4], eight[4]
    assert (one.labelled, eight.labelled) == (5, 8)
    through = LazyScores(CachedDetector(OneByOne({}, default="pro")), "?", texts)
    _ = through[4]
    assert through.labelled == 5
