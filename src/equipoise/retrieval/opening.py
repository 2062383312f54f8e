"""From a folder or a store to a retriever."""

from os import PathLike
from pathlib import Path
from typing import Literal, get_args

from equipoise.errors import InputError, StoreError
from equipoise.registry import names
from equipoise.retrieval.base import Embedder, FusedRetriever
from equipoise.retrieval.bm25_store import Bm25Retriever
from equipoise.retrieval.embedder import load_embedder
from equipoise.retrieval.faiss_store import DenseRetriever, FaissStore
from equipoise.retrieval.manifest import read_manifest
from equipoise.retrieval.store import StoreRetriever, open_store
from equipoise.types import Retriever

Mode = Literal["dense", "bm25", "fused"]


def open_retriever(
    path: str | Path,
    *,
    mode: Mode = "dense",
    embedder: Embedder | None = None,
    embeddings: bool = False,
) -> Retriever:
    """A retriever over the index folder `path`, or over the store whose URL it is (`open_store`).

    "dense" ranks by cosine, "bm25" by shared words (and loads no model), "fused" by both.
    `embedder` defaults to the model the index was built with, where that can be loaded by name.
    With `embeddings`, candidates found by the dense part carry their vectors. A store has no words:
    it takes "dense" only, and is open as long as the process.

    Raises:
        InputError: another mode, or `path` is no path and no URL of a store.
        StoreError: no index there, a damaged one, one of another model, or one whose model
            cannot be loaded by name.
        MissingExtraError: a library that the mode needs is not installed.
    """
    if mode not in get_args(Mode):
        raise InputError(f"mode must be one of {get_args(Mode)}, got {mode!r}")
    if not isinstance(path, str | PathLike):
        raise InputError(f"an index must be the path of a folder, got {type(path).__name__}")
    if is_store_url(path):
        return _over_store(str(path), mode, embedder, embeddings=embeddings)
    if mode == "bm25":
        return Bm25Retriever.open(path)
    embedder = embedder or remembered_embedder(path, read_manifest(Path(path)).embedder)
    store = FaissStore.open(path, embedder)
    dense = DenseRetriever(store, embedder, embeddings=embeddings)
    if mode == "dense":
        return dense
    return FusedRetriever([dense, Bm25Retriever.open(path, passages=store.passages)])


def is_store_url(path: object) -> bool:
    """True for a text such as "milvus:corpus.db", whose scheme is that of a store.

    >>> is_store_url("postgresql://host/db/passages"), is_store_url("my-index")
    (True, False)
    """
    if not isinstance(path, str) or ":" not in path:
        return False
    scheme = path.partition(":")[0].partition("+")[0]
    return scheme in (*names("store"), "postgres")


def _over_store(
    url: str, mode: Mode, embedder: Embedder | None, *, embeddings: bool
) -> StoreRetriever:
    if mode != "dense":
        raise InputError(f'a store is searched by vectors only: mode must be "dense", got {mode!r}')
    store = open_store(url, embedder=embedder)
    try:
        used = embedder or remembered_embedder(store.name, store.embedder)
        return StoreRetriever(store, used, embeddings=embeddings)
    except BaseException:
        store.close()
        raise


def remembered_embedder(path: str | Path, name: str) -> Embedder:
    """The model `name`, which the index or store at `path` says it was made with.

    Raises:
        StoreError: it cannot be loaded by that name.
    """
    try:
        return load_embedder(name)
    except InputError as error:
        raise StoreError(
            f"{path} was built with the model {name!r}, which cannot be loaded by that name "
            f"({error}). Load it yourself and pass it as embedder=..."
        ) from error
