"""`equipoise balance`: documents that something else retrieved, balanced."""

from typing import Annotated

import typer

from equipoise.cli._options import Detector, GateMode, Html, Json, SourceKey, UnsureBelow


def balance(
    question: Annotated[str, typer.Argument(help="The question.")],
    candidates: Annotated[
        str,
        typer.Option(
            "--candidates",
            "-c",
            help="JSON Lines in retrieval order ('text' in each), or - for stdin.",
        ),
    ] = "-",
    k: Annotated[int | None, typer.Option("-k", help="Documents to choose.")] = None,
    gate: GateMode = "auto",
    keep_duplicates: Annotated[
        bool, typer.Option("--keep-duplicates", help="Let copies take seats of their own.")
    ] = False,
    detector: Detector = None,
    unsure_below: UnsureBelow = None,
    filter: Annotated[
        str | None,
        typer.Option(
            help="Drop documents that look planted first: biasdef (needs score, embedding)."
        ),
    ] = None,
    sources: SourceKey = None,
    json: Json = False,
    html: Html = None,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print the prompt instead.")] = False,
) -> None:
    """Balance retrieved documents: which go to the generator, and why."""
    from equipoise.balancer import Balancer
    from equipoise.cli._io import (
        check_page_path,
        named_filter,
        print_json,
        read_candidates,
        settings_with,
        show,
        show_selection,
        write_file,
    )
    from equipoise.selection.gate import Gate
    from equipoise.selection.sources import Sources
    from equipoise.stance import load_detector

    check_page_path(html)
    settings = settings_with({"detector": detector, "unsure_below": unsure_below})
    balancer = Balancer(
        detector=load_detector(settings.detector, threads=settings.detector_threads),
        gate=Gate.named(gate),
        merge_duplicates=not keep_duplicates,
        unsure_below=settings.unsure_below,
        filter=named_filter(filter),
        sources=Sources(sources) if sources is not None else None,
    )
    selection = balancer.balance(question, read_candidates(candidates), k=k)
    if json:
        print_json(selection.to_dict())
    elif prompt:
        show(selection.prompt())
    else:
        show_selection(selection)
    if html is not None:
        write_file(html, selection.to_html())
