import math
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from equipoise.errors import DetectorError, InputError
from equipoise.stance import ClassifierDetector
from equipoise.stance.pair_model import Limits, PairModel
from equipoise.stance.pairs import Batch, PairTokenizer
from equipoise.stance.runners import Logits, OnnxRunner, default_threads
from equipoise.types import Stance, StanceScore

QUESTION = "Should X be legal?"
SPECIALS = 4
ASKED = 5  # should, x, be, legal, ?
ROOM = 64 - SPECIALS - ASKED


@pytest.fixture(scope="module")
def detector(stance_folder: Path) -> ClassifierDetector:
    return ClassifierDetector(stance_folder, threads=1)


def test_scores_are_the_softmax_that_can_be_worked_out_by_hand(
    detector: ClassifierDetector,
) -> None:
    score = detector.detect(QUESTION, ["good"])[0]
    powers = math.exp(2), math.exp(-2), math.exp(1.5)
    assert score.pro == pytest.approx(powers[0] / sum(powers), abs=1e-6)
    assert score.con == pytest.approx(powers[1] / sum(powers), abs=1e-6)


def test_the_temperature_divides_the_outputs(stance_folder: Path) -> None:
    score = ClassifierDetector(stance_folder, temperature=2.0).detect(QUESTION, ["good"])[0]
    powers = math.exp(1), math.exp(-1), math.exp(0.75)
    assert score.pro == pytest.approx(powers[0] / sum(powers), abs=1e-6)


def test_the_bias_is_added_to_the_outputs_divided_by_the_temperature(
    make_folder: Callable[..., Path],
) -> None:
    calibration = {"max_length": 64, "temperature": 2.0, "bias": [0.5, -0.25, -1.0]}
    folder = make_folder(config={"equipoise": calibration})
    score = ClassifierDetector(folder).detect(QUESTION, ["good"])[0]
    con, neutral, pro = math.exp(-1 + 0.5), math.exp(0.75 - 0.25), math.exp(1 - 1.0)
    assert score.con == pytest.approx(con / (con + neutral + pro), abs=1e-6)
    assert score.pro == pytest.approx(pro / (con + neutral + pro), abs=1e-6)


@pytest.mark.parametrize("labels", [*permutations(["con", "neutral", "pro"])])
def test_permuting_the_outputs_changes_nothing(
    labels: tuple[str, ...], make_folder: Callable[..., Path], detector: ClassifierDetector
) -> None:
    """Public report 6."""
    texts = ["good", "bad", "x"]
    permuted = ClassifierDetector(make_folder(labels)).detect(QUESTION, texts)
    for one, other in zip(permuted, detector.detect(QUESTION, texts), strict=True):
        assert one.to_dict() == pytest.approx(other.to_dict(), abs=1e-6)


def test_nli_names_are_taken_as_stances(make_folder: Callable[..., Path]) -> None:
    folder = make_folder(("entailment", "contradiction", "neutral"))
    assert ClassifierDetector(folder).detect(QUESTION, ["bad"])[0].label is Stance.CON


def test_unnamed_outputs_are_refused_unless_their_order_is_given(
    make_folder: Callable[..., Path],
) -> None:
    folder = make_folder(("pro", "con", "neutral"), names=("LABEL_0", "LABEL_1", "LABEL_2"))
    with pytest.raises(DetectorError, match="LABEL_0"):
        ClassifierDetector(folder)
    given = ClassifierDetector(folder, labels=("pro", "con", "neutral"))
    assert given.detect(QUESTION, ["good"])[0].label is Stance.PRO


def test_given_labels_are_part_of_the_name(make_folder: Callable[..., Path]) -> None:
    folder = make_folder(names=("LABEL_0", "LABEL_1", "LABEL_2"))
    names = {
        ClassifierDetector(folder, labels=labels).name
        for labels in permutations(["con", "neutral", "pro"])
    }
    assert len(names) == 6


def test_a_stance_in_the_last_tenth_of_a_long_document_is_found(
    detector: ClassifierDetector,
) -> None:
    """Public report 7: 100,000 characters."""
    filler = "filler " * 14_286
    text = filler[:90_000] + "good filler bad good " + filler[90_000:]
    tail = filler[:95_000] + ("bad " + "filler " * 60) * 11
    assert len(tail) > 99_000
    scores = detector.detect(QUESTION, [text[:100_000], tail, filler])
    assert [score.windows for score in scores] == [64, 64, 64]
    assert scores[1].label is Stance.CON
    assert scores[2].label is Stance.NEUTRAL


