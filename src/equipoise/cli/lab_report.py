"""`equipoise lab table` and `equipoise lab report`: what result files say."""

from pathlib import Path
from typing import Annotated

import typer

Judge = Annotated[str | None, typer.Option(help="Verdicts of this judge; the last one named.")]
Check = Annotated[
    Path | None, typer.Option(help="What `lab judge-check --json` wrote: scores are corrected too.")
]
Runs = Annotated[list[Path], typer.Argument(help="Folders with answers.jsonl; several are joined.")]


def table(
    name: Annotated[str, typer.Argument(help="An experiment, such as sweep; or list.")],
    runs: Annotated[list[Path] | None, typer.Argument(help="Folders with answers.jsonl.")] = None,
    judge: Judge = None,
    check: Check = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    figure: Annotated[Path | None, typer.Option(help="Write the figure, as SVG, there.")] = None,
) -> None:
    """Print the tables of one experiment, and what of it was not run."""
    from equipoise.cli._io import note, print_json, show, write_file
    from equipoise.errors import InputError
    from equipoise.lab.experiments import EXPERIMENTS, experiment, read_study
    from equipoise.lab.report.blocks import plain
    from equipoise.lab.report.build import section
    from equipoise.lab.report.markdown import section_markdown

    if name == "list" and not runs:
        show("\n".join(f"{known}: {one.TITLE}" for known, one in EXPERIMENTS.items()))
        return
    asked = experiment(name)
    if not runs:
        raise InputError("a table needs at least one folder with answers.jsonl")
    study = read_study(runs, judge=judge, check=check)
    made = section(asked, study)
    if as_json:
        print_json({"experiment": name, "blocks": [plain(block) for block in made.blocks]})
    else:
        show(section_markdown(made))
    if figure is not None:
        drawn = asked.figure(study)
        if drawn is None:
            note(f"{name} has no figure for these runs; nothing was written")
        else:
            write_file(figure, drawn)


def report(
    runs: Runs,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page, HTML.")],
    markdown: Annotated[Path | None, typer.Option(help="The same as Markdown.")] = None,
    judge: Judge = None,
    check: Check = None,
    title: Annotated[str, typer.Option(help="Its title.")] = "Stance of answers under attack",
) -> None:
    """Write one page with every table, figure, count and setting of these runs."""
    from equipoise.cli._io import write_file
    from equipoise.lab.experiments import read_study
    from equipoise.lab.report.build import sections, summary
    from equipoise.lab.report.html import page
    from equipoise.lab.report.markdown import markdown as document

    study = read_study(runs, judge=judge, check=check)
    made = sections(study)
    write_file(out, page(title, made, said=summary(study)))
    if markdown is not None:
        write_file(markdown, document(title, made))
