"""`equipoise lab`: packs, attacks on them, and defences compared."""

from collections.abc import Callable

import typer

from equipoise.cli.lab_answer import answer
from equipoise.cli.lab_compare import compare
from equipoise.cli.lab_judge import judge, judge_check, judge_labels, judge_sheet
from equipoise.cli.lab_latency import latency
from equipoise.cli.lab_pack import pack
from equipoise.cli.lab_poison import attack, form, poison, properties
from equipoise.cli.lab_ps import ps
from equipoise.cli.lab_publish import publish
from equipoise.cli.lab_quality import app as quality
from equipoise.cli.lab_report import report, table
from equipoise.cli.lab_shift import shift

app = typer.Typer(
    help="Attack a corpus on paper and compare defences, on files that you own.",
    no_args_is_help=True,
)
COMMANDS: tuple[Callable[..., None], ...] = (
    *(pack, poison, attack, properties, form, ps, compare),
    *(answer, judge, judge_check, judge_sheet, judge_labels),
    *(latency, shift, publish, table, report),
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(quality, name="quality")
