"""`equipoise export`: a training run in, a detector's folder out."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer


def export(
    run: Annotated[Path, typer.Argument(help="The folder of a run of `equipoise train`.")],
    data: Annotated[Path, typer.Option(help="The data folder that the run was trained on.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")],
    max_length: Annotated[
        int | None, typer.Option(min=1, help="Tokens of question and passage (192).")
    ] = None,
    float_too: Annotated[
        bool, typer.Option("--float", help="Also keep the float32 model file.")
    ] = False,
    cases: Annotated[
        Path | None, typer.Option(help="Further labelled cases to score, JSON Lines.")
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(help="For a run that went on from bundled weights: how those were trained."),
    ] = None,
    base_model: Annotated[
        str | None, typer.Option(help="Public name of the first encoder, owner/name.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads (physical cores).")] = None,
    english: Annotated[
        bool,
        typer.Option("--english", help="It is for English alone: do not read other languages."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the whole report as JSON.")] = False,
) -> None:
    """Make a trained detector int8, calibrate and score it, and write its folder and card."""
    from equipoise.cli._io import print_json, show
    from equipoise.train.export import Choices
    from equipoise.train.export import export as export_run

    choices = Choices(max_length, float_too, cases, history, base_model, threads, english)
    with _progress_bar() as progress:
        report = export_run(run, data, out, choices=choices, progress=progress)
    if json:
        print_json(report)
        return
    scores, own = report["held_out"]["all"], report["own_test"]["all"]
    show(
        f"{out}: {report['model']['bytes'] / 1e6:.1f} MB, accuracy {scores['accuracy']:.3f} on "
        f"{scores['n']} held-out rows, {own['accuracy']:.3f} on {own['n']} own ones"
    )


@contextmanager
def _progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """A bar on standard error, where that is a terminal."""
    from equipoise.cli._bar import bar as made

    with made() as bar:
        task = bar.add_task("exporting", total=None)

        def show(stage: str, done: int, total: int) -> None:
            bar.update(task, description=stage, completed=done, total=total)

        yield show
