"""`equipoise lab`: packs, attacks on them, and defences compared."""

import typer

from equipoise.cli.lab_compare import compare
from equipoise.cli.lab_pack import pack
from equipoise.cli.lab_poison import attack, form, poison, properties
from equipoise.cli.lab_ps import ps

app = typer.Typer(
    help="Attack a corpus on paper and compare defences, on files that you own.",
    no_args_is_help=True,
)
for command in (pack, poison, attack, properties, form, ps, compare):
    app.command()(command)
