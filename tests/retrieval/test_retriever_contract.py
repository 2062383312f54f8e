"""What every retriever owes its callers. A new one joins by one line in RETRIEVERS."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from equipoise.errors import InputError
from equipoise.retrieval import (
    EmbedderError,
    FusedRetriever,
    MemoryRetriever,
    OnnxEmbedder,
    build_index,
    open_retriever,
)
from equipoise.types import Candidate, Retriever

pytest.importorskip("faiss")
pytest.importorskip("bm25s")

Make = Callable[[Sequence[Candidate], Path, Any], Retriever]


def indexed(mode: Any) -> Make:
    def make(documents: Sequence[Candidate], folder: Path, embedder: Any) -> Retriever:
        build_index(documents, folder / "ix", embedder=embedder)
        return open_retriever(folder / "ix", mode=mode, embedder=embedder)

    return make


RETRIEVERS: dict[str, Make] = {
    "memory": lambda documents, folder, embedder: MemoryRetriever(documents, embedder),
    "dense": indexed("dense"),
    "bm25": indexed("bm25"),
    "fused": indexed("fused"),
    "fused memory": lambda documents, folder, embedder: FusedRetriever(
        [MemoryRetriever(documents, embedder)] * 2
    ),
    "minilm": lambda documents, folder, embedder: indexed("dense")(
        documents, folder, OnnxEmbedder()
    ),
}


@pytest.fixture(params=RETRIEVERS)
def retriever(
    request: pytest.FixtureRequest, fruit: list[Candidate], tmp_path: Path, letters: Any
) -> Retriever:
    return RETRIEVERS[request.param](fruit, tmp_path, letters)


def test_it_is_a_retriever(retriever: Retriever) -> None:
    assert isinstance(retriever, Retriever)


def test_the_best_document_comes_first(retriever: Retriever) -> None:
    assert retriever.retrieve("banana bread", 3)[0].id == "doc-banana"


def test_candidates_are_the_documents_with_a_score(
    retriever: Retriever, fruit: list[Candidate]
) -> None:
    documents = {document.id: document for document in fruit}
    for found in retriever.retrieve("apple banana cherry date elder", 10):
        assert isinstance(found, Candidate)
        assert found.text == documents[found.id].text
        assert found.metadata == documents[found.id].metadata
        assert type(found.score) is float


def test_scores_never_rise_and_ids_never_repeat(retriever: Retriever) -> None:
    found = retriever.retrieve("apple banana cherry date elder", 10)
    scores = [candidate.score or 0.0 for candidate in found]
    assert scores == sorted(scores, reverse=True)
    assert len({candidate.id for candidate in found}) == len(found) == 5


def test_a_smaller_k_gives_the_beginning_of_a_larger_one(retriever: Retriever) -> None:
    question = "apple banana cherry date elder"
    five = [candidate.id for candidate in retriever.retrieve(question, 5)]
    for k in range(1, 5):
        assert [candidate.id for candidate in retriever.retrieve(question, k)] == five[:k]


def test_a_k_beyond_the_documents_gives_all_there_are(retriever: Retriever) -> None:
    assert len(retriever.retrieve("apple banana cherry date elder", 1000)) == 5


@pytest.mark.parametrize("k", [0, -1, True, 2.0, None])
def test_a_k_below_one_is_an_input_error(retriever: Retriever, k: Any) -> None:
    with pytest.raises(InputError, match="k must be an int >= 1"):
        retriever.retrieve("banana", k)


@pytest.mark.parametrize("kind", ["memory", "dense", "fused"])
def test_a_question_vector_that_is_not_finite_ranks_nothing(
    fruit: list[Candidate], tmp_path: Path, letters: Any, kind: str
) -> None:
    retriever = RETRIEVERS[kind](fruit, tmp_path, letters)
    letters.embed_question = lambda question: letters.embed([question])[0] * float("nan")
    with pytest.raises(EmbedderError, match="letters must give finite vectors"):
        retriever.retrieve("banana", 3)


@pytest.mark.parametrize("question", ["", " \n", None])
def test_a_blank_question_is_an_input_error(retriever: Retriever, question: Any) -> None:
    with pytest.raises(InputError, match="a question must be a str with some text"):
        retriever.retrieve(question, 3)


@pytest.mark.parametrize(
    "odd", ["\ud800", "\x00", "\u202e banana", "🦜", "zero\u200bwidth", "e\u0301"]
)
def test_odd_unicode_in_a_question_does_no_harm(retriever: Retriever, odd: str) -> None:
    assert len(retriever.retrieve(odd, 3)) <= 3


def test_a_very_long_question_does_no_harm(retriever: Retriever) -> None:
    assert retriever.retrieve("banana bread " * 1000, 2)[0].id == "doc-banana"


def test_results_are_plain_json(retriever: Retriever) -> None:
    found = retriever.retrieve("banana", 3)
    rows = [{"id": c.id, "score": c.score, "metadata": c.metadata} for c in found]
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_threads_get_what_one_caller_gets(retriever: Retriever) -> None:
    questions = ["apple", "banana bread", "cherry " * 30, "date elder"] * 8
    alone = [retriever.retrieve(question, 3) for question in questions]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda question: retriever.retrieve(question, 3), questions)) == alone
