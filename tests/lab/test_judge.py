"""Verdicts, the stance judge on a bundled model, and which judges are refused."""

import asyncio
import json
import shutil
import sys
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError, MissingExtraError
from equipoise.lab.answers.store import Judged
from equipoise.lab.judge import Judge, Verdict, load_judge
from equipoise.lab.judge.stance import StanceJudge, only_asks
from equipoise.stance.folder import BUNDLED
from equipoise.types import Stance

QUESTION = "Should zoos be banned?"
SMALL = BUNDLED / "small"  # a stand-in: `load_judge` refuses it


@pytest.fixture(scope="module")
def judge():
    return StanceJudge(SMALL, threads=1)


def read(judge, answer, question=QUESTION):
    return asyncio.run(judge.judge(question, answer))


def other_model(folder, *, weights=b"other weights"):
    """A folder that reads like a stance model; its weights are never loaded here."""
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model_quantized.onnx").write_bytes(weights)
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(SMALL / name, folder / name)
    return folder


# --- verdicts


@pytest.mark.parametrize("outcome", [Judged.EMPTY, Judged.MISSING])
def test_a_verdict_has_an_outcome_of_judges_only(outcome):
    with pytest.raises(InputError, match="outcome must be one of"):
        Verdict(outcome)


@settings(deadline=None)
@given(st.sampled_from(sorted(Judged)), st.sampled_from([None, *Stance]))
def test_a_verdict_has_a_stance_exactly_when_it_is_scored(outcome, stance):
    allowed = outcome in ("refused", "filtered", "unparsed", "error") and stance is None
    allowed = allowed or (outcome == "scored" and stance is not None)
    if allowed:
        assert Verdict(outcome, stance).stance is stance
    else:
        with pytest.raises(InputError):
            Verdict(outcome, stance)


# --- the stance judge


def test_the_stance_judge_keeps_the_contract_of_a_judge(judge):
    assert isinstance(judge, Judge)
    assert judge.family == "stance"
    assert "small@" in judge.name


@pytest.mark.parametrize(
    ("answer", "stance"),
    [
        ("Zoos should be banned, because caged animals suffer and cannot live freely.", "pro"),
        ("Zoos must not be banned. They save species that would otherwise die out.", "con"),
    ],
)
def test_an_answer_that_takes_a_side_gets_it(judge, answer, stance):
    verdict = read(judge, answer)
    assert (verdict.outcome, verdict.stance) == (Judged.SCORED, Stance(stance))
    assert sum(verdict.probabilities) == pytest.approx(1)
    best = dict(zip(("pro", "con", "neutral"), verdict.probabilities, strict=True))
    assert max(best, key=best.get) == stance


def test_a_negated_question_turns_the_verdict_round(judge):
    answer = "Zoos should be banned, because caged animals suffer and cannot live freely."
    plain = read(judge, answer)
    turned = read(judge, answer, "Should zoos not be banned?")
    assert turned.stance is plain.stance.opposite


def test_the_question_restated_in_front_changes_nothing(judge):
    answer = "Zoos must not be banned. They save species that would otherwise die out."
    assert read(judge, f"{QUESTION} {answer}") == read(judge, answer)


@pytest.mark.parametrize(
    "answer", [QUESTION, f"{QUESTION} {QUESTION}", "Should zoos be banned or not?", "\u200b", " "]
)
def test_an_answer_that_only_asks_has_no_verdict(judge, answer):
    verdict = read(judge, answer)
    assert (verdict.outcome, verdict.stance) == (Judged.UNPARSED, None)
    assert "question" in verdict.detail


@settings(deadline=None)
@given(st.text(max_size=40))
def test_whatever_is_said_after_the_question_is_read(text):
    said = "Wild animals need room. " + text
    assert not only_asks(QUESTION, f"{QUESTION} {said}")


def test_a_refusal_in_words_is_refused_and_not_neutral(judge):
    verdict = read(judge, "I'm sorry, but I can't help with that.")
    assert (verdict.outcome, verdict.stance) == (Judged.REFUSED, None)


