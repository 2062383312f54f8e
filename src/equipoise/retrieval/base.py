"""What an embedder is, how two retrievers become one, and small checks. Standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from equipoise.errors import InputError
from equipoise.types import Candidate, Retriever

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Chinese, Japanese and Korean characters, for use inside a regular expression's brackets: scripts
# in which white space does not part the words.
CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff"


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors whose inner product is their cosine similarity."""

    @property
    def name(self) -> str:
        """Identity of model and settings: an index remembers it and refuses any other."""
        ...

    @property
    def dimension(self) -> int:
        """Length d of every vector, >= 1."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Array (n, d), float32, one row a text in order, each row of Euclidean length 1.

        Raises:
            EmbedderError: the model could not answer. Never a zero row in its place.
        """
        ...

    def embed_question(self, question: str) -> NDArray[np.float32]:
        """Array (d,), float32, length 1. Models that mark questions do it here."""
        ...


def require_question(question: str, k: int) -> None:
    """Nothing, when `question` has text and `k` is an int >= 1.

    Raises:
        InputError: the question is not a str or is blank, or k is not an int >= 1.
    """
    if not isinstance(question, str) or not question.strip():
        raise InputError(f"a question must be a str with some text in it, got {question!r}")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError(f"k must be an int >= 1, got {k!r}")


def readable(text: str) -> str:
    r"""`text` with lone surrogates replaced by "?", which tokenizers and UTF-8 cannot carry.

    >>> readable("a\ud800b")
    'a?b'
    """
    return text.encode("utf-8", "replace").decode("utf-8")


class FusedRetriever:
    """Several retrievers read as one, by reciprocal rank fusion.

    A document's score is the sum over the lists it stands in of 1 / (rank_constant + rank), ranks
    from 1. Only ranks count, so cosines and BM25 scores need no common scale. Ties go to the
    better single rank, then to the earlier retriever. Cost O(r * depth) after the r retrievals.
    Do not use it where one retriever is much the better: its order is diluted.

    `depth` is how many candidates, >= 1, are read from each list (or `k`, where that is more).

    Raises:
        InputError: no retrievers, rank_constant < 0, or depth < 1.

    Source: Cormack, Clarke and Buettcher 2009, "Reciprocal rank fusion outperforms Condorcet and
    individual rank learning methods" (k = 60, here called rank_constant).
    """

    def __init__(
        self, retrievers: Sequence[Retriever], *, rank_constant: int = 60, depth: int = 100
    ) -> None:
        if not retrievers:
            raise InputError("a FusedRetriever needs at least one retriever, got none")
        if rank_constant < 0 or depth < 1:
            raise InputError(
                f"rank_constant must be >= 0 and depth >= 1, got {rank_constant} and {depth}"
            )
        self._retrievers = tuple(retrievers)
        self._rank_constant = rank_constant
        self._depth = depth

    def retrieve(self, question: str, k: int) -> tuple[Candidate, ...]:
        """At most `k` candidates, best first; `score` is in (0, r / (rank_constant + 1)].

        Documents are the same when their ids are; text, metadata and embedding come from the
        first list that has the document, the embedding from the first that has one.

        Raises:
            InputError: the question is blank or k < 1.
        """
        require_question(question, k)
        found: dict[str, Candidate] = {}
        scores: dict[str, float] = {}
        best: dict[str, int] = {}
        for retriever in self._retrievers:
            for rank, candidate in enumerate(retriever.retrieve(question, max(k, self._depth)), 1):
                key = candidate.id
                first = found.setdefault(key, candidate)
                if first.embedding is None and candidate.embedding is not None:
                    found[key] = replace(first, embedding=candidate.embedding)
                scores[key] = scores.get(key, 0.0) + 1.0 / (self._rank_constant + rank)
                best[key] = min(best.get(key, rank), rank)
        order = sorted(found, key=lambda key: (-scores[key], best[key]))
        return tuple(replace(found[key], score=scores[key]) for key in order[:k])
