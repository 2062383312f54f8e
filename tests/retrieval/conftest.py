"""A toy embedder that a reader can compute by hand, and toy documents."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from equipoise.types import Candidate


class LetterEmbedder:
    """Counts of the first `dimension` letters, and 0.01 more so that no row is zero."""

    def __init__(self, dimension: int = 26, name: str = "letters") -> None:
        self.name = name
        self.dimension = dimension
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += texts
        rows = np.full((len(texts), self.dimension), 0.01, dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for letter, count in Counter(text.lower()).items():
                if 0 <= ord(letter) - ord("a") < self.dimension:
                    row[ord(letter) - ord("a")] += count
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def embed_question(self, question: str) -> NDArray[np.float32]:
        return self.embed([question])[0]


@pytest.fixture
def letters() -> LetterEmbedder:
    return LetterEmbedder()


@pytest.fixture
def make_letters() -> Callable[..., LetterEmbedder]:
    return LetterEmbedder


@pytest.fixture
def fruit() -> list[Candidate]:
    """Five documents; "banana" is nearest to the letters of "banana banana" alone."""
    texts = ("apple pie", "banana bread", "cherry cake", "date flan", "elder wine")
    return [
        Candidate(f"doc-{text.split()[0]}", text, metadata={"row": i, "deep": {"list": [1, None]}})
        for i, text in enumerate(texts)
    ]
