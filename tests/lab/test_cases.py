"""Exact retrieval, and candidates that tell a defence nothing of what was planted."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.cases import Corpus, Retrieval, opaque
from equipoise.lab.labels import DetectorLabels, OracleLabels, load_labels, true_stance
from equipoise.lab.pack import Pack, Question, Topic
from equipoise.lab.vectors import VectorCache
from equipoise.testing import FakeDetector
from equipoise.types import Stance

from .toy_world import WORDS, WordEmbedder, document, toy_attack, toy_pack


def retrieval(corpus=None, pack=None, **options):
    pack = pack or toy_pack()
    return Retrieval(pack, corpus or toy_attack(), VectorCache(WordEmbedder()), **options)


def asked(number=0, labels=None, **options):
    found = list(retrieval(**options).ask(labels or OracleLabels()))
    return found[number]


def test_documents_come_by_cosine_and_ties_by_id():
    # "zoo zoo zoo" is in three documents: equal cosines, ordered by id.
    found = asked(1)
    assert [d.id for d in found.documents][:4] == [
        "zoo-injected-1",
        "zoo-injected-2",
        "zoo-pro-1",
        "zoo-con-1",
    ]
    scores = [candidate.score for candidate in found.case.candidates]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores[:3])) == 1
    assert scores[3] < scores[2]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from([*WORDS, "x"]), max_size=4).map(" ".join), max_size=9),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    st.integers(1, 10),
)
def test_retrieval_is_what_sorting_every_document_gives(texts, question, depth):
    documents = tuple(document(f"d{i}", text, "background") for i, text in enumerate(texts))
    pack = Pack("p", (Topic("t", "t", "T"),), (Question("q", "t", question),), documents)
    found = next(retrieval(Corpus("c", documents), pack, depth=depth).ask(OracleLabels()))
    model = WordEmbedder()
    vector = model.embed([question])[0].astype(float)
    cosines = {
        d.id: round(float(model.embed([d.text])[0].astype(float) @ vector), 6)
        for d in documents
        if d.text.strip()
    }
    expected = sorted(cosines, key=lambda name: (-cosines[name], name))[:depth]
    assert [d.id for d in found.documents] == expected
    assert [c.score for c in found.case.candidates] == pytest.approx(
        [cosines[name] for name in expected], abs=2e-6
    )


def test_a_document_has_the_same_score_in_every_corpus():
    clean, attacked = asked(corpus=toy_attack(0)), asked()
    scores = {c.id: c.score for c in attacked.case.candidates}
    assert all(scores[c.id] == c.score for c in clean.case.candidates)


def test_candidates_do_not_tell_what_was_planted():
    found = asked()
    for candidate, truth in zip(found.case.candidates, found.documents, strict=True):
        assert candidate.metadata == {}
        assert candidate.id == opaque(truth.id)
        assert not {"injected", "pro", "con", "planted"} & set(candidate.id.split("-"))
        assert candidate.text == truth.text
        assert np.linalg.norm(candidate.embedding) == pytest.approx(1.0, abs=1e-6)


def test_depth_cuts_and_a_small_corpus_gives_what_it_has():
    assert len(asked(depth=3).documents) == 3
    assert len(asked(depth=50).documents) == 11
    with pytest.raises(InputError, match="depth"):
        asked(depth=0)


def test_a_blank_document_is_never_retrieved():
    blank = document("blank", " \n", "background")
    found = asked(corpus=Corpus("c", (*toy_pack().clean, blank)))
    assert "blank" not in [d.id for d in found.documents]


def test_an_id_that_is_in_the_corpus_cannot_be_planted_again():
    clean = toy_pack().clean
    with pytest.raises(InputError, match="zoo-pro-1"):
        Corpus("c", clean, (replace(clean[0], text="other"),))


def test_the_oracle_says_the_truth_and_neutral_for_what_is_of_another_topic():
    found = asked(labels=OracleLabels())
    for score, truth in zip(found.case.scores, found.documents, strict=True):
        right = truth.stance if truth.topic == "zoos" else Stance.NEUTRAL
        assert score.label is right
        assert score.confidence == 1.0


def test_degraded_labels_are_right_as_often_as_they_say_and_err_both_ways():
    question = Question("q", "t", "?")
    documents = [document(f"d{i}", "x", "genuine", "t", "pro") for i in range(4000)]
    labels = [s.label for s in OracleLabels(0.8).scores(question, documents)]
    assert labels.count(Stance.PRO) / 4000 == pytest.approx(0.8, abs=0.02)
    assert labels.count(Stance.CON) / 4000 == pytest.approx(0.1, abs=0.015)
    assert labels.count(Stance.NEUTRAL) / 4000 == pytest.approx(0.1, abs=0.015)


def test_degraded_errors_do_not_depend_on_what_else_is_there():
    question = Question("q", "t", "?")
    documents = [document(f"d{i}", "x", "genuine", "t", "con") for i in range(50)]
    labels = OracleLabels(0.5)
    together = labels.scores(question, documents)
    alone = tuple(labels.scores(question, [replace(d)])[0] for d in documents)
    assert together == alone
    assert labels.scores(replace(question, id="q2"), documents) != together
    assert OracleLabels(0.5, seed=1).scores(question, documents) != together


@pytest.mark.parametrize("accuracy", [0.0, 1 / 3, 1.01, float("nan")])
def test_an_accuracy_must_leave_the_label_the_likeliest(accuracy):
    with pytest.raises(InputError, match="accuracy"):
        OracleLabels(accuracy)


@pytest.mark.parametrize("spec", ["degraded", "degraded:", "degraded:most", "degraded:0.2"])
def test_a_malformed_accuracy_is_explained(spec):
    with pytest.raises(InputError, match="degraded:0.8"):
        load_labels(spec)


def test_specs_name_the_oracle_and_its_errors():
    assert load_labels("oracle").name == "oracle"
    assert load_labels("degraded:0.8").name == "degraded:0.8 (seed 20260905)"


def test_a_detector_is_asked_only_as_far_as_labels_are_read():
    detector = FakeDetector({}, default="pro")
    found = asked(labels=DetectorLabels(detector))
    assert detector.calls == 0
    _ = found.case.scores[0]
    assert 0 < len(detector.texts) <= 8


def test_labels_are_read_once_for_all_corpora_and_runs(tmp_path):
    path = tmp_path / "deep" / "labels.sqlite"
    first = FakeDetector({}, default="pro")
    with DetectorLabels(first, path) as labels:
        for corpus in (toy_attack(0), toy_attack()):
            list(asked(corpus=corpus, labels=labels).case.scores)
        assert labels.asked == len(first.texts) == 11
    second = FakeDetector({}, default="pro")
    with DetectorLabels(second, path) as labels:
        list(asked(labels=labels).case.scores)
    assert second.texts == []


def test_the_truth_is_about_the_questions_own_topic():
    question = Question("q", "zoos", "?")
    assert true_stance(question, document("d", "x", "genuine", "zoos", "con")) is Stance.CON
    assert true_stance(question, document("d", "x", "genuine", "taxes", "con")) is None
    assert true_stance(question, document("d", "x", "background")) is None
