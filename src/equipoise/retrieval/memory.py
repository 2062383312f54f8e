"""A retriever over candidates in memory, with numpy alone."""

from collections.abc import Sequence
from dataclasses import replace

from equipoise.errors import InputError
from equipoise.retrieval.base import Embedder, require_question
from equipoise.retrieval.vectors import best_rows, normalized, question_vector
from equipoise.types import Candidate


class MemoryRetriever:
    """Retrieves by cosine among a few thousand `candidates`, embedded once at the start.

    Blank candidates are never retrieved. With `embeddings`, candidates carry their vectors.
    Cost O(n * d) a question.

    Raises:
        InputError: two candidates have one id.
        EmbedderError: the model could not embed a text.
    """

    def __init__(
        self, candidates: Sequence[Candidate], embedder: Embedder, *, embeddings: bool = False
    ) -> None:
        self._candidates = tuple(c for c in candidates if not c.is_blank)
        ids = {candidate.id for candidate in self._candidates}
        if len(ids) < len(self._candidates):
            raise InputError("the candidates of a MemoryRetriever must have ids that all differ")
        self._embedder = embedder
        self._embeddings = embeddings
        self._vectors = normalized(
            embedder.embed([candidate.text for candidate in self._candidates]),
            made_by=embedder.name,
            dimension=embedder.dimension,
        )

    def retrieve(self, question: str, k: int) -> tuple[Candidate, ...]:
        """At most `k` candidates, best first; `score` is the cosine, in [-1, 1].

        Raises:
            InputError: the question is blank or k < 1.
            EmbedderError: the model could not embed the question.
        """
        require_question(question, k)
        if not self._candidates:
            return ()
        scores = (self._vectors @ question_vector(self._embedder, question)).clip(-1.0, 1.0)
        return tuple(
            replace(
                self._candidates[i],
                score=float(scores[i]),
                embedding=self._vectors[i].tolist() if self._embeddings else None,
            )
            for i in best_rows(scores, k)
        )
