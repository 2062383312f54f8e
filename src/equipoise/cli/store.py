"""`equipoise store`: a corpus into a vector store, and what a store holds."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from equipoise.errors import InputError

app = typer.Typer(help="Passages in a vector store: load a corpus, look at what is there.")

_URL = typer.Option(
    "--store",
    "-s",
    help="faiss:FOLDER, milvus:FILE.db, milvus+http://HOST:19530/COLLECTION, qdrant:FOLDER, "
    "qdrant+http://HOST:6333/COLLECTION or postgresql://HOST/DATABASE/TABLE.",
)


@app.command()
def load(
    corpus: Annotated[
        Path,
        typer.Argument(
            help="A .jsonl, .json, .csv, .tsv or .parquet file, or a folder of .txt and .md files."
        ),
    ],
    store: Annotated[str, _URL],
    text_field: Annotated[str, typer.Option(help="Field that holds the text.")] = "text",
    id_field: Annotated[
        str | None, typer.Option(help="Field that holds the id. Default: 'id', else file:line.")
    ] = None,
    chunk_words: Annotated[
        int | None, typer.Option(min=1, help="Aim for passages of this many words (120).")
    ] = None,
    batch: Annotated[
        int, typer.Option(min=1, help="Passages embedded and stored at a time.")
    ] = 256,
    embedder: Annotated[
        str | None,
        typer.Option(
            help="minilm (bundled), sentence-transformers:NAME, openai:MODEL, or onnx:FOLDER."
        ),
    ] = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Embed and store also what is there already.")
    ] = False,
) -> None:
    """Load a corpus, or go on with a load that was broken off."""
    from equipoise.cli._bar import told_by_bar
    from equipoise.cli._io import note, settings_with, show
    from equipoise.retrieval import Corpus, Fields, load_embedder, load_store, open_store
    from equipoise.retrieval.chunking import CHUNK_WORDS

    _hush_clients()
    settings = settings_with({"embedder": embedder})
    documents = Corpus(corpus, fields=Fields(text=text_field, id=id_field))
    model = load_embedder(settings.embedder)
    if all(document.is_blank for document in Corpus(corpus, fields=documents.fields)):
        raise InputError(f"{corpus} must have a document with text, and has none: nothing is made")
    opened = open_store(store, embedder=model, create=True)
    try:
        with told_by_bar() as told:
            summary = load_store(
                opened,
                documents,
                model,
                chunk_words=CHUNK_WORDS if chunk_words is None else chunk_words,
                batch=batch,
                resume=not anew,
                progress=lambda done, total: told("loading", done, total),
            )
    finally:
        opened.close()
    show(
        f"{summary.documents} documents, {summary.passages} passages in {summary.seconds:.1f} s: "
        f"{summary.stored} stored, {summary.kept} there already -> {opened.name} "
        f"(now {summary.total_passages} passages, {model.name})"
    )
    if blank := documents.blank + summary.blank:
        note(f"{blank} blank documents left out")
    if summary.repeats:
        note(f"the server was away: {summary.repeats} calls were made again")


@app.command()
def info(
    store: Annotated[str, _URL],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Tell what a store holds."""
    from equipoise.cli._io import print_json, show
    from equipoise.retrieval import open_store

    _hush_clients()
    opened = open_store(store)
    try:
        about = {
            "store": opened.name,
            "passages": len(opened),
            "embedder": opened.embedder,
            "dimension": opened.dimension,
        }
    finally:
        opened.close()
    if as_json:
        print_json(about)
    else:
        show("\n".join(f"{name}: {value}" for name, value in about.items()))


def _hush_clients() -> None:
    """What a client logs before it raises, our own message says again, and shorter."""
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
