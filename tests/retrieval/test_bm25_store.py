import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.retrieval import Bm25Retriever, EmbedderError, build_index
from equipoise.retrieval.bm25_store import tokens
from equipoise.retrieval.vectors import best_rows, normalized
from equipoise.types import Candidate

pytest.importorskip("faiss")
pytest.importorskip("bm25s")


def bm25(tmp_path: Path, texts: list[str], embedder: Any) -> Bm25Retriever:
    documents = [Candidate(str(i), text) for i, text in enumerate(texts)]
    build_index(documents, tmp_path / "ix", embedder=embedder)
    return Bm25Retriever.open(tmp_path / "ix")


def test_words_are_folded_and_cjk_goes_by_character() -> None:
    assert tokens("Straße ÉTÉ don't") == ["strasse", "été", "don", "t"]
    assert tokens("禁止 nuclear核电") == ["禁", "止", "nuclear", "核", "电"]
    assert tokens("\ud800 ... ") == []


def test_scores_are_bm25_by_hand(tmp_path: Path, letters: Any) -> None:
    texts = ["solar power", "solar solar wind", "coal"]
    found = bm25(tmp_path, texts, letters).retrieve("Solar?", 9)
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))  # Lucene's, in 2 of 3 texts
    mean_words = 6 / 3

    def score(count: int, words: int) -> float:
        return idf * count / (count + 1.5 * (1 - 0.75 + 0.75 * words / mean_words))

    assert [candidate.id for candidate in found] == ["1", "0"]
    expected = [score(2, 3), score(1, 2)]
    assert [candidate.score for candidate in found] == pytest.approx(expected, rel=1e-4)


def test_only_passages_that_share_a_word_are_found(tmp_path: Path, letters: Any) -> None:
    retriever = bm25(tmp_path, ["solar power", "coal"], letters)
    assert [candidate.id for candidate in retriever.retrieve("coal or gas", 9)] == ["1"]
    assert retriever.retrieve("unheard words", 9) == ()


def test_ties_keep_the_order_of_the_index(tmp_path: Path, letters: Any) -> None:
    retriever = bm25(tmp_path, ["same words"] * 9, letters)
    assert [candidate.id for candidate in retriever.retrieve("words", 4)] == ["0", "1", "2", "3"]


@given(st.lists(st.integers(-3, 3).map(float), max_size=12), st.integers(1, 15))
def test_best_rows_agree_with_a_full_stable_sort(values: list[float], k: int) -> None:
    order = sorted(range(len(values)), key=lambda i: -values[i])
    assert best_rows(np.array(values, dtype=np.float32), k) == order[:k]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([1.0, 2.0], r"shape \(n, d\), got \(2,\)"),
        ([[0.0, 0.0]], "text number 0 of 1"),
        ([[1.0, 0.0], [float("inf"), 1.0]], "text number 1 of 2"),
    ],
)
def test_vectors_that_cannot_be_normalized_are_refused(rows: Any, message: str) -> None:
    with pytest.raises(EmbedderError, match=message):
        normalized(rows, made_by="toy")
