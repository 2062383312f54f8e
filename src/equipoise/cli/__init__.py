"""The command line: each command parses, calls one thing of the library, and prints."""

import os
import sys
from contextlib import suppress
from typing import Annotated

import typer

from equipoise.cli.ask import ask
from equipoise.cli.audit import app as audit
from equipoise.cli.balance import balance
from equipoise.cli.demo import demo
from equipoise.cli.export import export
from equipoise.cli.index import index
from equipoise.cli.lab import app as lab
from equipoise.cli.label import label
from equipoise.cli.mcp import mcp
from equipoise.cli.models import app as models
from equipoise.cli.scale import app as scale
from equipoise.cli.serve import serve
from equipoise.cli.store import app as store
from equipoise.cli.train import train
from equipoise.cli.version import version
from equipoise.errors import EquipoiseError, InputError

app = typer.Typer(
    help="Even-handed evidence for retrieval-augmented generation.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(index)
app.command()(ask)
app.command()(balance)
app.command()(label)
app.command()(serve)
app.command()(mcp)
app.command()(train)
app.command()(export)
app.add_typer(audit, name="audit")
app.add_typer(lab, name="lab")
app.add_typer(models, name="models")
app.add_typer(scale, name="scale")
app.add_typer(store, name="store")
app.command()(version)


def _version_asked_for(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_version_asked_for, help="Print the version."
        ),
    ] = False,
) -> None:
    """What may stand before the name of a command."""


def main() -> None:
    """Run the command line; exit 0 fine, 1 failed, 2 misuse, 130 interrupted."""
    if sys.stderr is None:  # closed by the caller: messages have nowhere to go
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # open to the end
    code = _run()
    # Subtle: what stays in a buffer is written when Python ends, where a failure would print a
    # traceback and change the exit status.
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    raise SystemExit(code)


def _run() -> int:
    """The exit status, after the message where there is one to give."""
    try:
        if sys.stdout is None:
            return _failed("standard output must be open, and is closed", 1)
        code = _call()
        sys.stdout.flush()
        return code
    except InputError as error:
        return _failed(error, 2)
    except EquipoiseError as error:
        return _failed(error, 1)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing to say, and no one to say it to.
        return 1
    except OSError as error:
        return _failed(error, 1)


def _call() -> int:
    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _failed(error: object, code: int) -> int:
    from equipoise.render.cleaning import one_line

    with suppress(OSError):
        sys.stderr.write(f"equipoise: {one_line(error)}\n")
    return code
