"""The command line: each command parses, calls one thing of the library, and prints."""

import os
import sys

import typer

from equipoise.cli.ask import ask
from equipoise.cli.balance import balance
from equipoise.cli.demo import demo
from equipoise.cli.index import index
from equipoise.cli.label import label
from equipoise.cli.models import app as models
from equipoise.cli.version import version
from equipoise.errors import EquipoiseError, InputError

app = typer.Typer(
    help="Even-handed evidence for retrieval-augmented generation.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(index)
app.command()(ask)
app.command()(balance)
app.command()(label)
app.add_typer(models, name="models")
app.command()(version)


def main() -> None:
    """Run the command line; exit 0 fine, 1 failed, 2 misuse."""
    try:
        app()
    except InputError as error:
        _fail(error, 2)
    except EquipoiseError as error:
        _fail(error, 1)
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing to say, and no one to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None


def _fail(error: EquipoiseError, code: int) -> None:
    message = str(error).encode("utf-8", "backslashreplace").decode("utf-8")
    sys.stderr.write(f"equipoise: {message}\n")
    raise SystemExit(code) from None
