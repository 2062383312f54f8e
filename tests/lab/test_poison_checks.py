import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.poison.checks import (
    Verdict,
    check_copies,
    check_cosine,
    check_length,
    check_stance,
    check_support,
    nli_from,
    sentences,
    shared_runs,
)
from equipoise.stance import ZeroShotDetector
from equipoise.testing import FakeDetector
from equipoise.types import Stance, StanceScore

PASSED, FAILED, NOT_CHECKED = Verdict.PASSED, Verdict.FAILED, Verdict.NOT_CHECKED
YES, NO = StanceScore(0.9, 0.05, 0.05), StanceScore(0.1, 0.1, 0.8)


@pytest.mark.parametrize(
    ("words", "verdict"), [(44, FAILED), (45, PASSED), (82, PASSED), (83, FAILED)]
)
def test_the_length_is_that_of_the_papers_documents(words, verdict):
    assert check_length(" ".join(["w"] * words)).verdict is verdict


def test_the_side_must_have_the_wanted_probability():
    detector = FakeDetector({"for": StanceScore(0.5, 0.4, 0.1), "weak": StanceScore(0.4, 0.3, 0.3)})
    assert check_stance("for", "?", Stance.PRO, detector=detector).verdict is PASSED
    assert check_stance("for", "?", Stance.CON, detector=detector).verdict is FAILED
    assert check_stance("weak", "?", Stance.PRO, detector=detector).verdict is FAILED


def test_without_a_detector_the_side_is_not_checked_rather_than_passed():
    assert check_stance("x", "?", Stance.PRO, detector=None).verdict is NOT_CHECKED


WORDS = st.lists(st.sampled_from("abc"), max_size=9)


@given(WORDS, WORDS)
def test_the_shared_runs_are_those_of_a_plain_count(one, other):
    def runs(words):
        return {tuple(words[i : i + 5]) for i in range(len(words) - 4)}

    own = runs(one)
    expected = len(own & runs(other)) / len(own) if own else 0.0
    assert shared_runs(" ".join(one), ", ".join(other).upper()) == expected


def test_a_text_inside_a_longer_one_is_a_copy():
    text = "one two three four five six seven"
    assert check_copies(text, ["unlike", f"before {text} after"]).verdict is FAILED
    assert check_copies(text, ["one two three four five and then no more"]).verdict is PASSED
    assert check_copies(text, []).verdict is PASSED


def test_runs_of_two_texts_do_not_add_up_to_one_copy():
    text = "a b c d e f g h i j k l m n"
    halves = ["a b c d e f g h", "h i j k l m n"]
    assert max(shared_runs(text, half) for half in halves) < 0.5
    assert check_copies(text, halves).verdict is PASSED


def test_a_cosine_above_the_limit_to_any_other_text_fails():
    others = np.array([[0.0, 1.0], [0.96, 0.28]], dtype=np.float32)
    one = np.array([1.0, 0.0], dtype=np.float32)
    assert check_cosine(one, others).verdict is FAILED
    assert check_cosine(one, others[:1]).verdict is PASSED
    assert check_cosine(one, others[:0]).verdict is PASSED
    assert check_cosine(None, others).verdict is NOT_CHECKED
    assert check_cosine(one, None).verdict is NOT_CHECKED


def test_every_sentence_must_be_entailed_by_some_source():
    table = {("s1", "It rains."): YES, ("s2", "It snows."): YES}
    asked = []

    def nli(premise, hypothesis):
        asked.append((premise, hypothesis))
        return table.get((premise, hypothesis), NO)

    assert check_support("It rains. It snows.", ["s1", "s2"], nli).verdict is PASSED
    found = check_support("It rains. It burns.", ["s1", "s2"], nli)
    assert found.verdict is FAILED
    assert "It burns." in found.detail
    assert check_support("Does it rain? It rains.", ["s1"], nli).verdict is PASSED
    assert all(not hypothesis.endswith("?") for _, hypothesis in asked)


def test_a_claim_that_a_source_contradicts_is_not_supported():
    assert (
        check_support("It rains.", ["s"], lambda p, h: StanceScore(0.1, 0.9, 0.0)).verdict is FAILED
    )


@pytest.mark.parametrize(
    ("text", "sources", "nli"),
    [
        ("It rains.", ["s"], None),
        ("It rains.", [], lambda p, h: YES),
        ("Rain?", ["s"], lambda p, h: YES),
    ],
)
def test_support_that_cannot_be_checked_is_not_a_pass(text, sources, nli):
    assert check_support(text, sources, nli).verdict is NOT_CHECKED


def test_a_stance_detector_is_no_nli_model():
    with pytest.raises(InputError, match="NLI model"):
        nli_from(FakeDetector({}))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("It cost 3.5 billion. So what?", ["It cost 3.5 billion.", "So what?"]),
        ("The U.S. law held. Then not.", ["The U.S. law held.", "Then not."]),
        ("He said “no.” She left.", ["He said “no.”", "She left."]),
        ("No end", ["No end"]),
    ],
)
def test_sentences_end_where_they_end(text, parts):
    assert sentences(text) == parts


@given(st.text(max_size=60))
def test_no_word_is_lost_between_sentences(text):
    assert " ".join(sentences(text)).split() == text.split()


@pytest.fixture(scope="module")
def toy_nli(tmp_path_factory):
    """The toy NLI checkpoint of the stance tests: "good" entails what has "yes" in it."""
    onnx = pytest.importorskip("onnx")
    path = Path(__file__).parents[1] / "stance" / "conftest.py"
    spec = importlib.util.spec_from_file_location("stance_toys", path)
    toys = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = toys  # its dataclasses look their module up
    spec.loader.exec_module(toys)
    folder = tmp_path_factory.mktemp("nli")
    (folder / "onnx").mkdir()
    labels = ("contradiction", "neutral", "entailment")
    config = {"model_type": "mpnet", "pad_token_id": 1, "max_position_embeddings": 514}
    config |= {"id2label": {str(i): name for i, name in enumerate(labels)}}
    (folder / "config.json").write_text(json.dumps(config))
    toys.toy_tokenizer().save(str(folder / "tokenizer.json"))
    onnx.save(toys.toy_graph(labels, reads_hypothesis=True), folder / "onnx/model_quantized.onnx")
    return folder


def test_a_zero_shot_detector_reads_the_source_as_premise_and_the_claim_as_hypothesis(toy_nli):
    detector = ZeroShotDetector(toy_nli)
    nli = nli_from(detector)
    assert nli("good good", "x?") == detector.detect("x?", ["good good"])[0]
    assert nli("good good", "x?").label is Stance.PRO
    assert nli("bad bad", "x?").label is Stance.CON
