"""`equipoise lab compare`: a pack and poisoned corpora in; results, tables and a figure out."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.errors import InputError

if TYPE_CHECKING:
    from equipoise.lab.cases import Corpus
    from equipoise.lab.compare import Summary
    from equipoise.lab.defences.base import Defence
    from equipoise.lab.pack import Pack
    from equipoise.lab.results import Run

DEFENCES = "none,random5,mmr,quota"
"""Those of SP table 9."""
BEYOND = ("prompt_only", "quota_prompt", "robustrag")
"""Defences that act on the prompt or the answer: at retrieval they are `none` or `quota` again."""


# Long because it is the list of options; the work is in `_run`.
def compare(
    pack: Annotated[Path, typer.Argument(help="Folder of a pack.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for results; what is there is gone on with.")
    ],
    poisoned: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of a poisoned corpus; may be given several times."),
    ] = None,
    direction: Annotated[
        str | None, typer.Option(help="Poison here and now: pro, con or both.")
    ] = None,
    n: Annotated[
        list[int] | None, typer.Option("--n", help="Documents planted a topic; with --direction.")
    ] = None,
    defences: Annotated[
        str, typer.Option(help="Names with commas between, or all; an unknown one lists them.")
    ] = DEFENCES,
    detector: Annotated[str, typer.Option(help="A detector, oracle, or degraded:0.8.")] = "default",
    embedder: Annotated[str, typer.Option(help="As for `equipoise index`.")] = "minilm",
    depth: Annotated[int, typer.Option(min=1, help="Documents retrieved a question.")] = 50,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of the detector.")] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder for vectors and labels (OUT/cache).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print means as JSON.")] = False,
) -> None:
    """Compare defences on clean and poisoned corpora, at the level of retrieval."""
    from equipoise.cli._io import note, print_json, show, write_file
    from equipoise.lab.corpora import check_direction, corpora_of
    from equipoise.lab.figures import draw
    from equipoise.lab.pack import read_pack
    from equipoise.lab.results import read_results
    from equipoise.lab.tables import markdown, means

    check_direction(direction, n or [])
    if (out / "documents.jsonl").exists():
        raise InputError(f"{out} must be a folder for results, and it holds a pack")
    read = read_pack(pack)
    corpora = corpora_of(read, poisoned or [], direction, n or [])
    results = out / "results.jsonl"
    kept = cache or out / "cache"
    summary = _run(
        read,
        corpora,
        _defences(defences),
        results=results,
        cache=kept,
        detector=detector,
        embedder=embedder,
        depth=depth,
        threads=threads,
    )
    groups = read_results(results)
    text = markdown(groups)
    write_file(out / "table.md", text)
    for runs, path in _figures(groups, out):
        draw(runs, path)
        note(f"Wrote {path}")
    if as_json:
        print_json({"summary": _said(summary), "means": means(groups)})
    else:
        show(text)
    seconds = ", ".join(f"{stage} {spent:.1f} s" for stage, spent in summary.seconds.items())
    note(
        f"{summary.written} lines written, {summary.kept} kept, {summary.errors} errors: {seconds}"
    )
    if summary.errors:
        first = next(error for runs in groups for run in runs for error in _errors(run))
        note(f"Questions that failed are in no mean. The first failure on file: {first}")
        raise typer.Exit(1)


def _errors(run: "Run") -> Iterator[str]:
    return (str(row["error"]) for row in run.rows.values() if "error" in row)


def _defences(names: str) -> list["Defence"]:
    from equipoise.lab.corpora import named_defences

    return named_defences(names, leave_out=BEYOND)


def _run(
    pack: "Pack",
    corpora: Sequence["Corpus"],
    defences: Sequence["Defence"],
    *,
    results: Path,
    cache: Path,
    detector: str,
    embedder: str,
    depth: int,
    threads: int | None,
) -> "Summary":
    from equipoise.cli._bar import told_by_bar as bar
    from equipoise.cli._io import note
    from equipoise.lab.compare import compare as run
    from equipoise.lab.labels import load_labels
    from equipoise.lab.results import ResultFile
    from equipoise.lab.vectors import VectorCache
    from equipoise.retrieval.embedder import load_embedder

    vectors = VectorCache(load_embedder(embedder), cache / "vectors")
    with load_labels(detector, cache / "labels.sqlite", threads=threads) as labels, bar() as told:
        try:
            return run(
                pack,
                corpora,
                defences,
                labels=labels,
                vectors=vectors,
                results=ResultFile(results),
                depth=depth,
                progress=told,
            )
        except KeyboardInterrupt:
            note(f"Stopped. The same command goes on from what is in {results}")
            raise


def _figures(
    groups: Sequence[Sequence["Run"]], out: Path
) -> Iterator[tuple[Sequence["Run"], Path]]:
    """figure.svg is the last group's, whose runs were asked for now; earlier ones have numbers."""
    for number, runs in enumerate(groups, 1):
        last = number == len(groups)
        yield runs, out / ("figure.svg" if last else f"figure-{number}.svg")


def _said(summary: "Summary") -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(summary)
