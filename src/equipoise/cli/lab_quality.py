"""`equipoise lab quality`: whether the defence harms answers where nobody attacks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.errors import InputError

if TYPE_CHECKING:
    from equipoise.lab.quality.pairs import Pairs

app = typer.Typer(
    help="Compare clean answers without a defence (A) and with the full one (C).",
    no_args_is_help=True,
)

Run = Annotated[Path, typer.Argument(help="Folder of a run, with its answers.")]
Pack = Annotated[Path, typer.Argument(help="The pack that the run was made from.")]
Generator = Annotated[
    str | None, typer.Option(help="Whose answers, where the run has several generators.")
]
Seed = Annotated[int, typer.Option(help="Of the order of answers and pairs, and of the sample.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SEED = 20260905


@app.command()
def form(
    run: Run,
    pack: Pack,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the form.")],
    extra: Annotated[int, typer.Option(min=0, help="Pairs beside one a topic.")] = 8,
    everything: Annotated[bool, typer.Option("--all", help="Every pair, not a sample.")] = False,
    generator: Generator = None,
    seed: Seed = SEED,
    as_json: Json = False,
) -> None:
    """Write a blinded form for people: a page, and the same as CSV files; the key lies apart."""
    from equipoise.cli._io import note, print_json, show
    from equipoise.lab.quality.form import write_form
    from equipoise.lab.quality.pairs import sample

    made = _pairs(run, pack, generator, seed)
    chosen = made.pairs if everything else sample(made.pairs, extra=extra, seed=seed)
    write_form(made, chosen, out)
    note("Give form.html (or form.csv, passages.csv, questions.txt) to raters; keep key.json.")
    note("The form holds texts of documents and answers: it is not for publishing.")
    if as_json:
        print_json({"out": str(out), "pairs": len(chosen), "of": len(made.pairs)})
    else:
        show(f"{len(chosen)} of {len(made.pairs)} pairs in {out}")


@app.command()
def judge(
    run: Run,
    pack: Pack,
    model: Annotated[str, typer.Option(help="An inspect-ai model, such as openai/NAME.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Pairs at most.")] = None,
    at_once: Annotated[int, typer.Option(min=1, help="Calls under way at a time.")] = 4,
    generator: Generator = None,
    seed: Seed = SEED,
    as_json: Json = False,
) -> None:
    """Let a model of another family rate the pairs; rows go to RUN/quality.jsonl."""
    from dataclasses import asdict

    from equipoise.cli._io import note, print_json, show
    from equipoise.lab.quality.judge import judge_pairs
    from equipoise.lab.quality.rows import QUALITY
    from equipoise.lab.results import ResultFile

    made = _pairs(run, pack, generator, seed)
    with _told("rating pairs") as told:
        done = judge_pairs(
            made, made.pairs[:limit], model, ResultFile(run / QUALITY), at_once=at_once, told=told
        )
    if as_json:
        print_json(asdict(done))
    else:
        found = ", ".join(f"{count} {name}" for name, count in done.outcomes.items())
        show(f"{found or 'nothing new'}; {done.kept} were there")
    if done.outcomes.get("error"):
        note("The same command asks again for what failed.")
        raise typer.Exit(1)


@app.command()
def measure(
    run: Run,
    pack: Pack,
    embedder: Annotated[str, typer.Option(help="As for `equipoise index`.")] = "minilm",
    cache: Annotated[Path | None, typer.Option(help="Folder for vectors (RUN/cache).")] = None,
    generator: Generator = None,
    seed: Seed = SEED,
    as_json: Json = False,
) -> None:
    """Measure what needs no judge: sentences that come from documents, and both sides reflected.

    These numbers are not ratings, and stand in no table beside the paper's.
    """
    from equipoise.lab.quality.measures import measure_pairs
    from equipoise.lab.quality.rows import QUALITY
    from equipoise.lab.results import ResultFile
    from equipoise.lab.vectors import VectorCache
    from equipoise.retrieval.embedder import load_embedder

    made = _pairs(run, pack, generator, seed)
    vectors = VectorCache(load_embedder(embedder), (cache or run / "cache") / "vectors")
    with _told("measuring pairs") as told:
        measure_pairs(made, vectors, ResultFile(run / QUALITY), told=told)
    _show(run, as_json=as_json, kind="measures")


@app.command()
def score(
    run: Run,
    filled: Annotated[
        list[Path] | None, typer.Option(help="A filled-in form; may be given several times.")
    ] = None,
    rater: Annotated[
        list[str] | None, typer.Option(help="Who filled it in; one a form, in their order.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="The form's key.json, with --filled.")] = None,
    as_json: Json = False,
) -> None:
    """Put filled-in forms to RUN/quality.jsonl, and print C - A by rater, and their agreement."""
    from equipoise.lab.quality.form import read_form, read_key
    from equipoise.lab.quality.rows import add_filled

    forms, names = filled or [], rater or []
    if len(forms) != len(names) or bool(forms) != (key is not None):
        raise InputError(
            f"give --key and one --rater a --filled; got {len(forms)} forms, {len(names)} raters "
            f"and {'a' if key else 'no'} key"
        )
    if key is not None:
        read = read_key(key)
        ratings = [read_form(path, read) for path in forms]  # all are read before one is kept
        for name, found in zip(names, ratings, strict=True):
            add_filled(run, name, read, found)
    _show(run, as_json=as_json)


def _show(run: Path, *, as_json: bool, kind: str | None = None) -> None:
    from equipoise.cli._io import print_json, show
    from equipoise.lab.quality.rows import of_kind, read_quality
    from equipoise.lab.quality.scores import summary
    from equipoise.lab.quality.tables import markdown

    rated = read_quality(run)
    found = summary(rated if kind is None else of_kind(rated, kind))
    if as_json:
        print_json(found)
    else:
        show(markdown(found))


def _pairs(run: Path, pack: Path, generator: str | None, seed: int) -> "Pairs":
    from equipoise.cli._io import note
    from equipoise.lab.answers.store import read_cells
    from equipoise.lab.pack import read_pack
    from equipoise.lab.quality.pairs import make_pairs

    made = make_pairs(read_cells(run), read_pack(pack), generator=generator, seed=seed)
    for setting, outcomes in made.left_out.items():
        if outcomes:
            said = ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items()))
            note(f"Without a pair, for {setting}: {said}")
    if not made.pairs:
        raise InputError(f"{run} must have a question that A and C both answered, and has none")
    return made


@contextmanager
def _told(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error, where that is a terminal."""
    from equipoise.cli._bar import bar

    with bar() as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)
