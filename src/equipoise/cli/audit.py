"""`equipoise audit`: where a corpus is one-sided, and a gate for what is new."""

import json as encoder
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli._options import Address, Detector, Engine, Workers
from equipoise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from equipoise.stance import CachedDetector

app = typer.Typer(
    help="Find the questions on which a corpus is one-sided; screen new documents.",
    invoke_without_command=True,
)

Index = Annotated[
    str | None,
    typer.Option("--index", "-i", help="A folder that `equipoise index` wrote, or a store's URL."),
]
Questions = Annotated[
    Path | None, typer.Option("--questions", "-q", help="A question a line, or JSON Lines.")
]
Labels = Annotated[
    Path | None,
    typer.Option(help="SQLite file that keeps labels, so that a stopped audit goes on."),
]
Near = Annotated[int, typer.Option(min=1, help="Passages looked at a question.")]
Floor = Annotated[float | None, typer.Option(help="Lowest cosine that is still near, -1 to 1.")]
Against = Annotated[
    Path | None, typer.Option(help="An earlier audit (-o): what shifted since then?")
]


# Long because it is the list of options.
@app.callback()
def audit(
    context: typer.Context,
    index: Index = None,
    questions: Questions = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the audit here, as JSON Lines.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write an HTML report.")] = None,
    against: Against = None,
    fail_on: Annotated[
        str, typer.Option(help="Exit 1 on these, e.g. one-sided,missing-side,shift:3.")
    ] = "",
    near: Near = 100,
    floor: Floor = None,
    mode: Annotated[str, typer.Option(help="dense, bm25 or fused retrieval.")] = "dense",
    detector: Detector = None,
    labels: Labels = None,
    engine: Engine = "local",
    workers: Workers = 2,
    address: Address = None,
    level: Annotated[float, typer.Option(help="Adjusted p-values up to this count.")] = 0.05,
    share: Annotated[float, typer.Option(help="Share of a side from which it leads.")] = 0.75,
    source_field: Annotated[str, typer.Option(help="Metadata keys, with commas.")] = "source",
    language_field: Annotated[str, typer.Option(help="As well.")] = "language,lang",
    date_field: Annotated[str, typer.Option(help="As well.")] = "arrived,date",
    date: Annotated[str | None, typer.Option(help="Date of this audit (today).")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON Lines.")] = False,
) -> None:
    """Label what is near each question, and report where one side leads.

    Exit status 1 when a limit of --fail-on is reached.
    """
    if context.invoked_subcommand is not None:
        return
    from equipoise.audit import (
        Fields,
        Settings,
        failures,
        header,
        parse_limits,
        read_audit,
        read_questions,
        record,
        write_audit,
        write_report,
    )
    from equipoise.audit import audit as audited
    from equipoise.audit.source import open_source
    from equipoise.audit.thresholds import require_earlier
    from equipoise.audit.words import summary
    from equipoise.cli._io import check_page_path, note, show

    index, questions = _needed(index, questions)
    check_page_path(html)
    limits = parse_limits(fail_on)
    require_earlier(limits, against is not None)
    day = _date(date)
    fields = Fields(*(_keys(value) for value in (source_field, language_field, date_field)))
    settings = Settings(near=near, floor=floor, level=level, share=share, fields=fields)
    asked = read_questions(questions)
    earlier = None if against is None else read_audit(against)
    source = open_source(index, mode=mode)  # type: ignore[arg-type]  # checked there
    kept = labels or (None if out is None else out.with_name(out.name + ".labels"))
    spread = (engine, workers, address)
    with _detector(detector, kept, *spread) as model, _told("questions") as progress:
        made = audited(
            source.retriever, asked, detector=model, settings=settings, corpus=source.identity,
            date=day, against=earlier, progress=progress,
        )  # fmt: skip
    if out is not None:
        write_audit(made, out)
        note(f"Wrote {out}")
    if html is not None:
        write_report(made, html)
        note(f"Wrote {html}")
    if json:
        for row in (header(made), *map(record, made.questions)):
            typer.echo(encoder.dumps(row, allow_nan=False))
    else:
        show(summary(made))
    if failed := failures(made, limits):
        note("Failed: " + "; ".join(failed))
        raise typer.Exit(1)


# Long because it is the list of options.
@app.command()
def ingest(
    index: Index = None,
    questions: Questions = None,
    documents: Annotated[
        str, typer.Option("--documents", "-d", help="JSON Lines ('text' in each), or - for stdin.")
    ] = "-",
    mode: Annotated[str, typer.Option(help="warn, quarantine or strict.")] = "quarantine",
    quarantine: Annotated[
        Path | None, typer.Option(help="Where documents that are held go, with reasons.")
    ] = None,
    standing: Annotated[
        Path | None, typer.Option(help="An audit of the index as it is, in place of a new one.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="An audit to trust: what came since counts with the batch.")
    ] = None,
    near: Annotated[int | None, typer.Option(min=1, help="As for audit (100).")] = None,
    floor: Floor = None,
    detector: Detector = None,
    labels: Labels = None,
) -> None:
    """Screen new documents: those that may come in on stdout, the others kept apart.

    With --mode strict nothing is passed, and the exit status is 1, when any document is held.
    """
    from equipoise._candidates import to_candidates
    from equipoise.audit import Settings, held_row, read_audit, read_questions, screen
    from equipoise.audit import audit as audited
    from equipoise.audit.source import open_source
    from equipoise.audit.words import screened
    from equipoise.cli._io import note, read_candidates

    if index is None or (questions is None) == (standing is None):
        raise InputError("give --index, and either --questions or --standing")
    if standing is not None and not (near is None and floor is None):
        raise InputError("--near and --floor are those of the --standing audit: leave them out")
    if mode == "quarantine" and quarantine is None:
        raise InputError("--mode quarantine needs --quarantine FILE for what is held")
    rows = read_candidates(documents)
    _, batch, _ = to_candidates(rows)
    source = open_source(index)
    trusted = None if baseline is None else read_audit(baseline)
    with _detector(detector, labels) as model:
        if standing is not None:
            now = read_audit(standing)
            if now.corpus != source.identity:
                note(f"The audit is of {now.corpus}, and the index is {source.identity}.")
        else:
            asked = read_questions(questions)  # type: ignore[arg-type]  # one of the two is given
            with _told("questions") as progress:
                now = audited(
                    source.retriever, asked, detector=model, corpus=source.identity,
                    settings=Settings(near=near or Settings().near, floor=floor),
                    progress=progress,
                )  # fmt: skip
        result = screen(
            batch, now, embedder=source.embedder, detector=model, mode=mode,
            chunk_words=source.chunk_words, baseline=trusted,
        )  # fmt: skip
    written = {candidate.id: row for candidate, row in zip(batch, rows, strict=True)}
    if quarantine is not None:
        _write_lines(quarantine, [held_row(result, d, written[d.id]) for d in result.held])
    note(screened(result))
    for document in result.accepted:
        typer.echo(encoder.dumps(written[document.id]))
    if result.mode == "strict" and not result.passed:
        raise typer.Exit(1)


@app.command()
def propose(
    index: Index = None,
    clusters: Annotated[int, typer.Option(min=1, help="Groups of passages to look at.")] = 30,
    seed: Annotated[int, typer.Option(help="Fixes the clusters.")] = 20260905,
    detector: Detector = None,
    labels: Labels = None,
) -> None:
    """Propose questions from the corpus itself, as JSON Lines to be read and mended by hand."""
    from equipoise.audit import propose as proposed
    from equipoise.audit.source import open_source
    from equipoise.cli._io import note

    if index is None:
        raise InputError("give --index, a folder that `equipoise index` wrote")
    source = open_source(index)
    with _detector(detector, labels) as model, _told("clusters") as progress:
        found = proposed(
            source.passages(), detector=model, clusters=clusters, seed=seed, progress=progress
        )
    for one in found:
        typer.echo(encoder.dumps(one.to_dict()))
    note(
        f"{len(found)} of {clusters} clusters hold both sides. These are guesses from words that "
        "stand out: read them, and write the questions that you mean."
    )


def _needed(index: str | None, questions: Path | None) -> tuple[str, Path]:
    if index is None or questions is None:
        raise InputError(
            "give --index and --questions (a question a line); `equipoise audit propose` can "
            "propose questions from the index"
        )
    return index, questions


def _keys(value: str) -> tuple[str, ...]:
    return tuple(key.strip() for key in value.split(",") if key.strip())


@contextmanager
def _detector(
    name: str | None,
    path: Path | None,
    engine: str = "local",
    workers: int = 1,
    address: str | None = None,
) -> "Iterator[CachedDetector]":
    from equipoise.cli._io import settings_with
    from equipoise.stance import CachedDetector, load_detector

    settings = settings_with({"detector": name})
    if engine not in ("local", "ray"):
        raise InputError(f'--engine must be "local" or "ray", got {engine!r}')
    if engine == "ray":
        from equipoise.scale import RayDetector

        with (
            RayDetector(settings.detector, actors=workers, address=address) as spread,
            CachedDetector(spread, path=path) as cached,
        ):
            yield cached
        return
    model = load_detector(settings.detector, threads=settings.detector_threads)
    with CachedDetector(model, path=path) as cached:
        yield cached


@contextmanager
def _told(what: str) -> "Iterator[Callable[[int, int], None]]":
    from equipoise.cli._bar import told_by_bar

    with told_by_bar() as told:
        yield lambda done, total: told(what, done, total)


def _write_lines(path: Path, rows: list[dict[str, object]]) -> None:
    from equipoise.cli._io import write_file

    write_file(path, "".join(encoder.dumps(row) + "\n" for row in rows))


def _date(given: str | None) -> str:
    """`given`, or today, as an ISO date."""
    from datetime import date

    try:
        return (date.today() if given is None else date.fromisoformat(given)).isoformat()
    except ValueError as error:
        raise InputError(f"--date must be a date such as 2026-11-30, got {given!r}") from error
