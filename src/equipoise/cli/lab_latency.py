"""`equipoise lab latency`: what labels cost on this machine, beside what an answer costs."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.errors import InputError

if TYPE_CHECKING:
    from equipoise.lab.latency import Timed
    from equipoise.lab.pack import Pack
    from equipoise.prompt import Template
    from equipoise.types import Generator


# Long because it is the list of options; the work is in `measure`.
def latency(
    pack: Annotated[Path, typer.Argument(help="Folder of a pack.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file, such as RUN/latency.json.")],
    questions: Annotated[int, typer.Option(min=1, help="The same in every row.")] = 30,
    counts: Annotated[
        str, typer.Option(help="Documents labelled at a time, with commas between.")
    ] = "1,5,10,20,32,50",
    detector: Annotated[str, typer.Option(help="As for `equipoise balance`.")] = "default",
    generator: Annotated[str, typer.Option(help="local (the embedded model) or none.")] = "none",
    embedder: Annotated[str, typer.Option(help="As for `equipoise index`.")] = "minilm",
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of the detector (all cores).")
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="Folder for vectors (none are kept).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Time the labels of retrieved documents, lazy selection, and answers.

    Other work on the machine makes every figure larger; the file says how busy it was.
    """
    if out.is_dir() or generator not in ("local", "none"):
        raise InputError(
            f"-o must name a file and --generator be local or none; got {out} and {generator!r}"
        )
    from equipoise.cli._bar import bar
    from equipoise.cli._io import print_json, show, write_file
    from equipoise.lab.latency import FORMAT, NO_COUNTERPART, machine, measure
    from equipoise.lab.pack import read_pack
    from equipoise.lab.poison.planted import pack_checksums
    from equipoise.lab.results import code_version, run_id
    from equipoise.stance import load_detector

    numbers = _numbers(counts)
    read = read_pack(pack)
    before = machine(threads)
    asked = _asked(read, questions, max(numbers), embedder, cache)
    model = load_detector(detector, threads=threads)
    with bar() as shown, _generator(generator) as (writer, template):
        tasks: dict[str, Any] = {}

        def told(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = shown.add_task(what, total=total)
            shown.update(tasks[what], completed=done, total=total)

        found = measure(
            asked, model, counts=numbers, generator=writer, template=template, told=told
        )
    said = {
        "format": FORMAT,
        "pack": read.name,
        "pack_checksum": run_id(pack_checksums(read)),
        "detector": model.name,
        "generator": None if writer is None else generator,
        "machine": before,
        "no_counterpart": NO_COUNTERPART,
        "code": code_version(),
        **found,
    }
    import json

    write_file(out, json.dumps(said, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    if as_json:
        print_json(said)
    else:
        show(lines_of(said))


def lines_of(said: Mapping[str, Any]) -> str:
    """The machine, a row a count, lazy selection, answers."""
    from equipoise.lab.cells import table

    at = said["machine"]
    rows = [
        [str(row["count"]), str(row["n"]), *_times(row), _share(row)] for row in said["labelling"]
    ]
    lazy = said["lazy"]
    read = f"{lazy['labels']['mean']:.1f} ({lazy['labels']['least']}-{lazy['labels']['most']})"
    rows.append([f"lazy: {read}", str(len(said["questions"])), *_times(lazy), _share(lazy)])
    if (answers := said["generation"]) is not None and answers["n"]:
        rows.append(["an answer", str(answers["n"]), *_times(answers), ""])
    head = ["documents labelled", "questions", "median ms", "p10", "p90", "of an answer"]
    return "\n".join(
        [
            f"{at['cpu']}, {at['usable_cores']} of {at['cores']} cores, threads "
            f"{at['threads'] or 'all'}, load before {at['load']}; {said['detector']}",
            "",
            table(head, rows),
        ]
    )


def _times(row: Mapping[str, Any]) -> list[str]:
    return [f"{row[name]:.1f}" for name in ("median_ms", "p10_ms", "p90_ms")]


def _share(row: Mapping[str, Any]) -> str:
    share = row["share_of_generation"]
    return "" if share is None else f"{share:.1%}"


def _numbers(counts: str) -> list[int]:
    try:
        found = [int(part) for part in counts.split(",")]
    except ValueError as error:
        raise InputError(f"--counts must be whole numbers with commas between: {error}") from error
    if min(found) < 1:
        raise InputError(f"--counts must be >= 1, got {min(found)}")
    return found


def _asked(
    pack: "Pack", questions: int, depth: int, embedder: str, cache: Path | None
) -> Sequence["Timed"]:
    """The questions drawn, with what is retrieved for them from the clean corpus."""
    from equipoise.lab.cases import DEPTH, Retrieval
    from equipoise.lab.compare import clean_corpus
    from equipoise.lab.labels import OracleLabels
    from equipoise.lab.latency import Timed, drawn
    from equipoise.lab.vectors import VectorCache
    from equipoise.retrieval.embedder import load_embedder

    vectors = VectorCache(load_embedder(embedder), None if cache is None else cache / "vectors")
    found = Retrieval(pack, clean_corpus(pack), vectors, depth=max(depth, DEPTH))
    chosen = set(drawn([question.id for question in pack.questions], questions))
    asked = [
        found.ask_one(number, question, OracleLabels())
        for number, question in enumerate(pack.questions)
        if question.id in chosen
    ]
    return [Timed(one.question.id, one.question.text, one.case.candidates) for one in asked]


@contextmanager
def _generator(name: str) -> Iterator[tuple["Generator | None", "Template | None"]]:
    """The embedded model with the template that suits it; nothing for "none"."""
    if name == "none":
        yield None, None
        return
    from equipoise.generation.local import LocalGenerator
    from equipoise.prompt import COMPACT

    with LocalGenerator() as made:
        yield made, COMPACT
