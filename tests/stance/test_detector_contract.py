"""What every detector owes its callers. A new detector joins by one line in DETECTORS."""

import json
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from equipoise.errors import InputError
from equipoise.stance import (
    BatchingDetector,
    CachedDetector,
    ClassifierDetector,
    RemoteDetector,
    ZeroShotDetector,
)
from equipoise.stance.folder import BUNDLED
from equipoise.testing import FakeDetector
from equipoise.types import Stance, StanceDetector, StanceScore

QUESTION = "Should X be legal?"
TABLE = {"it is good": "pro", "it is bad": "con", "filler": "neutral"}
TEXTS = [
    "it is good",
    "filler",
    "it is bad",
    "filler " * 300 + "good",
    "good bad",
    "x",
    "bad " * 90,
]
ODD = [
    "\ud800",
    "a\ud800b",
    "\x00",
    "שלום עולם",
    "👩‍👩‍👧 🏳️‍🌈",
    "ze\u200bro",
    "e\u0301\u0302\u0303",
    "\u202eabc\u202c",
]

DETECTORS = {
    "classifier": lambda get: ClassifierDetector(get("stance_folder"), threads=1),
    "classifier_int8": lambda get: ClassifierDetector(get("checkpoint"), threads=1),
    "zero_shot": lambda get: ZeroShotDetector(get("nli_folder"), threads=1),
    "zero_shot_torch": lambda get: ZeroShotDetector(get("checkpoint"), backend="transformers"),
    "remote": lambda get: RemoteDetector(get("toy_server").url, backoff_s=0.0),
    "cached": lambda get: CachedDetector(ClassifierDetector(get("stance_folder"), threads=1)),
    "cached_file": lambda get: CachedDetector(
        ClassifierDetector(get("stance_folder"), threads=1), path=get("tmp_path") / "labels.db"
    ),
    "batching": lambda get: BatchingDetector(ClassifierDetector(get("stance_folder"), threads=1)),
    "fake": lambda get: FakeDetector(TABLE, default="neutral"),
    "bundled": lambda get: ClassifierDetector(),
}
BY_HAND = ["classifier", "zero_shot", "remote", "batching", "cached", "cached_file", "fake"]
READS_QUESTION = sorted(DETECTORS.keys() - {"fake"})
TRAVELS = ["classifier", "classifier_int8", "zero_shot", "zero_shot_torch", "remote", "bundled"]


