from dataclasses import replace

import pytest

from equipoise.audit import Mode, Settings, audit, held_row, propose, read_questions, screen
from equipoise.errors import InputError
from equipoise.retrieval import MemoryRetriever
from equipoise.testing import FakeDetector
from equipoise.types import Candidate

SIDES = ("pro", "con", "neutral", "neutral")


class SaysItself:
    """Labels a text by the side that its second word names, in any case."""

    name = "says-itself"

    def detect(self, question, texts):
        table = {text: text.split()[1].lower() for text in texts}
        return FakeDetector(table).detect(question, texts)


def documents(subject: str, sides: str, tag: str) -> list[Candidate]:
    return [
        Candidate(f"{tag}-{n}", f"{subject} {side} {tag} {n}")
        for n, side in enumerate(sides.split())
    ]


@pytest.fixture
def old():
    return [
        *documents("zoos", "pro con neutral neutral " * 10, "z"),
        *documents("cars", "pro con neutral neutral " * 10, "c"),
    ]


@pytest.fixture
def seen(first_word):
    def run(corpus, **more):
        retriever = MemoryRetriever(corpus, first_word)
        settings = Settings(near=40)
        questions = ["zoos?", "cars?"]
        return audit(retriever, questions, detector=SaysItself(), settings=settings, **more)

    return run


def screened(new, standing, embedder, **more):
    return screen(new, standing, embedder=embedder, detector=SaysItself(), **more)


def test_a_one_sided_batch_is_kept_apart_and_the_rest_comes_in(old, seen, first_word) -> None:
    new = [*documents("zoos", "con " * 6 + "neutral", "new"), *documents("tea", "pro", "tea")]
    result = screened(new, seen(old), first_word)
    assert [d.id for d in result.held] == [f"new-{n}" for n in range(6)]
    assert [d.id for d in result.accepted] == ["new-6", "tea-0"]
    reason = result.reasons["new-0"][0]
    assert (reason.question.text, reason.finding.side.value) == ("zoos?", "con")
    assert held_row(result, result.held[0], "row")["reasons"][0]["question"] == "zoos?"


def test_a_balanced_batch_comes_in(old, seen, first_word) -> None:
    new = documents("zoos", "con pro con pro neutral neutral", "new")
    result = screened(new, seen(old), first_word)
    assert result.passed
    assert list(result.accepted) == new


def test_the_modes_differ_in_what_they_let_in(old, seen, first_word) -> None:
    new = [*documents("zoos", "con " * 6, "new"), *documents("tea", "pro", "tea")]
    standing = seen(old)
    numbers = {}
    for mode in Mode:
        result = screened(new, standing, first_word, mode=mode)
        assert not result.passed
        assert sorted([*result.accepted, *result.held], key=new.index) == new
        numbers[mode.value] = (len(result.accepted), len(result.held))
    assert numbers == {"warn": (7, 0), "quarantine": (1, 6), "strict": (0, 7)}


def test_what_a_batch_replaces_no_longer_counts_as_there(old, seen, first_word) -> None:
    standing = seen(old)
    cons = [d for d in old if d.text.startswith("zoos con")]
    new = [Candidate(d.id, f"zoos pro changed {n}") for n, d in enumerate(cons)]
    result = screened(new, standing, first_word, mode="warn")
    (shifted,) = [finding for question, finding in result.findings if question.text == "zoos?"]
    assert (shifted.mix.pro, shifted.against.con) == (10, 0)
    assert standing.questions[0].mix().con == 10


def test_documents_that_are_there_already_are_no_news(old, seen, first_word) -> None:
    again = [d for d in old if d.text.startswith("zoos con")]
    result = screened(again, seen(old), first_word)
    assert result.passed
    assert result.findings == ()


def test_a_drip_is_seen_against_the_baseline_only(old, seen, first_word) -> None:
    trusted = seen(old)
    grown = seen([*old, *documents("zoos", "con " * 5, "drip")])
    last = documents("zoos", "con", "last")
    assert screened(last, grown, first_word).passed
    result = screened(last, grown, first_word, baseline=trusted)
    assert [d.id for d in result.held] == ["last-0"]


def test_copies_of_what_is_there_and_other_subjects_pass(old, seen, first_word) -> None:
    copies = [Candidate(f"copy-{n}", old[4 * n].text.upper()) for n in range(6)]
    result = screened([*copies, *documents("tea", "pro " * 9, "tea")], seen(old), first_word)
    assert result.passed


def test_nothing_new_is_nothing_held(old, seen, first_word) -> None:
    assert screened([], seen(old), first_word).passed


def test_misuse_of_the_gate_is_told(old, seen, first_word) -> None:
    standing, new = seen(old), documents("zoos", "con", "new")
    with pytest.raises(InputError, match="mode must be"):
        screened(new, standing, first_word, mode="lax")
    with pytest.raises(InputError, match="there twice"):
        screened([*new, *new], standing, first_word)
    with pytest.raises(InputError, match="detector must be the audit's"):
        screened(new, replace(standing, detector="other"), first_word)
    unscored = tuple(
        replace(q, passages=tuple(replace(p, score=None) for p in q.passages))
        for q in standing.questions
    )
    with pytest.raises(InputError, match="no scores"):
        screened(new, replace(standing, questions=unscored), first_word)


def test_questions_are_proposed_where_both_sides_occur(first_word, tmp_path) -> None:
    corpus = [
        *documents("zoos", "pro con " * 6, "enclosure"),
        *documents("cars", "pro " * 12, "engine"),
        *documents("tea", "neutral " * 12, "leaf"),
    ]
    rows = first_word.embed([d.text for d in corpus])
    given = [replace(d, embedding=r.tolist()) for d, r in zip(corpus, rows, strict=True)]
    found = propose(given, detector=SaysItself(), clusters=3)
    assert len(found) == 1
    assert {"zoos", "enclosure"} & set(found[0].text.rstrip("?").split())
    assert (found[0].mix.pro, found[0].mix.con, found[0].size) == (6, 6, 12)
    assert found == propose(given, detector=SaysItself(), clusters=3)
    import json

    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps(found[0].to_dict()))
    assert read_questions(path)[0].text == found[0].text


def test_proposals_need_passages_with_vectors() -> None:
    with pytest.raises(InputError, match="there are none"):
        propose([], detector=SaysItself())
    with pytest.raises(InputError, match="need embeddings"):
        propose(documents("zoos", "pro", "z"), detector=SaysItself())
    with pytest.raises(InputError, match="clusters must"):
        propose([], detector=SaysItself(), clusters=0)
