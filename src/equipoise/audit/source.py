"""What is audited: a retriever, all its passages, and a name for what it holds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from equipoise.errors import InputError
from equipoise.retrieval import Embedder, FaissStore, load_embedder, open_retriever
from equipoise.retrieval.manifest import PASSAGES, VECTORS, read_manifest
from equipoise.retrieval.opening import Mode, is_store_url, remembered_embedder
from equipoise.retrieval.store import StoreRetriever, open_store
from equipoise.types import Candidate, Retriever


@dataclass(frozen=True, slots=True)
class Source:
    """A corpus opened for an audit.

    `identity` tells corpora apart: an index folder's changes whenever its passages or vectors do, a
    store's with its name and its number of passages. `chunk_words` is how documents were cut into
    passages, None where the corpus does not say. `passages` gives every passage, with its vector.
    """

    retriever: Retriever
    identity: str
    embedder: Embedder
    chunk_words: int | None
    passages: Callable[[], Iterator[Candidate]]


def open_source(index: str | Path, *, mode: Mode = "dense") -> Source:
    """The index folder or the store `index`, opened. The one place that knows what can be audited.

    Raises:
        StoreError: no index there, a damaged one, or one whose model cannot be loaded by name.
        InputError: another mode, or one that a store does not have.
        MissingExtraError: a library that the mode needs is not installed.
    """
    return _of_store(str(index), mode) if is_store_url(index) else _of_folder(Path(index), mode)


def _of_folder(folder: Path, mode: Mode) -> Source:
    manifest = read_manifest(folder)
    embedder = load_embedder(manifest.embedder)
    retriever = open_retriever(folder, mode=mode, embedder=embedder, embeddings=True)
    digest = f"{manifest.files[PASSAGES][:12]}-{manifest.files[VECTORS][:12]}"
    identity = f"{folder.name} ({manifest.passages} passages, {digest}, {mode})"

    def passages() -> Iterator[Candidate]:
        store = FaissStore.open(folder, embedder)
        for index, passage in enumerate(store.passages):
            yield replace(passage, embedding=store.vector(index))

    return Source(retriever, identity, embedder, manifest.chunk_words, passages)


def _of_store(url: str, mode: Mode) -> Source:
    if mode != "dense":
        raise InputError(f'a store is searched by vectors only: mode must be "dense", got {mode!r}')
    store = open_store(url)
    embedder = remembered_embedder(store.name, store.embedder)
    return Source(
        StoreRetriever(store, embedder, embeddings=True),
        f"{store.name} ({len(store)} passages)",
        embedder,
        None,
        lambda: store.scan(embeddings=True),
    )
