"""`equipoise demo`: the main job on the embedded corpus, attack and defence side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.types import Candidate, Retriever


def demo(
    topic: Annotated[
        str, typer.Option(help="A topic of the embedded corpus; `list` names them.")
    ] = ("congestion-charge"),
    stance: Annotated[str, typer.Option(help="Side of the planted documents: pro or con.")] = "pro",
    planted: Annotated[int, typer.Option(min=0, max=7, help="Documents to plant.")] = 7,
    model: Annotated[
        str | None, typer.Option(help="local, openai:NAME, anthropic:NAME, ...; or none.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    html: Annotated[Path | None, typer.Option(help="Also write an HTML page.")] = None,
) -> None:
    """Index the embedded corpus, plant one-sided documents, and compare settings A and C."""
    import tempfile

    from equipoise import data
    from equipoise.balancer import Balancer
    from equipoise.cli._answers import failed, show_answers, write_page
    from equipoise.cli._io import (
        generator_or_note,
        note,
        print_json,
        prompt_template,
        settings_with,
        show,
    )
    from equipoise.errors import InputError
    from equipoise.rag import Rag

    if topic == "list":
        for entry in data.contested():
            show(f"{entry.name:20}{entry.question}")
        return
    if stance not in ("pro", "con"):
        raise InputError(f"--stance must be pro or con, got {stance!r}")
    entry = data.topic(topic)
    settings = settings_with({"model": None if model == "none" else model})
    generator = (
        None if model == "none" else generator_or_note(settings, asked_for=model is not None)
    )
    documents = [*data.clean_corpus(), *entry.planted(stance)[:planted]]
    with tempfile.TemporaryDirectory() as folder:
        retriever = _indexed(documents, Path(folder) / "index")
        note(f"{planted} true but one-sided {stance} documents planted among {len(documents)}.")
        rag = Rag(
            retriever,
            balancer=Balancer(),
            generator=generator,
            template=prompt_template(None, generator),
        )
        answers = rag.compare(entry.question, settings=("A", "C"))
    if json:
        print_json([answer.to_dict() for answer in answers])
    else:
        show_answers(answers)
    if html is not None:
        write_page(answers, html)
    if failed(answers):
        raise typer.Exit(1)


def _indexed(documents: "Sequence[Candidate]", folder: Path) -> "Retriever":
    from equipoise.retrieval import build_index, load_embedder, open_retriever

    embedder = load_embedder("minilm")
    build_index(documents, folder, embedder=embedder)
    return open_retriever(folder, embedder=embedder)
