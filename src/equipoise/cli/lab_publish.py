"""`equipoise lab publish`: a run's numbers without anybody's words."""

from pathlib import Path
from typing import Annotated

import typer


def publish(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the copy.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Copy a run's results without texts of answers, so that they can be made public.

    Refuses when a text of eight words or more is left. Tables and reports can be drawn from it.
    """
    from equipoise.cli._io import print_json, show
    from equipoise.lab.answers.publish import publish as run_publish

    done = run_publish(run, out)
    if as_json:
        print_json({"out": str(out), "lines": dict(done.files), "bytes": done.size})
    else:
        lines = ", ".join(f"{name} {count}" for name, count in done.files.items())
        show(f"{out}: {lines} (lines), {done.size / 1e6:.2f} MB")
