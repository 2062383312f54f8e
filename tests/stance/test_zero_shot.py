import shutil
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import DetectorError, InputError
from equipoise.stance import ZeroShotDetector
from equipoise.stance.zero_shot import hypotheses, stance_from_three, stance_from_two
from equipoise.types import Stance

QUESTION = "Should X be legal?"
TEXTS = ["it is good", "it is bad", "filler", "filler " * 400 + "bad bad"]
EXPECTED = [Stance.PRO, Stance.CON, Stance.NEUTRAL, Stance.CON]


def labels(detector: ZeroShotDetector) -> list[Stance]:
    return [score.label for score in detector.detect(QUESTION, TEXTS)]


@pytest.mark.parametrize("names", [*permutations(["entailment", "neutral", "contradiction"])])
def test_permuting_the_outputs_changes_nothing(
    names: tuple[str, ...], make_folder: Callable[..., Path]
) -> None:
    """Public report 6."""
    assert labels(ZeroShotDetector(make_folder(names, nli=True))) == EXPECTED


@pytest.mark.parametrize("names", [*permutations(["entailment", "not_entailment"])])
def test_two_way_checkpoints_work_too(
    names: tuple[str, ...], make_folder: Callable[..., Path]
) -> None:
    assert labels(ZeroShotDetector(make_folder(names, nli=True)))[:2] == EXPECTED[:2]


def test_unnamed_outputs_are_refused_unless_their_order_is_given(
    make_folder: Callable[..., Path],
) -> None:
    order = ("neutral", "entailment", "contradiction")
    folder = make_folder(order, names=("LABEL_0", "LABEL_1", "LABEL_2"), nli=True)
    with pytest.raises(DetectorError, match="LABEL_0"):
        ZeroShotDetector(folder)
    assert labels(ZeroShotDetector(folder, labels=order)) == EXPECTED


def test_stance_names_of_a_classifier_are_taken_as_they_are(
    make_folder: Callable[..., Path],
) -> None:
    folder = make_folder(("con", "neutral", "pro"), nli=True)
    assert labels(ZeroShotDetector(folder)) == EXPECTED


def test_the_document_is_the_premise_and_the_hypothesis_is_not_cut(nli_folder: Path) -> None:
    detector = ZeroShotDetector(nli_folder)
    room = 64 - 4 - max(len(text.split()) for text in hypotheses(QUESTION))
    score = detector.detect(QUESTION, ["filler " * 200])[0]
    assert score.windows > 200 // room


def test_hypotheses_hold_the_question_as_it_stands() -> None:
    for text in ("Should {X} be {0} legal?", "X is {question} good", "nuclear power"):
        assert all(text in hypothesis for hypothesis in hypotheses(text))
    assert hypotheses("Why?") != hypotheses("Why")


probabilities = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(
    lambda pair: (pair[0] * pair[1], 1 - pair[0], pair[0] * (1 - pair[1]))
)


@given(probabilities, probabilities)
def test_three_way_formula_gives_probabilities_that_swap(
    yes: tuple[float, float, float], no: tuple[float, float, float]
) -> None:
    score, turned = stance_from_three(yes, no), stance_from_three(no, yes)
    assert turned.pro == pytest.approx(score.con)
    assert turned.neutral == pytest.approx(score.neutral)


def test_a_premise_that_entails_both_answers_takes_no_side() -> None:
    assert stance_from_three((0.9, 0.1, 0.0), (0.9, 0.1, 0.0)).label is Stance.NEUTRAL
    assert stance_from_two(0.9, 0.9).label is Stance.NEUTRAL


@given(st.floats(0, 1), st.floats(0, 1))
def test_two_way_formula_gives_probabilities_that_swap(yes: float, no: float) -> None:
    score, turned = stance_from_two(yes, no), stance_from_two(no, yes)
    assert turned.pro == pytest.approx(score.con)


def test_onnx_and_transformers_give_the_same_scores(checkpoint: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    shutil.copytree(checkpoint, plain)
    (plain / "onnx/model_quantized.onnx").unlink()
    onnx = ZeroShotDetector(plain, threads=1).detect(QUESTION, TEXTS)
    torch = ZeroShotDetector(plain, backend="transformers").detect(QUESTION, TEXTS)
    for one, other in zip(onnx, torch, strict=True):
        assert one.to_dict() == pytest.approx(other.to_dict(), abs=1e-4)
        assert one.windows == other.windows
    assert len({score.label for score in onnx}) > 1 or np.ptp([s.pro for s in onnx]) > 0.01


def test_the_document_is_the_first_of_the_pair_as_transformers_would_have_it(
    checkpoint: Path,
) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint).eval()
    text = "good x filler bad bad"
    rows = []
    for hypothesis in hypotheses(QUESTION):
        with torch.inference_mode():
            logits = model(**tokenizer(text, hypothesis, return_tensors="pt")).logits
        rows.append(logits.softmax(-1)[0].tolist())
    expected = stance_from_three(*rows)
    found = ZeroShotDetector(checkpoint, backend="transformers").detect(QUESTION, [text])[0]
    assert found.to_dict() == pytest.approx(expected.to_dict(), abs=1e-5)
    assert expected.to_dict() != pytest.approx(stance_from_three(*rows[::-1]).to_dict(), abs=1e-3)


def test_the_name_tells_backends_and_weights_apart(checkpoint: Path, nli_folder: Path) -> None:
    names = {
        ZeroShotDetector(checkpoint).name,
        ZeroShotDetector(checkpoint, backend="transformers").name,
        ZeroShotDetector(nli_folder).name,
        ZeroShotDetector(nli_folder, max_length=60).name,
    }
    assert len(names) == 4


def test_the_name_changes_with_the_weights(checkpoint: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(checkpoint, tmp_path / "model"))
    before = ZeroShotDetector(folder, backend="transformers").name
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert ZeroShotDetector(folder, backend="transformers").name != before


def test_a_checkpoint_without_safetensors_is_refused(nli_folder: Path) -> None:
    with pytest.raises(DetectorError, match=r"\.safetensors"):
        ZeroShotDetector(nli_folder, backend="transformers").warm_up()


def test_a_damaged_checkpoint_is_a_detector_error(checkpoint: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(checkpoint, tmp_path / "model"))
    (folder / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(DetectorError, match="must be a checkpoint that loads"):
        ZeroShotDetector(folder, backend="transformers").warm_up()


def test_an_unknown_backend_is_an_input_error(nli_folder: Path) -> None:
    with pytest.raises(InputError, match="backend must be"):
        ZeroShotDetector(nli_folder, backend="jax")  # type: ignore[arg-type]
