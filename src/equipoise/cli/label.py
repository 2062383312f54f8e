"""`equipoise label`: the stance of each document, nothing else."""

from typing import Annotated

import typer

from equipoise.cli._options import Detector


def label(
    question: Annotated[str, typer.Argument(help="The question.")],
    candidates: Annotated[
        str,
        typer.Option("--candidates", "-c", help="JSON Lines ('text' in each), or - for stdin."),
    ] = "-",
    detector: Detector = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON Lines.")] = False,
) -> None:
    """Label the stance of each document toward a question."""
    import json as encoder

    from equipoise._candidates import to_candidates
    from equipoise.cli._io import read_candidates, settings_with, show
    from equipoise.render.cleaning import one_line
    from equipoise.stance import load_detector

    settings = settings_with({"detector": detector})
    model = load_detector(settings.detector, threads=settings.detector_threads)
    _, documents, _ = to_candidates(read_candidates(candidates))
    scores = model.detect(question, [document.text for document in documents])
    for document, score in zip(documents, scores, strict=True):
        if json:
            row = {"id": document.id, "stance": score.label.value, **score.to_dict()}
            typer.echo(encoder.dumps({**row, "windows": score.windows}))
        else:
            start = one_line(document.text)[:70]
            identity = one_line(document.id)
            show(f"{score.label.value:8}{score.confidence:5.2f}  {identity}  {start}")
