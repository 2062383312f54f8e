"""`equipoise ask`: a question to an index, in one or several settings."""

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli._options import (
    BaseUrl,
    Detector,
    GateMode,
    Html,
    Json,
    Model,
    SourceKey,
    UnsureBelow,
)


def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    index: Annotated[
        str, typer.Option("--index", "-i", help="A folder that `index` wrote, or a store's URL.")
    ],
    setting: Annotated[
        str, typer.Option(help="A as retrieved, B balanced, C balanced + instruction, D; or A,C.")
    ] = "C",
    model: Model = None,
    base_url: BaseUrl = None,
    mode: Annotated[str, typer.Option(help="dense, bm25 or fused retrieval.")] = "dense",
    k: Annotated[int | None, typer.Option("-k", help="Documents for the generator.")] = None,
    gate: GateMode = "auto",
    detector: Detector = None,
    unsure_below: UnsureBelow = None,
    filter: Annotated[
        str | None,
        typer.Option(help="Drop what looks planted first: biasdef (dense mode)."),
    ] = None,
    sources: SourceKey = None,
    seek: Annotated[
        bool,
        typer.Option("--seek", help="Ask the index again for a side that is missing or short."),
    ] = False,
    template: Annotated[
        Path | None, typer.Option(help="A prompt template in place of the default one.")
    ] = None,
    json: Json = False,
    html: Html = None,
    prompt: Annotated[bool, typer.Option("--prompt", help="Also print the prompt.")] = False,
) -> None:
    """Ask a question: show the pool, the choice and the answer.

    With `--setting A,C` both are shown, from one retrieval.
    """
    from equipoise.balancer import Balancer
    from equipoise.cli._answers import failed, show_answers, write_page
    from equipoise.cli._io import (
        check_page_path,
        generator_or_note,
        named_filter,
        print_json,
        prompt_template,
        settings_with,
    )
    from equipoise.rag import Rag
    from equipoise.retrieval import open_retriever
    from equipoise.seek import Seek
    from equipoise.selection.gate import Gate
    from equipoise.selection.sources import Sources
    from equipoise.stance import load_detector

    check_page_path(html)
    settings = settings_with(
        {
            "model": model,
            "base_url": base_url,
            "detector": detector,
            "unsure_below": unsure_below,
        }
    )
    balancer = Balancer(
        detector=load_detector(settings.detector, threads=settings.detector_threads),
        gate=Gate.named(gate),
        unsure_below=settings.unsure_below,
        filter=named_filter(filter),
        sources=Sources(sources) if sources is not None else None,
    )
    embeddings = filter is not None
    retriever = open_retriever(index, mode=mode, embeddings=embeddings)  # type: ignore[arg-type]
    generator = generator_or_note(
        settings, asked_for=model is not None, server_given=base_url is not None
    )
    rag = Rag(
        retriever,
        balancer=balancer,
        generator=generator,
        template=prompt_template(template, generator),
        seek=Seek() if seek else None,
    )
    answers = rag.compare(question, settings=setting.replace(" ", "").split(","), k=k)
    if json:
        print_json([answer.to_dict() for answer in answers])
    else:
        show_answers(answers, prompts=prompt)
    if html is not None:
        write_page(answers, html)
    if failed(answers):
        raise typer.Exit(1)
