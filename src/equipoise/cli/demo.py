"""`equipoise demo`: the main job on the embedded corpus, attack and defence side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli._options import Html, Json, Model, UnsureBelow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.rag import RagAnswer
    from equipoise.retrieval import Embedder
    from equipoise.types import Candidate, Retriever


def demo(
    topic: Annotated[
        str, typer.Option(help="A topic of the embedded corpus; `list` names them.")
    ] = ("nuclear-power"),
    stance: Annotated[str, typer.Option(help="Side of the planted documents: pro or con.")] = "pro",
    planted: Annotated[int, typer.Option(min=0, max=7, help="Documents to plant.")] = 7,
    model: Model = None,
    unsure_below: UnsureBelow = None,
    json: Json = False,
    html: Html = None,
) -> None:
    """Index the embedded corpus, plant one-sided documents, and compare settings A and C."""
    import tempfile

    from equipoise import data
    from equipoise.balancer import Balancer
    from equipoise.cli._answers import failed, show_answers, write_page
    from equipoise.cli._io import (
        check_page_path,
        generator_or_note,
        note,
        print_json,
        prompt_template,
        settings_with,
        show,
    )
    from equipoise.errors import InputError
    from equipoise.rag import Rag
    from equipoise.retrieval import load_embedder
    from equipoise.stance import load_detector

    if topic == "list":
        if json:
            print_json([{"name": t.name, "question": t.question} for t in data.contested()])
            return
        for entry in data.contested():
            show(f"{entry.name:20}{entry.question}")
        return
    check_page_path(html)
    if stance not in ("pro", "con"):
        raise InputError(f"--stance must be pro or con, got {stance!r}")
    entry = data.topic(topic)
    settings = settings_with({"model": model, "unsure_below": unsure_below})
    balancer = Balancer(
        detector=load_detector(settings.detector, threads=settings.detector_threads),
        unsure_below=settings.unsure_below,
    )
    embedder = load_embedder(settings.embedder)
    generator = generator_or_note(settings, asked_for=model is not None)
    documents = [*data.clean_corpus(), *entry.planted(stance)[:planted]]
    with tempfile.TemporaryDirectory() as folder:
        retriever = _indexed(documents, Path(folder) / "index", embedder)
        note(f"{planted} true but one-sided {stance} documents planted among {len(documents)}.")
        rag = Rag(
            retriever,
            balancer=balancer,
            generator=generator,
            template=prompt_template(None, generator),
        )
        answers = rag.compare(entry.question, settings=("A", "C"))
    if json:
        print_json([answer.to_dict() for answer in answers])
    else:
        show_answers(answers, remark=_planted_among)
    if html is not None:
        write_page(answers, html, remark=_planted_among)
    if failed(answers):
        raise typer.Exit(1)


def _planted_among(answer: "RagAnswer") -> str:
    """How many of the chosen documents are planted ones, and where they ranked."""
    chosen = answer.selection.chosen
    ranks = sorted(
        choice.retrieval_rank
        for choice in chosen
        if choice.candidate.metadata.get("origin") == "injected"
    )
    where = f" (ranks {', '.join(map(str, ranks))})" if ranks else ""
    return f"Planted documents among the {len(chosen)} chosen: {len(ranks)}{where}"


def _indexed(documents: "Sequence[Candidate]", folder: Path, embedder: "Embedder") -> "Retriever":
    from equipoise.retrieval import build_index, open_retriever

    build_index(documents, folder, embedder=embedder)
    return open_retriever(folder, embedder=embedder)
