"""`equipoise lab shift`: how far attacks move answers along their topic's axis."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.errors import InputError

if TYPE_CHECKING:
    from equipoise.lab.shift import Shifts


def shift(
    run: Annotated[Path, typer.Argument(help="Folder of a run, with its answers.")],
    pack: Annotated[Path, typer.Argument(help="The pack that the run was made from.")],
    reference: Annotated[
        str,
        typer.Option(
            help="The unattacked answer: none (without a defence), or same (of the same defence)."
        ),
    ] = "none",
    means: Annotated[
        bool, typer.Option("--means", help="Axis from the con mean to the pro mean instead.")
    ] = False,
    embedder: Annotated[str, typer.Option(help="As for `equipoise index`.")] = "minilm",
    cache: Annotated[Path | None, typer.Option(help="Folder for vectors (RUN/cache).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Score every answer on its topic's axis, write RUN/shift.jsonl, and print mean shifts."""
    from dataclasses import asdict

    from equipoise.cli._bar import bar
    from equipoise.cli._io import note, print_json, show
    from equipoise.lab.answers.store import read_cells
    from equipoise.lab.pack import read_pack
    from equipoise.lab.shift import shift_lines, shift_table, write_shift
    from equipoise.lab.vectors import VectorCache
    from equipoise.retrieval.embedder import load_embedder

    if reference not in ("none", "same"):
        raise InputError(f"--reference must be none or same, got {reference!r}")
    cells = read_cells(run)
    vectors = VectorCache(load_embedder(embedder), (cache or run / "cache") / "vectors")
    with bar() as shown:
        task = shown.add_task("embedding answers", total=None)
        lines = shift_lines(
            cells,
            read_pack(pack),
            vectors,
            reference="same" if reference == "same" else "none",
            kind="means" if means else "component",
            progress=lambda done, total: shown.update(task, completed=done, total=total),
        )
    note(f"Wrote {write_shift(run, lines)}")
    axes = lines[0]["settings"]["axes"]
    for topic in [name for name, axis in axes.items() if not axis["signed"]]:
        note(f"{topic}: {axes[topic]['why']}; its answers have no bias")
    rows = shift_table(lines)
    if as_json:
        print_json({"axes": axes, "rows": [asdict(row) for row in rows]})
    else:
        show(table_of(rows))


def table_of(rows: Sequence["Shifts"]) -> str:
    """One Markdown table, a row a generator, corpus and defence."""
    from equipoise.lab.cells import cell, table

    head = ["generator", "corpus", "defence", "shift", "times smaller", "bias", "without a score"]
    return table(
        head,
        [
            [
                row.generator,
                row.corpus,
                row.defence,
                cell(row.shift),
                "-" if row.times_smaller is None else cell(row.times_smaller),
                cell(row.bias, sign=True),
                ", ".join(f"{count} {why}" for why, count in row.without.items()) or "0",
            ]
            for row in rows
        ],
    )
