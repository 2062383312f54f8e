"""One protocol for vector stores, and retrieval from any of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from equipoise.errors import InputError, StoreError
from equipoise.registry import names, resolve
from equipoise.retrieval.base import Embedder, require_question
from equipoise.retrieval.where import Where
from equipoise.types import Candidate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Filter = Where | Mapping[str, Any]


@runtime_checkable
class VectorStore(Protocol):
    """Passages with vectors of length 1, found by cosine. Safe to share between threads.

    Every store gives the same ids in the same order for the same vectors: scores are computed
    again from the stored vectors in double precision, ties go by id. A call raises
    `StoreUnavailableError` where the server is away, and may be made again: all are idempotent.
    """

    @property
    def name(self) -> str:
        """Which store this is, as `open_store` takes it, without user and password."""
        ...

    @property
    def embedder(self) -> str:
        """The name of the model that the vectors come from."""
        ...

    @property
    def dimension(self) -> int:
        """Length d of every vector, >= 1."""
        ...

    def __len__(self) -> int:
        """Number of passages."""
        ...

    def upsert(self, passages: Sequence[Candidate], vectors: NDArray[np.float32]) -> None:
        """Stores passages with `vectors` (n, d), which are scaled to length 1, by id.

        A passage of an id that is there already takes its place.

        Raises:
            InputError: an id that is not 1 to 512 bytes, an id twice, not one vector a passage.
            EmbedderError: a vector of another length, not finite, or zero.
        """
        ...

    def get(self, ids: Sequence[str]) -> tuple[Candidate, ...]:
        """The passages of those ids that are there, by id."""
        ...

    def search(
        self,
        vector: NDArray[np.float32],
        k: int,
        *,
        where: Filter | None = None,
        embeddings: bool = False,
    ) -> tuple[Candidate, ...]:
        """At most `k` passages nearest to `vector` (d,), nearest first, ties by id.

        `score` is the cosine, in [-1, 1]; `where` says which passages count.

        Raises:
            InputError: k < 1, or a filter that cannot be.
        """
        ...

    def scan(
        self, batch: int = 1000, *, where: Filter | None = None, embeddings: bool = False
    ) -> Iterator[Candidate]:
        """Every passage once, by id, read `batch` >= 1 at a time: memory O(batch)."""
        ...

    def flush(self) -> None:
        """Nothing, when all that was stored is kept for good and found by a new reader."""
        ...

    def close(self) -> None:
        """Lets connections go; what was stored is flushed first. Closing twice does no harm."""
        ...


class StoreRetriever:
    """Retrieves from a store by cosine between question and passages.

    `where` holds for every question. With `embeddings`, candidates carry their vectors.

    Raises:
        StoreError: the store's vectors come from another model.
    """

    def __init__(
        self,
        store: VectorStore,
        embedder: Embedder,
        *,
        where: Filter | None = None,
        embeddings: bool = False,
    ) -> None:
        require_model(store.name, store.embedder, store.dimension, embedder)
        self._store = store
        self._embedder = embedder
        self._where = Where.of(where)
        self._embeddings = embeddings

    def retrieve(self, question: str, k: int) -> tuple[Candidate, ...]:
        """At most `k` candidates, best first, ties by id; `score` is the cosine, in [-1, 1].

        Raises:
            InputError: the question is blank or k < 1.
            EmbedderError: the model could not embed the question.
            StoreUnavailableError: the store's server is away.
        """
        from equipoise.retrieval.vectors import question_vector

        require_question(question, k)
        vector = question_vector(self._embedder, question)
        return self._store.search(vector, k, where=self._where, embeddings=self._embeddings)


def require_model(store: str, model: str, dimension: int, embedder: Embedder) -> None:
    """Nothing, when the store's vectors come from this very model.

    Raises:
        StoreError: another model, or the same name with another dimension.
    """
    if (embedder.name, embedder.dimension) != (model, dimension):
        raise StoreError(
            f"{store} must be used with the model it was made with, {model!r} ({dimension} "
            f"numbers), got {embedder.name!r} ({embedder.dimension}). Use that model, or load the "
            "corpus into another store."
        )


def open_store(url: str, *, embedder: Embedder | None = None, create: bool = False) -> VectorStore:
    """The store that `url` names; with `create`, made for `embedder` where there is none.

    - "faiss:FOLDER": an index folder (extra `local`).
    - "milvus:FILE.db": Milvus Lite; "milvus+http://HOST:19530/COLLECTION" (or https): a server
      (extra `milvus`).
    - "qdrant:FOLDER": a folder of Qdrant's client, for one process; or
      "qdrant+http://HOST:6333/COLLECTION" (or https): a server, whose key is QDRANT_API_KEY (extra
      `qdrant`).
    - "postgresql://USER:PASSWORD@HOST:5432/DATABASE/TABLE": PostgreSQL with pgvector (extra
      `pgvector`); what is left out comes from libpq's own settings (PGPASSWORD, ~/.pgpass).

    With `embedder`, the store's vectors are checked to come from that model.

    Raises:
        InputError: another kind of store, or a URL without a needed part.
        StoreError: no store there (and no `create`), or one of another model.
        StoreUnavailableError: the server cannot be reached.
        MissingExtraError: the store's library is not installed.
    """
    if not isinstance(url, str):
        raise InputError(f"a store must be named by a str, got {type(url).__name__}")
    scheme = url.partition(":")[0]
    kind = "postgresql" if scheme == "postgres" else scheme.partition("+")[0]
    # Subtle: only the scheme is told in a message, for the rest may hold a password.
    if ":" not in url or kind not in names("store"):
        raise InputError(
            f"a store must be one of {', '.join(names('store'))}, such as faiss:FOLDER, "
            "milvus:FILE.db, qdrant:FOLDER or postgresql://HOST/DATABASE/TABLE, got the scheme "
            f"{scheme[:40]!r}"
        )
    if create and embedder is None:
        raise InputError("a store is made for a model: give embedder=... with create=True")
    store: VectorStore = resolve("store", kind).open(url, embedder=embedder, create=create)
    if embedder is not None:
        try:
            require_model(store.name, store.embedder, store.dimension, embedder)
        except StoreError:
            store.close()
            raise
    return store
