"""From a folder to a retriever."""

from os import PathLike
from pathlib import Path
from typing import Literal, get_args

from equipoise.errors import InputError, StoreError
from equipoise.retrieval.base import Embedder, FusedRetriever
from equipoise.retrieval.bm25_store import Bm25Retriever
from equipoise.retrieval.embedder import load_embedder
from equipoise.retrieval.faiss_store import DenseRetriever, FaissStore
from equipoise.retrieval.manifest import read_manifest
from equipoise.types import Retriever

Mode = Literal["dense", "bm25", "fused"]


def open_retriever(
    path: str | Path,
    *,
    mode: Mode = "dense",
    embedder: Embedder | None = None,
    embeddings: bool = False,
) -> Retriever:
    """A retriever over the index folder `path`.

    "dense" ranks by cosine, "bm25" by shared words (and loads no model), "fused" by both.
    `embedder` defaults to the model the index was built with, where that can be loaded by name.
    With `embeddings`, candidates found by the dense part carry their vectors.

    Raises:
        InputError: another mode, or `path` is no path.
        StoreError: no index there, a damaged one, one of another model, or one whose model
            cannot be loaded by name.
        MissingExtraError: a library that the mode needs is not installed.
    """
    if mode not in get_args(Mode):
        raise InputError(f"mode must be one of {get_args(Mode)}, got {mode!r}")
    if not isinstance(path, str | PathLike):
        raise InputError(f"an index must be the path of a folder, got {type(path).__name__}")
    if mode == "bm25":
        return Bm25Retriever.open(path)
    embedder = embedder or _remembered_embedder(Path(path))
    store = FaissStore.open(path, embedder)
    dense = DenseRetriever(store, embedder, embeddings=embeddings)
    if mode == "dense":
        return dense
    return FusedRetriever([dense, Bm25Retriever.open(path, passages=store.passages)])


def _remembered_embedder(path: Path) -> Embedder:
    name = read_manifest(path).embedder
    try:
        return load_embedder(name)
    except InputError as error:
        raise StoreError(
            f"{path} was built with the model {name!r}, which cannot be loaded by that name "
            f"({error}). Load it yourself and pass it as embedder=..."
        ) from error
