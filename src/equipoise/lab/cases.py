"""Questions with what is retrieved for them: a corpus in, a `Case` a question out."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import InputError
from equipoise.lab.defences.base import Case
from equipoise.lab.labels import Labels
from equipoise.lab.pack import Document, Pack, Question
from equipoise.lab.vectors import Progress, VectorCache
from equipoise.retrieval.vectors import best_rows
from equipoise.types import Candidate

DEPTH = 50
"""Documents retrieved for a question. Source: SP 3.4."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents of one experiment: a pack's clean ones, and what an attacker planted.

    `name` is what tables print; `about` says how the planted ones were made (the manifest).

    Raises:
        InputError: an id is used twice, in all.
    """

    name: str
    clean: tuple[Document, ...]
    planted: tuple[Document, ...] = ()
    about: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for document in (*self.clean, *self.planted):
            if document.id in seen:
                raise InputError(
                    f"ids must be unique in a corpus, and {document.id!r} is twice in {self.name!r}"
                )
            seen.add(document.id)

    @property
    def planted_ids(self) -> frozenset[str]:
        """Ids of the planted documents."""
        return frozenset(document.id for document in self.planted)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the documents retrieved for it, best first, and what a defence sees of them.

    `documents` run beside `case.candidates`; they hold the truth, which no defence is given.
    """

    question: Question
    documents: tuple[Document, ...]
    case: Case


class Retrieval:
    """Exact search by cosine over one corpus, for every question of a pack.

    Cosines are computed in float64 and rounded to 9 decimals, so that equal texts tie exactly, a
    document has one score whatever stands beside it, and ties go by document id. Blank documents
    are never retrieved. Cost O(questions * documents * d), once.

    Args:
        pack: its questions are asked.
        corpus: is searched.
        vectors: embeds both; what it knows costs nothing.
        depth: documents a question, >= 1; fewer where the corpus has fewer.
        progress: is told how many documents have their vectors.

    Raises:
        InputError: `depth` < 1.
        EmbedderError: a text could not be embedded.
    """

    def __init__(
        self,
        pack: Pack,
        corpus: Corpus,
        vectors: VectorCache,
        *,
        depth: int = DEPTH,
        progress: Progress | None = None,
    ) -> None:
        if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
            raise InputError(f"depth must be an int >= 1, got {depth!r}")
        found = (d for d in (*corpus.clean, *corpus.planted) if d.text.strip())
        self._documents = sorted(found, key=lambda document: document.id)
        self._questions = pack.questions
        self._depth = depth
        rows = vectors.texts([document.text for document in self._documents], progress=progress)
        asked = vectors.questions([question.text for question in pack.questions])
        self._vectors = rows
        self._cosines = _cosines(asked, rows)

    def ask(self, labels: Labels) -> Iterator[Asked]:
        """The questions in the pack's order, with labels that are read lazily."""
        for number, question in enumerate(self._questions):
            yield self.ask_one(number, question, labels)

    def ask_one(self, number: int, question: Question, labels: Labels) -> Asked:
        """One question: the `number`-th, from 0, of the pack."""
        cosines = self._cosines[number]
        best = best_rows(cosines, self._depth)
        documents = tuple(self._documents[row] for row in best)
        candidates = tuple(
            Candidate(
                opaque(document.id),
                document.text,
                score=float(cosines[row]),
                embedding=self._vectors[row].tolist(),
            )
            for row, document in zip(best, documents, strict=True)
        )
        scores = labels.scores(question, documents)
        return Asked(question, documents, Case(question.text, candidates, scores))


def opaque(document_id: str) -> str:
    """An id that tells nothing: ids of packs may say what was planted.

    >>> opaque("zoos-injected-pro-1")
    '58a8bdab24a9'
    """
    return hashlib.sha256(document_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _cosines(questions: NDArray[Any], documents: NDArray[Any]) -> NDArray[Any]:
    """Array (q, n), float64, in [-1, 1]: rows of length 1 multiplied and rounded."""
    wide = (_unit(questions), _unit(documents))
    return np.asarray(np.round(wide[0] @ wide[1].T, 9).clip(-1.0, 1.0))


def _unit(rows: NDArray[Any]) -> NDArray[Any]:
    """`rows` (n, d) as float64 of length 1: float32 rows are so to 7 digits only."""
    wide = np.asarray(rows, dtype=np.float64)
    return np.asarray(wide / np.linalg.norm(wide, axis=1, keepdims=True))
