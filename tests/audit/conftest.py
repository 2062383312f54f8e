"""Toy passages, made by hand, and an embedder that puts texts by their first word."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from equipoise.audit import Audit, Audited, Passage, Question, Settings
from equipoise.types import Stance

LEANS = {"pro": 0.9, "con": -0.9, "neutral": 0.0}


def passage(stance: str, number: int, **more: object) -> Passage:
    values = {
        "id": f"{stance}-{number}",
        "digest": f"{stance}-{number}",
        "stance": Stance(stance),
        "lean": LEANS[stance],
        "score": 0.5,
        "family": number,
        **more,
    }
    return Passage(**values)  # type: ignore[arg-type]


@pytest.fixture
def passages() -> Callable[..., list[Passage]]:
    """`passages("pro con", start=1, source="a")`: one family each, ranks from `start`."""

    def make(stances: str, *, start: int = 1, **more: object) -> list[Passage]:
        names = stances.split()
        return [passage(name, number, **more) for number, name in enumerate(names, start)]

    return make


@pytest.fixture
def audit_of() -> Callable[..., Audit]:
    """An audit, not yet judged, of lists of passages: a question each."""

    def make(*lists: Sequence[Passage], date: str = "now", **settings: object) -> Audit:
        questions = tuple(
            Audited(Question(str(n), f"Question {n}?"), tuple(one)) for n, one in enumerate(lists)
        )
        return Audit("toy", "fake", date, Settings(**settings), questions)  # type: ignore[arg-type]

    return make


class FirstWord:
    """Texts of one first word lie close together: cosine 1 less a little for their length."""

    name = "first-word"
    dimension = 8
    words = ("zoos", "cars", "tea")

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            first = text.lower().split()[0].strip("?.,")
            row[self.words.index(first) if first in self.words else 6] = 1.0
            row[7] = 0.001 * len(text)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def embed_question(self, question: str) -> np.ndarray:
        return self.embed([question])[0]


@pytest.fixture
def first_word() -> FirstWord:
    return FirstWord()
