"""An index folder, as `equipoise index` writes it, as a vector store."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise._extras import require
from equipoise.errors import InputError, StoreError
from equipoise.retrieval.base import Embedder
from equipoise.retrieval.bm25_store import write_bm25
from equipoise.retrieval.build import write_vectors
from equipoise.retrieval.chunking import CHUNK_WORDS
from equipoise.retrieval.exact import Hits, best, checked_question, checked_rows, stored_form
from equipoise.retrieval.faiss_store import FaissStore
from equipoise.retrieval.manifest import (
    BM25,
    MANIFEST,
    PASSAGES,
    Manifest,
    checksums,
    package_version,
    read_manifest,
    write_manifest,
)
from equipoise.retrieval.passages import document_id, passage_line
from equipoise.retrieval.store import Filter
from equipoise.retrieval.store_base import StoreBase, missing, require_batch
from equipoise.retrieval.swapping import followed, swap_in, work_folder, writing
from equipoise.retrieval.where import Where
from equipoise.types import Candidate

_FEWEST = 4_096


class FolderStore(StoreBase):
    """A `VectorStore` in an index folder: FAISS vectors beside the passages, all on this machine.

    What is stored is held in memory, and the folder written anew and swapped in whole by `flush`,
    by the first reading after it, and whenever half as much again as the folder holds has come (at
    least 4,096 passages): O(n) disk traffic in all. A killed process loses what came since. Search
    is exact, O(n * d). `open` is the way to get one.
    """

    def __init__(self, path: Path, base: FaissStore | None, embedder: str, dimension: int) -> None:
        super().__init__(f"faiss:{path}", embedder=embedder, dimension=dimension)
        self.path = path
        self._lock = threading.RLock()
        self._pending: dict[str, tuple[Candidate, NDArray[np.float32]]] = {}
        self._take(base)

    @classmethod
    def open(
        cls, url: str, *, embedder: Embedder | None = None, create: bool = False
    ) -> FolderStore:
        """The store in the folder that `url`, "faiss:FOLDER", names; see `open_store`."""
        name = url.partition(":")[2]
        if not name:
            raise InputError("a FAISS store must be faiss:FOLDER, got no folder")
        require("faiss", extra="local")
        path = followed(Path(name))
        if (path / MANIFEST).exists():
            base = FaissStore.open(path)
            return cls(path, base, base.manifest.embedder, base.manifest.dimension)
        if not create or embedder is None:
            raise missing(url)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise StoreError(f"{path} must be an index folder or not be there. Give another.")
        return cls(path, None, embedder.name, embedder.dimension)

    def __len__(self) -> int:
        """Number of passages, those not written yet included."""
        with self._lock:
            return len(self._places) + sum(key not in self._places for key in self._pending)

    def upsert(self, passages: Sequence[Candidate], vectors: NDArray[np.float32]) -> None:
        """Stores passages by id."""
        kept, rows = checked_rows(
            passages, vectors, dimension=self._dimension, made_by=self._embedder
        )
        with self._lock:
            self._pending.update(
                (passage.id, (passage, row)) for passage, row in zip(kept, rows, strict=True)
            )
            if len(self._pending) >= max(_FEWEST, len(self._places) // 2):
                self.flush()

    def get(self, ids: Sequence[str]) -> tuple[Candidate, ...]:
        """The passages of those ids that are there, by id."""
        with self._lock:
            found = []
            for key in sorted(set(ids)):
                if key in self._pending:
                    found.append(self._pending[key][0])
                elif key in self._places:
                    found.append(self._passage(self._places[key]))
            return tuple(found)

    def search(
        self,
        vector: NDArray[np.float32],
        k: int,
        *,
        where: Filter | None = None,
        embeddings: bool = False,
    ) -> tuple[Candidate, ...]:
        """At most `k` passages nearest to `vector` (d,), nearest first, ties by id."""
        question = checked_question(vector, k, dimension=self._dimension)
        wanted = Where.of(where)
        self.flush()
        with self._lock:
            base = self._base
            if base is None:
                return ()

            def nearest(count: int) -> Hits:
                places = [i for i, _ in base.search(question.astype(np.float32), count)]
                return [self._passage(i) for i in places], self._vectors(places)

            return best(
                question,
                k,
                wanted,
                nearest=nearest,
                scan=lambda: (),
                # Subtle: asked for more than there are, the index gives all, and the search ends.
                most=4 * (len(base) + k + 100),
                embeddings=embeddings,
            )

    def scan(
        self, batch: int = 1000, *, where: Filter | None = None, embeddings: bool = False
    ) -> Iterator[Candidate]:
        """Every passage once, by id; a change meanwhile is an error.

        Raises:
            StoreError: something was stored since the scan began.
        """
        require_batch(batch)
        wanted = Where.of(where)
        self.flush()
        places = self._places
        order = sorted(places)
        for start in range(0, len(order), batch):
            with self._lock:
                if places is not self._places or self._pending:
                    raise StoreError(f"{self.name} was changed while it was read. Read it again.")
                keys = order[start : start + batch]
                page = [self._passage(places[key]) for key in keys]
                if embeddings:
                    rows = self._vectors([places[key] for key in keys])
                    page = [
                        replace(passage, embedding=row.tolist())
                        for passage, row in zip(page, rows, strict=True)
                    ]
            yield from (passage for passage in page if wanted.matches(passage.metadata))

    def flush(self) -> None:
        """Writes the folder with all that was stored.

        Raises:
            StoreError: it cannot be written, or another process changed it meanwhile.
        """
        with self._lock:
            if not self._pending:
                return
            before = self._base.manifest if self._base else None
            with work_folder(self.path) as work:
                with writing(work):
                    self._write(work)
                now = read_manifest(self.path) if (self.path / MANIFEST).exists() else None
                if now != before:
                    raise StoreError(
                        f"{self.path} was changed by another process meanwhile. Run this again."
                    )
                with writing(self.path):
                    swap_in(work, self.path)
            self._pending = {}
            self._take(FaissStore.open(self.path))

    def close(self) -> None:
        """Writes what is not written yet."""
        self.flush()

    def _take(self, base: FaissStore | None) -> None:
        self._base = base
        ids = () if base is None else (passage.id for passage in base.passages)
        self._places = MappingProxyType({key: place for place, key in enumerate(ids)})

    def _passage(self, place: int) -> Candidate:
        assert self._base is not None  # a place is one of the base
        return stored_form(self._base.passages[place])

    def _vectors(self, places: Sequence[int]) -> NDArray[np.float32]:
        assert self._base is not None
        rows = [self._base.vector(place) for place in places]
        return np.asarray(rows, dtype=np.float32).reshape(-1, self._dimension)

    def _write(self, work: Path) -> None:
        """The whole folder: what it held in its order, replaced where that was asked, then more."""
        faiss = require("faiss", extra="local")
        index: Any = faiss.IndexFlatIP(self._dimension)
        documents = set()
        texts = []
        has_bm25 = self._base is not None and self._base.manifest.has_bm25
        with (work / PASSAGES).open("wb") as file:
            for passage, row in self._all():
                file.write(passage_line(passage))
                index.add(row[None, :])
                documents.add(document_id(passage.id, passage.metadata))
                if has_bm25:
                    texts.append(passage.text)
        write_vectors(work, index)
        if has_bm25:
            write_bm25(texts, work / BM25)
        chunk_words = CHUNK_WORDS if self._base is None else self._base.manifest.chunk_words
        manifest = Manifest(
            self._embedder,
            self._dimension,
            len(documents),
            index.ntotal,
            chunk_words,
            checksums(work),
            created_with=package_version(),
        )
        write_manifest(work, manifest)

    def _all(self) -> Iterator[tuple[Candidate, NDArray[np.float32]]]:
        for key, place in self._places.items():
            if key in self._pending:
                yield self._pending[key]
            else:
                assert self._base is not None
                yield self._base.passages[place], self._vectors([place])[0]
        yield from (row for key, row in self._pending.items() if key not in self._places)