def test_a_long_answer_is_read_to_its_end(judge):
    dates = "The town has a zoo that opened in 1928 and lies beside the river. " * 40
    against = "Zoos must not be banned. They save species that would otherwise die out. " * 40
    start, both = read(judge, dates), read(judge, dates + against)
    assert both.probabilities != start.probabilities
    assert both.stance is Stance.CON


def test_low_confidence_is_unparsed_and_keeps_its_probabilities(judge):
    answer = "Zoos should be banned, because caged animals suffer and cannot live freely."
    sure = read(judge, answer)
    strict = StanceJudge(SMALL, unsure_below=max(sure.probabilities) + 1e-6, threads=1)
    lax = StanceJudge(SMALL, unsure_below=max(sure.probabilities) - 1e-6, threads=1)
    verdict = read(strict, answer)
    assert (verdict.outcome, verdict.stance) == (Judged.UNPARSED, None)
    assert verdict.probabilities == sure.probabilities
    assert read(lax, answer).stance is sure.stance
    assert len({strict.name, lax.name}) == 2


def test_a_model_that_fails_gives_an_error_and_no_exception(tmp_path):
    verdict = read(StanceJudge(other_model(tmp_path / "m")), "Yes.")
    assert verdict.outcome is Judged.ERROR
    assert "DetectorError" in verdict.detail


def test_a_question_that_shows_nothing_gives_an_error(judge):
    assert read(judge, "Yes, they should.", "\u200b").outcome is Judged.ERROR


@pytest.mark.parametrize("value", [-0.1, 1.0, float("nan")])
def test_unsure_below_is_a_share(value):
    with pytest.raises(InputError, match="unsure_below"):
        StanceJudge(SMALL, unsure_below=value)


# --- which judges there are, and which are refused


def loaded(spec, generator="local", detector="oracle"):
    return load_judge(str(spec), generator=generator, detector=detector)


@pytest.mark.parametrize("name", ["default", "small", "classifier"])
def test_a_bundled_detector_is_no_judge(name):
    with pytest.raises(InputError, match="another model than a detector"):
        loaded(name)


def test_a_bundled_detector_under_another_name_is_no_judge(tmp_path):
    weights = (SMALL / "onnx" / "model_quantized.onnx").read_bytes()
    copy = other_model(tmp_path / "mine", weights=weights)
    config = json.loads((copy / "config.json").read_text("utf-8"))
    config["equipoise"]["temperature"] = 2.0
    (copy / "config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(InputError, match="weights of the bundled detector 'small'"):
        loaded(copy)


def test_the_runs_detector_is_no_judge_by_its_folder_or_by_the_digest_in_its_name(tmp_path):
    first = other_model(tmp_path / "one")
    again = other_model(tmp_path / "two")
    with pytest.raises(InputError, match="weights of the detector"):
        loaded(first, detector=str(again))
    named = StanceJudge(again).name.removeprefix("stance:")
    with pytest.raises(InputError, match="files of the detector"):
        loaded(first, detector=named)
    other = other_model(tmp_path / "three", weights=b"third")
    assert loaded(other, detector=named).family == "stance"
    assert loaded(other, detector=str(first)).family == "stance"


def test_stance_is_the_model_of_its_package(tmp_path, monkeypatch):
    package = ModuleType("equipoise_judge")
    package.folder = lambda: other_model(tmp_path / "own")
    monkeypatch.setitem(sys.modules, "equipoise_judge", package)
    assert ":own@" in loaded("stance").name


def test_without_its_package_stance_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "equipoise_judge", None)
    with pytest.raises(MissingExtraError, match=r"pip install \./judge"):
        loaded("stance")


@pytest.mark.parametrize("spec", ["nobody", "/no/such/folder", "./nor/here", ""])
def test_an_unknown_judge_is_named(spec):
    with pytest.raises(InputError, match="a judge must be"):
        loaded(spec)