@pytest.fixture(params=sorted(DETECTORS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def detector(kind: str, request: pytest.FixtureRequest) -> Iterator[StanceDetector]:
    if kind == "bundled" and not (BUNDLED / "default" / "config.json").is_file():
        pytest.skip("no bundled model in this checkout")
    made = DETECTORS[kind](request.getfixturevalue)
    yield made
    if isinstance(made, CachedDetector):
        made.close()


def near(first: StanceScore, second: StanceScore) -> bool:
    pairs = zip(first.to_dict().values(), second.to_dict().values(), strict=True)
    return all(abs(a - b) < 1e-5 for a, b in pairs) and first.windows == second.windows


def test_it_is_a_stance_detector(detector: StanceDetector) -> None:
    assert isinstance(detector, StanceDetector)


def test_one_score_a_text_in_the_order_of_the_texts(detector: StanceDetector) -> None:
    together = detector.detect(QUESTION, TEXTS)
    singly = [detector.detect(QUESTION, [text])[0] for text in TEXTS]
    assert len(together) == len(TEXTS)
    assert all(map(near, together, singly))


@pytest.mark.parametrize("kind", BY_HAND)
def test_known_words_give_known_stances(detector: StanceDetector) -> None:
    labels = [score.label for score in detector.detect(QUESTION, list(TABLE))]
    assert labels == [Stance.PRO, Stance.CON, Stance.NEUTRAL]


def test_empty_in_empty_out(detector: StanceDetector) -> None:
    assert list(detector.detect(QUESTION, [])) == []


def test_the_order_of_the_batch_changes_no_score(detector: StanceDetector) -> None:
    forward = detector.detect(QUESTION, TEXTS)
    backward = detector.detect(QUESTION, TEXTS[::-1])
    assert all(map(near, forward, reversed(backward)))


@pytest.mark.parametrize("blank", ["", "   ", "\n\t"])
def test_a_blank_text_is_neutral_beyond_doubt(detector: StanceDetector, blank: str) -> None:
    alone = detector.detect(QUESTION, [blank])[0]
    between = detector.detect(QUESTION, ["it is good", blank, "it is bad"])[1]
    assert alone == between == StanceScore(pro=0.0, con=0.0, neutral=1.0, windows=0)


def test_odd_unicode_in_texts_gives_scores(detector: StanceDetector) -> None:
    scores = detector.detect(QUESTION, ODD)
    assert len(scores) == len(ODD)
    json.dumps([score.to_dict() for score in scores], allow_nan=False)


def test_odd_unicode_in_the_question_gives_scores(detector: StanceDetector) -> None:
    for odd in ODD:
        scores = detector.detect(f"Should {odd} be legal?", ["it is good"])
        assert len(scores) == 1


@pytest.mark.parametrize("kind", READS_QUESTION)
def test_invisible_signs_do_not_change_a_score(detector: StanceDetector) -> None:
    plain = detector.detect(QUESTION, ["it is good", "it is bad"])
    marked = detector.detect(
        "Should\u200b X be le\u00adgal?\ufeff",
        ["it\u2060 is g\u200cood\ud800", "it is ba\u200bd\x00"],
    )
    assert all(map(near, plain, marked))


def test_probabilities_are_plain_floats(detector: StanceDetector) -> None:
    for score in detector.detect(QUESTION, TEXTS):
        assert [type(value) for value in score.to_dict().values()] == [float] * 3
        assert type(score.windows) is int


def test_inputs_are_not_changed(detector: StanceDetector) -> None:
    texts = ["it is good", "ze\u200bro", ""]
    detector.detect(QUESTION, texts)
    assert texts == ["it is good", "ze\u200bro", ""]


def test_the_name_is_stable_and_holds_no_object_address(
    kind: str, detector: StanceDetector, request: pytest.FixtureRequest
) -> None:
    again = DETECTORS[kind](request.getfixturevalue)
    assert detector.name == again.name
    assert "object at 0x" not in detector.name
    if isinstance(again, CachedDetector):
        again.close()


def test_sixteen_threads_give_what_one_gives(kind: str, detector: StanceDetector) -> None:
    rounds = {"classifier": 30, "fake": 30, "bundled": 1}.get(kind, 2)
    calls = [TEXTS[at % 7 : at % 7 + 2] for at in range(16 * rounds)]
    serial = [detector.detect(QUESTION, call) for call in calls[:7]]
    with ThreadPoolExecutor(16) as pool:
        threaded = list(pool.map(lambda call: detector.detect(QUESTION, call), calls))
    for at, scores in enumerate(threaded):
        assert all(map(near, scores, serial[at % 7]))


@pytest.mark.slow
def test_four_thousand_calls_on_each_of_sixteen_threads(stance_folder: Path) -> None:
    """Public report 9: "Already borrowed"."""
    shared = ClassifierDetector(stance_folder, threads=1)
    texts = ["filler " * (at * 7 % 90) + ("good", "bad", "x")[at % 3] for at in range(40)]
    serial = [shared.detect(QUESTION, [text]) for text in texts]

    def work(worker: int) -> bool:
        return all(
            shared.detect(QUESTION, [texts[(worker + at) % 40]]) == serial[(worker + at) % 40]
            for at in range(4_000)
        )

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(16)))


@pytest.mark.parametrize("kind", READS_QUESTION)
def test_negating_the_question_swaps_pro_and_con(detector: StanceDetector) -> None:
    """Public report 15."""
    asked = detector.detect("Should X be legal?", TEXTS)
    negated = detector.detect("Should X not be legal?", TEXTS)
    assert [score.swapped() for score in asked] == list(negated)


@pytest.mark.parametrize("kind", READS_QUESTION)
@pytest.mark.parametrize("question", ["", "  ", "\u200b\ud800"])
def test_a_question_that_shows_nothing_is_an_input_error(
    detector: StanceDetector, question: str
) -> None:
    with pytest.raises(InputError, match="a question must have text"):
        detector.detect(question, ["it is good"])


@pytest.mark.parametrize("kind", READS_QUESTION)
@pytest.mark.parametrize("texts", ["one text", ["a", None], ["a", 3]])
def test_texts_of_another_type_are_an_input_error(detector: StanceDetector, texts: Any) -> None:
    with pytest.raises(InputError, match="must be a s"):
        detector.detect(QUESTION, texts)


@pytest.mark.parametrize("kind", READS_QUESTION)
def test_a_question_longer_than_the_model_is_an_input_error_with_limit_and_length(
    detector: StanceDetector,
) -> None:
    """Public report 17."""
    with pytest.raises(InputError, match=r"at most \d+ tokens.* got \d+"):
        detector.detect("why " * 2_000 + "?", ["it is good"])


@pytest.mark.parametrize("kind", TRAVELS)
def test_it_can_be_pickled_after_use(detector: StanceDetector) -> None:
    before = detector.detect(QUESTION, TEXTS)
    copy = pickle.loads(pickle.dumps(detector))
    assert all(map(near, copy.detect(QUESTION, TEXTS), before))
    assert copy.name == detector.name