def test_a_stance_in_the_very_last_words_of_a_long_document_is_found(
    detector: ClassifierDetector,
) -> None:
    score = detector.detect(QUESTION, ["filler " * 14_286 + "good good good"])[0]
    assert (score.label, score.windows) == (Stance.PRO, 64)


def test_a_text_of_millions_of_characters_is_read_at_both_ends_and_between(
    stance_folder: Path,
) -> None:
    model, runner = recorded(stance_folder, alone=True)
    text = "good " + "filler " * 400_000 + "bad"
    asked = model.tokenizer.ids(QUESTION)
    windows = model.windows([(0, text)], beside=len(asked))
    good, bad = model.tokenizer.ids("good bad").tolist()
    assert len(windows) == 64
    assert {len(window.ids) for window in windows} == {ROOM}
    assert windows[0].ids[0] == good
    assert windows[-1].ids[-1] == bad
    assert runner.batches == []


@pytest.mark.parametrize(
    ("words", "windows"), [(ROOM, 1), (ROOM + 1, 2), (ROOM + 41, 2), (ROOM + 42, 3), (10_000, 64)]
)
def test_windows_are_counted(detector: ClassifierDetector, words: int, windows: int) -> None:
    """Windows of 55 tokens every 41."""
    assert detector.detect(QUESTION, ["filler " * words])[0].windows == windows


def test_fewer_windows_can_be_asked_for(stance_folder: Path) -> None:
    detector = ClassifierDetector(stance_folder, max_windows=3)
    assert detector.detect(QUESTION, ["filler " * 10_000])[0].windows == 3


class Recorder:
    """A runner that keeps the shapes and the ids it was given."""

    def __init__(self, inner: OnnxRunner, *, alone: bool) -> None:
        self.inner = inner
        self.alone = alone
        self.batches: list[Batch] = []

    def logits(self, batch: Batch) -> Logits:
        self.batches.append(batch)
        return self.inner.logits(batch)


def recorded(folder: Path, *, alone: bool, batch_tokens: int = 256) -> tuple[PairModel, Recorder]:
    runner = Recorder(OnnxRunner(folder / "onnx/model_quantized.onnx", threads=1), alone=alone)
    tokenizer = PairTokenizer.from_file(folder / "tokenizer.json")
    limits = Limits(max_length=64, max_windows=64, batch_tokens=batch_tokens)
    return PairModel(tokenizer, runner, limits=limits, pad_id=1, temperature=1.0), runner


def run(model: PairModel, texts: list[str]) -> list[list[float]]:
    asked = model.tokenizer.ids(QUESTION)
    windows = model.windows(list(enumerate(texts)), beside=len(asked))
    pairs = [model.tokenizer.pair(asked, window.ids) for window in windows]
    return model.probabilities(pairs, [window.text for window in windows])


TEXTS = ["filler " * n + "good" for n in (3, 40, 11, 25, 200, 0, 7)]


def test_batches_are_sorted_padded_to_their_longest_and_bounded(stance_folder: Path) -> None:
    model, runner = recorded(stance_folder, alone=False)
    rows = run(model, TEXTS)
    assert all(batch.ids.size <= 256 for batch in runner.batches)
    assert all((batch.mask.sum(axis=1).max() == batch.ids.shape[1]) for batch in runner.batches)
    longest = [batch.ids.shape[1] for batch in runner.batches]
    assert longest == sorted(longest, reverse=True)
    assert len(runner.batches) < sum(len(batch.ids) for batch in runner.batches) == len(rows)
    assert rows == pytest.approx(np.asarray(run(recorded(stance_folder, alone=True)[0], TEXTS)))


def test_the_question_stands_whole_in_every_window(stance_folder: Path) -> None:
    model, runner = recorded(stance_folder, alone=True)
    run(model, TEXTS)
    asked = model.tokenizer.ids(QUESTION).tolist()
    assert len(runner.batches) == 6 + 5
    for batch in runner.batches:
        assert batch.ids[0, 1 : 1 + ASKED].tolist() == asked
        assert batch.ids.shape[1] <= 64


