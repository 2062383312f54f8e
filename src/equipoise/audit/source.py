"""What is audited: a retriever, all its passages, and a name for what it holds."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from equipoise.retrieval import Embedder, FaissStore, load_embedder, open_retriever
from equipoise.retrieval.manifest import PASSAGES, VECTORS, read_manifest
from equipoise.retrieval.opening import Mode
from equipoise.types import Candidate, Retriever


@dataclass(frozen=True, slots=True)
class Source:
    """A corpus opened for an audit. `identity` changes whenever its passages or vectors do."""

    retriever: Retriever
    identity: str
    embedder: Embedder
    chunk_words: int
    path: Path

    def passages(self) -> Iterator[Candidate]:
        """Every passage, with its vector."""
        store = FaissStore.open(self.path, self.embedder)
        for index, passage in enumerate(store.passages):
            yield replace(passage, embedding=store.vector(index))


def open_source(index: str | Path, *, mode: Mode = "dense") -> Source:
    """The index folder `index`, opened. The one place that knows what can be audited.

    Raises:
        StoreError: no index there, a damaged one, or one whose model cannot be loaded by name.
        InputError: another mode.
        MissingExtraError: a library that the mode needs is not installed.
    """
    folder = Path(index)
    manifest = read_manifest(folder)
    embedder = load_embedder(manifest.embedder)
    retriever = open_retriever(folder, mode=mode, embedder=embedder, embeddings=True)
    digest = f"{manifest.files[PASSAGES][:12]}-{manifest.files[VECTORS][:12]}"
    identity = f"{folder.name} ({manifest.passages} passages, {digest}, {mode})"
    return Source(retriever, identity, embedder, manifest.chunk_words, folder)
