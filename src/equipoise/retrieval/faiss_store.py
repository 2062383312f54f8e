"""An index folder opened for dense retrieval: FAISS vectors beside the passages."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise._extras import require
from equipoise.errors import StoreError
from equipoise.retrieval.base import Embedder, require_question
from equipoise.retrieval.manifest import PASSAGES, VECTORS, Manifest, read_manifest, verify
from equipoise.retrieval.passages import Passages
from equipoise.retrieval.vectors import question_vector
from equipoise.types import Candidate


def require_embedder(folder: Path, manifest: Manifest, embedder: Embedder) -> None:
    """Nothing, when the index was built with this very model.

    Raises:
        StoreError: another model, or the same name with another dimension.
    """
    if embedder.name != manifest.embedder:
        raise StoreError(
            f"{folder} must be searched with the model it was built with, {manifest.embedder!r}, "
            f"got {embedder.name!r}. Use that model, or build the index again with this one."
        )
    if embedder.dimension != manifest.dimension:
        raise StoreError(
            f"{folder} holds vectors of dimension {manifest.dimension}, and {embedder.name!r} "
            f"gives {embedder.dimension}: the model has changed since. Build the index again."
        )


class FaissStore:
    """Vectors of length 1 in a FAISS IndexFlatIP, and the passages they stand for.

    Inner products of such vectors are cosines; the search is exact, O(n * d) a question. `open`
    is the way to get one.
    """

    def __init__(self, path: Path, manifest: Manifest, passages: Passages, index: Any) -> None:
        self.path = path
        self.manifest = manifest
        self.passages = passages
        self._index = index

    @classmethod
    def open(cls, path: str | Path, embedder: Embedder | None = None) -> "FaissStore":
        """The store in the folder `path`, its files checked against their checksums.

        With `embedder`, also checked to be the model that the vectors come from.

        Raises:
            StoreError: no index there, a newer format, another model or dimension, or a file
                that is missing or changed.
            MissingExtraError: faiss-cpu is not installed.
        """
        folder = Path(path)
        manifest = read_manifest(folder)
        if embedder is not None:
            require_embedder(folder, manifest, embedder)
        verify(folder, manifest, (VECTORS, PASSAGES))
        faiss = require("faiss", extra="local")
        index = faiss.read_index(str(folder / VECTORS))
        passages = Passages(folder / PASSAGES)
        counts = {index.ntotal, len(passages), manifest.passages}
        if len(counts) > 1 or index.d != manifest.dimension:
            raise StoreError(
                f"{folder} must hold one vector of dimension {manifest.dimension} for each of "
                f"{manifest.passages} passages, and holds {index.ntotal} of dimension {index.d} "
                f"for {len(passages)}. Build the index again."
            )
        return cls(folder, manifest, passages, index)

    def __len__(self) -> int:
        """Number of passages."""
        return len(self.passages)

    def search(self, vector: NDArray[np.float32], k: int) -> list[tuple[int, float]]:
        """Index and cosine, in [-1, 1], of the `k` passages nearest to `vector` (d,).

        Nearest first, equal cosines by index; fewer than `k` when the store has fewer.
        """
        if vector.shape != (self.manifest.dimension,):
            raise StoreError(
                f"{self.path} needs a question vector of shape ({self.manifest.dimension},), got "
                f"{vector.shape}. Search with {self.manifest.embedder!r}, or build it again."
            )
        scores, indices = self._index.search(vector[None, :], min(k, len(self)))
        pairs = zip(indices[0].tolist(), scores[0].tolist(), strict=True)
        return sorted(
            ((i, max(-1.0, min(1.0, score))) for i, score in pairs), key=lambda p: (-p[1], p[0])
        )

    def vector(self, index: int) -> Sequence[float]:
        """The stored vector of one passage: d floats, length 1."""
        return tuple(self._index.reconstruct(index).tolist())


class DenseRetriever:
    """Retrieves by cosine between question and passages.

    With `embeddings`, candidates carry their vectors, which similarity-based rules read.

    Raises:
        StoreError: the store was built with another model.
    """

    def __init__(self, store: FaissStore, embedder: Embedder, *, embeddings: bool = False) -> None:
        require_embedder(store.path, store.manifest, embedder)
        self._store = store
        self._embedder = embedder
        self._embeddings = embeddings

    def retrieve(self, question: str, k: int) -> tuple[Candidate, ...]:
        """At most `k` candidates, best first; `score` is the cosine, in [-1, 1].

        Raises:
            InputError: the question is blank or k < 1.
            EmbedderError: the model could not embed the question.
        """
        require_question(question, k)
        found = self._store.search(question_vector(self._embedder, question), k)
        return tuple(
            replace(
                self._store.passages[index],
                score=score,
                embedding=self._store.vector(index) if self._embeddings else None,
            )
            for index, score in found
        )
