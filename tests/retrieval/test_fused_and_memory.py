from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.retrieval import FusedRetriever, MemoryRetriever
from equipoise.types import Candidate


class Listed:
    """A retriever that always finds the same list."""

    def __init__(self, *ids: str, embedding: Sequence[float] | None = None) -> None:
        self.found = [Candidate(i, f"text {i}", score=1.0, embedding=embedding) for i in ids]

    def retrieve(self, question: str, k: int) -> list[Candidate]:
        return self.found[:k]


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    fused = FusedRetriever([Listed("a", "b", "c"), Listed("b", "d")]).retrieve("?", 9)
    assert [candidate.id for candidate in fused] == ["b", "a", "d", "c"]
    expected = [1 / 62 + 1 / 61, 1 / 61, 1 / 62, 1 / 63]
    assert [candidate.score for candidate in fused] == pytest.approx(expected)


def test_ties_go_to_the_better_rank_and_then_to_the_earlier_retriever() -> None:
    fused = FusedRetriever([Listed("a", "x"), Listed("y", "x")], rank_constant=0)
    found = fused.retrieve("?", 3)
    assert [candidate.score for candidate in found] == [1.0, 1.0, 1.0]
    assert [candidate.id for candidate in found] == ["a", "y", "x"]


def test_depth_limits_what_is_read_but_never_below_k() -> None:
    lists = [Listed("a", "b", "c"), Listed("c")]
    assert [c.id for c in FusedRetriever(lists, depth=1).retrieve("?", 1)] == ["a"]
    assert [c.id for c in FusedRetriever(lists, depth=3).retrieve("?", 1)] == ["c"]
    assert len(FusedRetriever(lists, depth=1).retrieve("?", 3)) == 3


def test_an_embedding_is_taken_from_whichever_list_has_one() -> None:
    (fused,) = FusedRetriever([Listed("a"), Listed("a", embedding=(1.0, 0.0))]).retrieve("?", 1)
    assert fused.embedding == (1.0, 0.0)


def test_nothing_to_fuse_is_an_input_error() -> None:
    with pytest.raises(InputError, match="at least one retriever"):
        FusedRetriever([])
    with pytest.raises(InputError, match="depth >= 1, got 60 and 0"):
        FusedRetriever([Listed("a")], depth=0)


@given(
    st.lists(st.lists(st.sampled_from("abcdef"), unique=True, max_size=6), min_size=1, max_size=4)
)
def test_fusing_agrees_with_the_formula(lists: list[list[str]]) -> None:
    fused = FusedRetriever([Listed(*ids) for ids in lists]).retrieve("?", 6)
    formula = {
        i: sum(1 / (60 + ids.index(i) + 1) for ids in lists if i in ids)
        for i in {i for ids in lists for i in ids}
    }
    assert {candidate.id: candidate.score for candidate in fused} == pytest.approx(formula)
    scores = [candidate.score or 0.0 for candidate in fused]
    assert scores == sorted(scores, reverse=True)


def test_memory_scores_are_cosines_by_hand(letters: Any) -> None:
    documents = [Candidate("same", "ab"), Candidate("half", "a"), Candidate("none", "z")]
    found = MemoryRetriever(documents, letters).retrieve("ab", 3)
    assert [candidate.id for candidate in found] == ["same", "half", "none"]
    assert [candidate.score for candidate in found] == pytest.approx([1.0, 0.5**0.5, 0.0], abs=0.03)


def test_memory_of_nothing_finds_nothing(letters: Any) -> None:
    assert MemoryRetriever([], letters).retrieve("anything", 3) == ()


def test_blank_candidates_are_never_retrieved(letters: Any) -> None:
    documents = [Candidate("a", ""), Candidate("b", " \n"), Candidate("c", "text")]
    found = MemoryRetriever(documents, letters).retrieve("text", 9)
    assert [candidate.id for candidate in found] == ["c"]
    assert letters.embedded == ["text", "text"]


def test_memory_ties_keep_the_order_given(letters: Any) -> None:
    documents = [Candidate(str(i), "the same text") for i in range(30)]
    found = MemoryRetriever(documents, letters).retrieve("text", 7)
    assert [candidate.id for candidate in found] == [str(i) for i in range(7)]


def test_memory_gives_embeddings_on_request(letters: Any) -> None:
    retriever = MemoryRetriever([Candidate("a", "aa")], letters, embeddings=True)
    embedding = retriever.retrieve("a", 1)[0].embedding
    assert embedding == pytest.approx(letters.embed(["aa"])[0].tolist())


def test_memory_refuses_equal_ids(letters: Any) -> None:
    with pytest.raises(InputError, match="ids that all differ"):
        MemoryRetriever([Candidate("a", "x"), Candidate("a", "y")], letters)
