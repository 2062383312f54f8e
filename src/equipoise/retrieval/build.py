"""Builds an index folder, or adds to one, so that a reader sees it whole or not at all."""

import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from equipoise._extras import require
from equipoise.errors import InputError, StoreError
from equipoise.retrieval.base import Embedder
from equipoise.retrieval.bm25_store import write_bm25
from equipoise.retrieval.chunking import CHUNK_WORDS, chunk_document
from equipoise.retrieval.corpus import Corpus
from equipoise.retrieval.faiss_store import require_embedder
from equipoise.retrieval.manifest import (
    BM25,
    MANIFEST,
    PASSAGES,
    VECTORS,
    Manifest,
    checksums,
    package_version,
    read_manifest,
    verify,
    write_manifest,
)
from equipoise.retrieval.passages import Passages, document_id, passage_line
from equipoise.retrieval.swapping import followed, swap_in, work_folder, writing
from equipoise.retrieval.vectors import normalized
from equipoise.types import Candidate

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class IndexSummary:
    """What a build did: documents and passages put in, blank documents left out, seconds taken.

    `total_passages` is how many the index holds now.
    """

    documents: int
    passages: int
    blank: int
    total_passages: int
    seconds: float


def build_index(
    corpus: Iterable[Candidate],
    out: str | Path,
    *,
    embedder: Embedder,
    chunk_words: int = CHUNK_WORDS,
    bm25: bool = True,
    overwrite: bool = False,
    batch: int = 64,
    progress: Progress | None = None,
) -> IndexSummary:
    """Writes an index of `corpus` to the folder `out` and tells what went in.

    Documents of more than 1.5 * `chunk_words` words are cut into passages of about `chunk_words`.
    Passages are embedded `batch` at a time; `progress(done, total)` is called after each.

    Everything is written to a hidden folder beside `out` and renamed at the end. An exception or
    Ctrl-C removes that folder; a killed process leaves it (`.<name>.<random>.building`, to be
    deleted by hand) and leaves `out` as it was. With `overwrite` there is an instant between two
    renames in which `out` is missing, the old index then being `.<name>.<random>.old`. Where `out`
    is a symbolic link, what it leads to is replaced and the link stays.

    Raises:
        InputError: no document with text, an id used twice, chunk_words or batch < 1.
        StoreError: `out` exists (and `overwrite` is off, or it is not an index folder), or it
            cannot be written.
        EmbedderError: the model failed.
        MissingExtraError: faiss-cpu or bm25s is not installed.
    """
    out = followed(Path(out))
    _require_target(out, overwrite=overwrite)
    _require_libraries(bm25)
    start = time.monotonic()
    with work_folder(out) as work:
        documents, blank = write_passages(corpus, work, chunk_words, taken=[])
        manifest = Manifest(embedder.name, embedder.dimension, documents, 0, chunk_words, {})
        manifest = _finish(work, manifest, embedder, batch, progress, bm25=bm25)
        _require_target(out, overwrite=overwrite)
        with writing(out):
            swap_in(work, out)
    passages = manifest.passages
    return IndexSummary(documents, passages, blank, passages, time.monotonic() - start)


def add_to_index(
    corpus: Iterable[Candidate],
    path: str | Path,
    *,
    embedder: Embedder,
    batch: int = 64,
    progress: Progress | None = None,
) -> IndexSummary:
    """Adds the documents of `corpus` to the index at `path` and tells what went in.

    Chunk size and BM25 are as the index has them. The index is copied, added to and swapped in at
    the end, with the promises of `build_index`; cost O(index) in disk traffic.

    Raises:
        InputError: no document with text, or an id that is used twice or is in the index.
        StoreError: no index there, a damaged one, one of another model, one that another
            process changed meanwhile, or one that cannot be written.
        EmbedderError: the model failed.
        MissingExtraError: faiss-cpu or bm25s is not installed.
    """
    path = followed(Path(path))
    start = time.monotonic()
    before = read_manifest(path)
    require_embedder(path, before, embedder)
    verify(path, before, (PASSAGES, VECTORS))
    _require_libraries(before.has_bm25)
    with work_folder(path) as work:
        with writing(path):
            for name in (PASSAGES, VECTORS):
                shutil.copyfile(path / name, work / name)
        documents, blank = write_passages(
            corpus, work, before.chunk_words, taken=Passages(path / PASSAGES)
        )
        manifest = replace(before, documents=before.documents + documents)
        manifest = _finish(work, manifest, embedder, batch, progress, bm25=before.has_bm25)
        if read_manifest(path) != before:
            raise StoreError(f"{path} was changed by another process meanwhile. Run this again.")
        with writing(path):
            swap_in(work, path)
    added = manifest.passages - before.passages
    return IndexSummary(documents, added, blank, manifest.passages, time.monotonic() - start)


