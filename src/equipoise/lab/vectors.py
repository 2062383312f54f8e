"""Vectors kept on disk by content: a text is embedded once, whatever corpus it stands in.

FOLDER/<digest of the embedder's name>/<token>.npy    rows of (key, vector), read through a map

A file is written beside its place and renamed, so a stop leaves whole files only; what was embedded
in the batches before it is kept. Small files are joined at the end of a call.
"""

import hashlib
import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import StoreError
from equipoise.retrieval.base import Embedder
from equipoise.retrieval.vectors import normalized, question_vector

Progress = Callable[[int, int], None]
"""Is told how many texts have their vectors, and how many there are."""

BATCH = 256
"""Texts between two writes, >= 1: what a stop can cost."""


class VectorCache:
    """An embedder's vectors, remembered in memory and, with a folder, on disk.

    The key is the SHA-256 of the embedder's name, the use (text or question) and the text. Several
    processes may use one folder: each writes files of its own, and what two of them embed at the
    same time is only there twice. Do not use it for texts that never come again.

    Args:
        embedder: gives rows of length 1.
        folder: where files are kept (made when first needed); None keeps nothing.
        batch: texts between two writes, >= 1.

    `embedded` counts the texts that went to the embedder.

    Raises:
        StoreError: the folder cannot be read or written, or a file in it is damaged.

    Source: ours.
    """

    def __init__(
        self, embedder: Embedder, folder: Path | None = None, *, batch: int = BATCH
    ) -> None:
        self.embedder = embedder
        self.embedded = 0
        self._batch = batch
        digest = hashlib.sha256(embedder.name.encode()).hexdigest()
        self._folder = None if folder is None else folder / digest[:16]
        self._row = np.dtype([("key", "V32"), ("vector", "<f4", (embedder.dimension,))])
        self._known: dict[bytes, NDArray[np.float32]] = {}
        self._files: list[Path] = []
        if self._folder is not None:
            self._read(self._folder)

    @property
    def name(self) -> str:
        """The embedder's name."""
        return self.embedder.name

    def texts(self, texts: Sequence[str], *, progress: Progress | None = None) -> NDArray[Any]:
        """Array (n, d), float32, rows of length 1, in the order of `texts`.

        Raises:
            EmbedderError: the model could not embed a text.
            StoreError: new vectors cannot be written.
        """
        return self._rows("text", texts, self._embed, progress)

    def questions(self, questions: Sequence[str]) -> NDArray[Any]:
        """Array (n, d), float32, rows of length 1: questions, which some models mark."""
        return self._rows("question", questions, self._embed_questions, None)

    def _rows(
        self,
        use: str,
        texts: Sequence[str],
        embed: Callable[[Sequence[str]], NDArray[np.float32]],
        progress: Progress | None,
    ) -> NDArray[Any]:
        keys = [self._key(use, text) for text in texts]
        pairs = zip(keys, texts, strict=True)
        missing = [(key, text) for key, text in dict(pairs).items() if key not in self._known]
        for start in range(0, len(missing), self._batch):
            part = missing[start : start + self._batch]
            vectors = embed([text for _, text in part])
            self.embedded += len(part)
            self._keep([key for key, _ in part], vectors)
            if progress is not None:
                progress(len(texts) - len(missing) + start + len(part), len(texts))
        if len(self._files) > 1:
            self._join()
        rows = np.empty((len(keys), self.embedder.dimension), dtype=np.float32)
        for row, key in zip(rows, keys, strict=True):
            row[:] = self._known[key]
        return rows

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = self.embedder.embed(texts)
        return normalized(rows, made_by=self.name, dimension=self.embedder.dimension)

    def _embed_questions(self, questions: Sequence[str]) -> NDArray[np.float32]:
        return np.array([question_vector(self.embedder, question) for question in questions])

    def _key(self, use: str, text: str) -> bytes:
        # Lengths first, so that no two triples run together; surrogates pass, for they may come in.
        parts = [part.encode("utf-8", "surrogatepass") for part in (self.name, use, text)]
        return hashlib.sha256(b"".join(b"%d:%b" % (len(part), part) for part in parts)).digest()

    def _keep(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        self._known.update(zip(keys, vectors, strict=True))
        if self._folder is not None:
            rows = np.empty(len(keys), dtype=self._row)
            rows["key"] = np.array(keys, dtype="V32")
            rows["vector"] = vectors
            self._files.append(self._write(self._folder, rows))

    def _write(self, folder: Path, rows: NDArray[Any]) -> Path:
        path = folder / f"{secrets.token_hex(8)}.npy"
        beside = path.with_suffix(".part")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with beside.open("wb") as file:
                np.save(file, rows)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except OSError as error:
            raise StoreError(f"vectors cannot be written in {folder}: {error}") from error
        return path

    def _read(self, folder: Path) -> None:
        for path in sorted(folder.glob("*.npy")):
            # Another process may have joined it into a new file since it was listed.
            with suppress(FileNotFoundError):
                self._read_one(path)

    def _read_one(self, path: Path) -> None:
        try:
            rows = np.load(path, mmap_mode="r")
        except FileNotFoundError:
            raise
        except (OSError, ValueError, EOFError) as error:
            raise StoreError(f"{path} must be a file of vectors ({error}): delete it") from error
        if rows.dtype != self._row or rows.ndim != 1:
            raise StoreError(
                f"{path} must hold vectors of {self._row['vector'].shape[0]} numbers, got "
                f"{rows.dtype}: delete it"
            )
        vectors = rows["vector"].view(np.ndarray)
        lengths = np.einsum("nd,nd->n", vectors, vectors)
        if not np.all(np.abs(lengths - 1.0) < 1e-3):  # NaN too
            raise StoreError(f"{path} must hold vectors of length 1, and is damaged: delete it")
        self._files.append(path)
        self._known.update(zip(map(bytes, rows["key"].tolist()), vectors, strict=True))

    def _join(self) -> None:
        """One file in place of many. Subtle: the new one stands before the old ones go."""
        assert self._folder is not None
        rows = np.empty(len(self._known), dtype=self._row)
        rows["key"] = np.array(list(self._known), dtype="V32")
        rows["vector"] = np.array(list(self._known.values()))
        joined = self._write(self._folder, rows)
        for path in self._files:
            with suppress(OSError):  # gone already, or in another process's hands
                path.unlink()
        self._files = []
        self._known = {}
        self._read_one(joined)
