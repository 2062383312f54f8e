"""`equipoise scale`: labels and embeddings for many rows, on this machine or a Ray cluster."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli._options import Address, Detector, Engine, Workers

if TYPE_CHECKING:
    from equipoise.scale import Summary
    from equipoise.scale.tasks import Task

app = typer.Typer(
    help="Label or embed many rows, on this machine or a Ray cluster.", no_args_is_help=True
)

Inputs = Annotated[list[Path], typer.Argument(help="JSON Lines (.jsonl) or Parquet files.")]
Out = Annotated[
    Path, typer.Option("--out", "-o", help="A folder; a stopped run in it is gone on with.")
]
Threads = Annotated[int, typer.Option(min=1, help="Threads of a local model, a worker.")]
TextColumn = Annotated[str, typer.Option(help="The column with the text.")]
BlockRows = Annotated[int, typer.Option(min=1, help="Rows that are done or not as one.")]


@app.command()
def label(
    inputs: Inputs,
    out: Out,
    question: Annotated[str | None, typer.Option(help="One question for all rows.")] = None,
    question_column: Annotated[str, typer.Option(help="Or a column with them.")] = "question",
    text_column: TextColumn = "text",
    detector: Detector = None,
    threads: Threads = 1,
    engine: Engine = "local",
    workers: Workers = 1,
    address: Address = None,
    block_rows: BlockRows = 512,
) -> None:
    """Label the stance of each row's text toward its question."""
    from equipoise.cli._io import settings_with
    from equipoise.scale import Labeller

    settings = settings_with({"detector": detector})
    task = Labeller(
        settings.detector,
        question=question,
        text_column=text_column,
        question_column=question_column,
        threads=threads,
    )
    _run(task, inputs, out, engine, workers, address, block_rows)


@app.command()
def embed(
    inputs: Inputs,
    out: Out,
    embedder: Annotated[str | None, typer.Option(help="The embedder's name.")] = None,
    text_column: TextColumn = "text",
    threads: Threads = 1,
    engine: Engine = "local",
    workers: Workers = 1,
    address: Address = None,
    block_rows: BlockRows = 512,
) -> None:
    """Embed each row's text."""
    from equipoise.cli._io import settings_with
    from equipoise.scale import Embedding

    settings = settings_with({"embedder": embedder})
    task = Embedding(settings.embedder, text_column=text_column, threads=threads)
    _run(task, inputs, out, engine, workers, address, block_rows)


def _run(
    task: "Task",
    inputs: list[Path],
    out: Path,
    engine: str,
    workers: int,
    address: str | None,
    block_rows: int,
) -> None:
    from equipoise.cli._bar import told_by_bar
    from equipoise.cli._io import note
    from equipoise.scale import run

    with told_by_bar() as told:
        done = run(
            task,
            inputs,
            out,
            engine=engine,  # type: ignore[arg-type]  # checked there
            workers=workers,
            address=address,
            block_rows=block_rows,
            progress=lambda rows, total: told("rows", rows, total),
        )
    note(_told(done, out))
    if done.made and done.failed == done.made:
        raise typer.Exit(1)


def _told(done: "Summary", out: Path) -> str:
    speed = f", {done.made / done.seconds:.1f} rows a second" if done.made else ""
    failed = f" {done.failed} rows failed: see the column error." if done.failed else ""
    return f"{out}: {done.made} rows made, {done.kept} were there{speed}.{failed}"
