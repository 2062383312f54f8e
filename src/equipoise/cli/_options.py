"""Options that several commands share, each declared once."""

from pathlib import Path
from typing import Annotated

import typer

Detector = Annotated[
    str | None, typer.Option(help="Stance model: a name, a folder or a server's URL.")
]
GateMode = Annotated[str, typer.Option(help="When to balance: auto, always, never.")]
UnsureBelow = Annotated[
    float | None,
    typer.Option(help="Labels of a lower probability count for no side, 0 to 1; 0 is off."),
]
NamedIndexes = Annotated[
    list[str] | None,
    typer.Option(
        "--index", "-i", help="NAME=FOLDER of an index, or NAME=URL of a store; may be given again."
    ),
]
Model = Annotated[
    str | None, typer.Option(help="local, openai:NAME, anthropic:NAME, ...; or none.")
]
BaseUrl = Annotated[str | None, typer.Option(help="An OpenAI-compatible server.")]
Html = Annotated[Path | None, typer.Option(help="Also write an HTML page.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SourceKey = Annotated[
    str | None,
    typer.Option(help="Metadata key of a source: one seat of a stance each, such as url."),
]
Engine = Annotated[str, typer.Option(help="local, or ray.")]
Workers = Annotated[
    int, typer.Option(min=1, help="Processes or Ray actors, each with a model of its own.")
]
Address = Annotated[
    str | None, typer.Option(help="A Ray cluster: auto, or HOST:6379; none starts one here.")
]