def _require_libraries(bm25: bool) -> None:
    """Nothing, when what the build needs is installed: told before the long work, not after."""
    for module in ("faiss", "bm25s") if bm25 else ("faiss",):
        require(module, extra="local")


def write_passages(
    corpus: Iterable[Candidate], work: Path, chunk_words: int, *, taken: Iterable[Candidate]
) -> tuple[int, int]:
    """Appends the passages of `corpus` to the file in `work`; counts of documents and of blanks.

    Raises:
        InputError: no document with text, or an id that is used twice or is in `taken`.
    """
    ids, passage_ids = set(), set()
    for passage in taken:
        passage_ids.add(passage.id)
        ids.add(document_id(passage.id, passage.metadata))
    documents = blank = 0
    with (work / PASSAGES).open("ab") as file:
        for document in corpus:
            if document.is_blank:
                blank += 1
                continue
            _claim(document.id, ids)
            for passage in chunk_document(document, max_words=chunk_words):
                _claim(passage.id, passage_ids)
                file.write(passage_line(passage))
            documents += 1
    if not documents:
        if isinstance(corpus, Corpus):  # it leaves them out by itself, and counts them
            blank += corpus.blank
        raise InputError(
            "an index needs at least one document with text, got none"
            + (f" ({blank} blank)" if blank else "")
        )
    return documents, blank


def _claim(identity: str, taken: set[str]) -> None:
    if identity in taken:
        raise InputError(
            f"ids must be unique within an index, and {identity!r} is there already. "
            "Give the document another id, or leave it out."
        )
    taken.add(identity)


def _finish(
    work: Path,
    manifest: Manifest,
    embedder: Embedder,
    batch: int,
    progress: Progress | None,
    *,
    bm25: bool,
) -> Manifest:
    """Embeds what has no vector yet and writes the rest of the folder; its manifest."""
    passages = Passages(work / PASSAGES)
    _embed(work, passages, embedder, batch, progress or (lambda done, total: None))
    with writing(work):
        if bm25:
            write_bm25((passage.text for passage in passages), work / BM25)
        manifest = replace(
            manifest,
            passages=len(passages),
            files=checksums(work),
            created_with=package_version(),
        )
        write_manifest(work, manifest)
    return manifest


def _embed(
    work: Path, passages: Passages, embedder: Embedder, batch: int, progress: Progress
) -> None:
    if batch < 1:
        raise InputError(f"batch must be >= 1, got {batch}")
    faiss = require("faiss", extra="local")
    file = str(work / VECTORS)
    dimension = embedder.dimension
    has_vectors = (work / VECTORS).exists()
    index = faiss.read_index(file) if has_vectors else faiss.IndexFlatIP(dimension)
    first = index.ntotal
    progress(0, len(passages) - first)
    for start in range(first, len(passages), batch):
        texts = [passage.text for passage in passages[start : start + batch]]
        rows = embedder.embed(texts)
        index.add(normalized(rows, made_by=embedder.name, dimension=dimension))
        progress(index.ntotal - first, len(passages) - first)
    write_vectors(work, index)


def write_vectors(work: Path, index: Any) -> None:
    """Writes the FAISS `index` into the folder `work`.

    Raises:
        StoreError: it cannot be written.
    """
    faiss = require("faiss", extra="local")
    # Subtle: not by file name, for FAISS only prints a failure to close a file, which then is cut.
    try:
        with writing(work), (work / VECTORS).open("wb") as stream:
            faiss.write_index(index, faiss.PyCallbackIOWriter(stream.write))
    except RuntimeError as error:  # what FAISS makes of a failure to write
        if isinstance(error, StoreError):
            raise
        reason = " ".join(str(error).split())
        raise StoreError(f"an index cannot be written at {work}: {reason}") from error


def _require_target(out: Path, *, overwrite: bool) -> None:
    """Nothing, when `out` may be written: absent, an empty folder, or an index to overwrite."""
    with writing(out):
        _require_free(out, overwrite=overwrite)


def _require_free(out: Path, *, overwrite: bool) -> None:
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not overwrite:
        raise StoreError(
            f"{out} exists already. Give another folder, or choose to overwrite or to add to it "
            "(--overwrite, --add; overwrite=True, add_to_index)."
        )
    ours = {MANIFEST, PASSAGES, VECTORS, BM25}
    names = {file.name for file in out.iterdir()} if out.is_dir() else {out.name}
    if MANIFEST not in names or names - ours:
        raise StoreError(
            f"only an index folder is overwritten, and {out} holds other things: "
            f"{sorted(names - ours)[:3]}. Give another folder, or clear this one by hand."
        )
