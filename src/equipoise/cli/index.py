"""`equipoise index`: documents in, an index folder out."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.errors import InputError

if TYPE_CHECKING:
    from equipoise.retrieval.build import Progress


def index(
    corpus: Annotated[
        Path,
        typer.Argument(
            help="A .jsonl, .json, .csv, .tsv or .parquet file, or a folder of .txt and .md files."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The index folder to write.")],
    text_field: Annotated[str, typer.Option(help="Field that holds the text.")] = "text",
    id_field: Annotated[
        str | None, typer.Option(help="Field that holds the id. Default: 'id', else file:line.")
    ] = None,
    chunk_words: Annotated[
        int | None,
        typer.Option(min=1, help="Aim for passages of this many words (120)."),
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(
            help="minilm (bundled), sentence-transformers:NAME, openai:MODEL, or onnx:FOLDER."
        ),
    ] = None,
    add: Annotated[bool, typer.Option("--add", help="Add to the index at OUT.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the index at OUT.")
    ] = False,
    bm25: Annotated[
        bool | None,
        typer.Option("--bm25/--no-bm25", help="Also index words (yes)."),
    ] = None,
) -> None:
    """Index a corpus for `equipoise ask`."""
    if add and (overwrite or chunk_words is not None or bm25 is not None):
        raise InputError(
            "--add keeps chunk size and BM25 as the index has them: leave out --overwrite, "
            "--chunk-words and --bm25/--no-bm25"
        )
    from equipoise.cli._io import note, settings_with, show
    from equipoise.retrieval import Corpus, Fields, add_to_index, build_index, load_embedder
    from equipoise.retrieval.chunking import CHUNK_WORDS

    settings = settings_with({"embedder": embedder})
    documents = Corpus(corpus, fields=Fields(text=text_field, id=id_field))
    model = load_embedder(settings.embedder)
    with _progress_bar() as progress:
        if add:
            summary = add_to_index(documents, out, embedder=model, progress=progress)
        else:
            summary = build_index(
                documents,
                out,
                embedder=model,
                chunk_words=CHUNK_WORDS if chunk_words is None else chunk_words,
                bm25=bm25 is not False,
                overwrite=overwrite,
                progress=progress,
            )
    show(
        f"{summary.documents} documents, {summary.passages} passages in {summary.seconds:.1f} s"
        f" -> {out} (now {summary.total_passages} passages, {model.name})"
    )
    if blank := documents.blank + summary.blank:
        note(f"{blank} blank documents left out")


@contextmanager
def _progress_bar() -> Iterator["Progress"]:
    """A bar on standard error, where that is a terminal."""
    from equipoise.cli._bar import bar as made

    with made() as bar:
        task = bar.add_task("reading", total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, description="embedding", completed=done, total=total)

        yield show