def test_dynamic_int8_is_run_one_window_at_a_time(checkpoint: Path) -> None:
    int8 = OnnxRunner(checkpoint / "onnx/model_quantized.onnx", threads=1)
    assert int8.alone
    assert not OnnxRunner(checkpoint / "onnx/model.onnx", threads=1).alone
    model, _ = recorded(checkpoint, alone=False)
    alone = np.asarray(run(model, TEXTS[:1]))
    # Why: in a batch the very same text gets another score.
    together = np.asarray(run(model, TEXTS))
    at = next(i for i in range(len(together)) if i == 0)
    assert np.abs(together[at] - alone[0]).max() > 1e-4
    detector = ClassifierDetector(checkpoint, threads=1)
    assert detector.detect(QUESTION, TEXTS)[0] == detector.detect(QUESTION, TEXTS[:1])[0]


def test_an_output_that_is_not_finite_names_the_text(detector: ClassifierDetector) -> None:
    """Public report 5."""
    with pytest.raises(DetectorError, match="must be finite numbers; text 2 got"):
        detector.detect(QUESTION, ["good", "  ", "nan", "bad"])


def test_a_model_with_another_number_of_outputs_is_a_detector_error(
    make_folder: Callable[..., Path],
) -> None:
    folder = make_folder(("pro", "con"), names=("con", "neutral", "pro"))
    with pytest.raises(DetectorError, match="must have 3 outputs, got 2"):
        ClassifierDetector(folder).detect(QUESTION, ["good"])


def test_a_model_with_unknown_inputs_is_refused(tmp_path: Path, stance_folder: Path) -> None:
    import onnx

    model = onnx.load(stance_folder / "onnx/model_quantized.onnx")
    model.graph.input[1].name = model.graph.node[0].input[0] = "something_else"
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(DetectorError, match="must take inputs among"):
        OnnxRunner(tmp_path / "model.onnx", threads=1)


@pytest.mark.parametrize(
    "arguments",
    [
        {"threads": 0},
        {"batch_tokens": 0},
        {"max_windows": 0},
        {"max_length": 0},
        {"max_length": 513},
        {"max_length": 64.0},
        {"temperature": 0.0},
        {"temperature": float("nan")},
        {"temperature": float("inf")},
        {"labels": ("yes", "no", "maybe")},
    ],
)
def test_arguments_out_of_range_are_input_errors(
    stance_folder: Path, arguments: dict[str, object]
) -> None:
    name = re.escape(next(iter(arguments)))
    with pytest.raises(InputError, match=name):
        ClassifierDetector(stance_folder, **arguments)  # type: ignore[arg-type]


def test_a_longer_length_makes_fewer_windows(stance_folder: Path) -> None:
    text = "filler " * 300
    short = ClassifierDetector(stance_folder).detect(QUESTION, [text])[0]
    long = ClassifierDetector(stance_folder, max_length=512).detect(QUESTION, [text])[0]
    assert (short.windows, long.windows) == (7, 1)


def test_every_setting_that_can_change_a_score_is_part_of_the_name(stance_folder: Path) -> None:
    settings = [{}, {"max_length": 60}, {"max_windows": 9}, {"temperature": 1.5}]
    names = {ClassifierDetector(stance_folder, **kwargs).name for kwargs in settings}  # type: ignore[arg-type]
    assert len(names) == len(settings)
    assert ClassifierDetector(stance_folder, threads=1).name in names


def test_a_text_in_which_the_tokenizer_sees_nothing_is_neutral(
    detector: ClassifierDetector,
) -> None:
    control = "\x01\x02"
    assert detector.detect(QUESTION, [control])[0] == StanceScore(0.0, 0.0, 1.0, windows=0)


def test_the_model_is_loaded_once_by_many_threads(
    stance_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[Path] = []
    load = PairTokenizer.from_file.__func__  # type: ignore[attr-defined]

    def counting(cls: type[PairTokenizer], path: Path) -> PairTokenizer:
        loads.append(path)
        return load(cls, path)  # type: ignore[no-any-return]

    monkeypatch.setattr(PairTokenizer, "from_file", classmethod(counting))
    detector = ClassifierDetector(stance_folder)
    threads = [threading.Thread(target=detector.warm_up) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1


def test_default_threads_stay_within_the_machine_and_eight() -> None:
    assert 1 <= default_threads() <= 8


def test_a_detector_is_made_without_numpy_onnxruntime_or_tokenizers(stance_folder: Path) -> None:
    code = (
        "import sys; from equipoise.stance import ClassifierDetector, load_detector; "
        f"d = ClassifierDetector({str(stance_folder)!r}); d.name; "
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'torch', 'transformers'}; "
        "assert not heavy & set(sys.modules), heavy & set(sys.modules); "
        "d.detect('Why?', ['x']); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
