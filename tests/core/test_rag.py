import asyncio
import json

import pytest

from equipoise import Balancer, DetectorError, InputError, Outcome, Rag
from equipoise.testing import EchoGenerator, FakeDetector, ListRetriever

QUESTION = "Should tea be banned?"
KINDS = {"p": "pro", "c": "con", "n": "neutral"}
TEXTS = ["p0 text", "p1 text", "p2 text", "p3 text", "p4 text", "c5 text", "c6 text", "n7 text"]


def rag(generator=None, texts=TEXTS):
    detector = FakeDetector({text: KINDS[text[0]] for text in texts})
    return Rag(
        ListRetriever(texts), balancer=Balancer(detector=detector), generator=generator
    ), detector


def ranks(answer):
    return [choice.retrieval_rank for choice in answer.selection.chosen]


def test_the_four_settings_differ_in_documents_and_instruction():
    pipeline, _ = rag()
    a, b, c, d = pipeline.compare(QUESTION, settings="ABCD")
    assert ranks(a) == ranks(d) == [1, 2, 3, 4, 5]
    assert ranks(b) == ranks(c) == [1, 2, 6, 7, 8]
    assert a.prompt != d.prompt
    assert b.prompt != c.prompt
    assert len(a.prompt) < len(d.prompt)
    assert len(b.prompt) < len(c.prompt)


def test_setting_a_shows_the_stance_of_what_it_sends():
    pipeline, _ = rag()
    assert pipeline.ask(QUESTION, setting="A").selection.composition == {
        "pro": 5,
        "con": 0,
        "neutral": 0,
    }


def test_no_text_is_labelled_twice_for_several_settings():
    pipeline, detector = rag()
    pipeline.compare(QUESTION, settings=("A", "B", "C", "D"))
    assert sorted(detector.texts) == sorted(set(detector.texts))


def test_a_question_of_fact_is_asked_plainly_in_setting_c():
    texts = ["n0 text", "n1 text", "n2 text"]
    pipeline, _ = rag(texts=texts)
    a, c = pipeline.compare("Who wrote it?", settings=("A", "C"))
    assert a.prompt == c.prompt


def test_the_retriever_is_asked_for_depth_documents():
    asked = []

    class Counting(ListRetriever):
        def retrieve(self, question, k):
            asked.append(k)
            return super().retrieve(question, k)

    Rag(Counting(TEXTS), balancer=Balancer(detector=FakeDetector({}, default="neutral"))).ask(
        QUESTION
    )
    assert asked == [50]


def test_the_answer_of_the_generator_comes_back_as_it_is():
    pipeline, _ = rag(EchoGenerator("Some say yes, others no."))
    answer = pipeline.ask(QUESTION)
    assert answer.answer.outcome is Outcome.ANSWERED
    assert answer.answer.text == "Some say yes, others no."
    json.dumps(answer.to_dict(), allow_nan=False)


def test_a_generator_that_fails_is_an_outcome():
    pipeline, _ = rag(EchoGenerator(outcome="error"))
    answer = pipeline.ask(QUESTION)
    assert answer.answer.outcome is Outcome.ERROR
    assert answer.answer.text == ""


def test_without_a_generator_there_is_a_prompt_and_no_answer():
    pipeline, _ = rag()
    answer = pipeline.ask(QUESTION)
    assert answer.answer is None
    assert QUESTION in answer.prompt
    assert "p0 text" in answer.prompt


def test_an_empty_index_gives_an_empty_selection():
    answer = rag(texts=[])[0].ask(QUESTION)
    assert answer.selection.chosen == ()
    assert answer.retrieved == 0


@pytest.mark.parametrize("setting", ["E", "", "a"])
def test_an_unknown_setting_is_refused(setting):
    with pytest.raises(InputError, match="A, B, C, D"):
        rag()[0].ask(QUESTION, setting=setting)


def test_a_blank_question_is_refused_before_anything_is_retrieved():
    with pytest.raises(InputError, match="question"):
        rag()[0].ask("  ")


def test_the_asynchronous_form_gives_the_same():
    pipeline, _ = rag()
    assert ranks(asyncio.run(pipeline.aask(QUESTION))) == ranks(pipeline.ask(QUESTION))


def test_a_generator_that_raises_is_an_outcome_too():
    class Broken:
        def generate(self, prompt):
            raise ConnectionError("gone")

    answer = rag(Broken())[0].ask(QUESTION).answer
    assert answer.outcome is Outcome.ERROR
    assert answer.detail == "ConnectionError: gone"


def test_a_detector_of_the_wrong_count_is_a_detector_error():
    class Short(FakeDetector):
        def detect(self, question, texts):
            return super().detect(question, texts)[:-1]

    pipeline = Rag(ListRetriever(TEXTS), balancer=Balancer(detector=Short({}, default="pro")))
    with pytest.raises(DetectorError, match="one score a text"):
        pipeline.ask(QUESTION)


def test_more_documents_than_the_depth_can_be_asked_for():
    texts = [f"n{index} text" for index in range(80)]
    assert len(rag(texts=texts)[0].ask(QUESTION, setting="A", k=60).selection.chosen) == 60
