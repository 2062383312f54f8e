"""`equipoise lab judge` and its kin: verdicts on answers, and how far a judge can be trusted."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from equipoise.lab.answers.store import Cell
    from equipoise.lab.judge.base import Judge

SPEC = (
    "stance (a local model), the folder of a stance model, or language models as provider/name, "
    "with commas between."
)


def judge(
    run: Annotated[Path, typer.Argument(help="Folder with answers.")],
    pack: Annotated[Path, typer.Option(help="The pack that the questions are from.")],
    judge: Annotated[str, typer.Option(help=SPEC)] = "stance",
    unsure_below: Annotated[
        float, typer.Option(help="A stance model less sure than this gives no verdict.")
    ] = 0.0,
    max_unparsed: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share without a verdict above which to end with 1."),
    ] = 0.2,
    at_once: Annotated[int, typer.Option(min=1, help="Answers judged side by side.")] = 8,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of a stance model.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Judge the answers of a run that this judge has not judged yet."""
    from equipoise.cli._bar import told_by_bar
    from equipoise.cli._io import note, print_json, show
    from equipoise.lab.answers.store import read_cells
    from equipoise.lab.judge import load_judge
    from equipoise.lab.judge.run import judge_answers, question_texts

    def load(cell: "Cell") -> "Judge":
        return load_judge(
            judge,
            generator=cell.generator,
            detector=str(cell.settings["labels"]),
            unsure_below=unsure_below,
            threads=threads,
            cache=run / "cache" / "verdicts.sqlite",
        )

    with told_by_bar() as told:
        try:
            done = judge_answers(
                run,
                question_texts(pack, read_cells(run)),
                load,
                at_once=at_once,
                progress=told,
            )
        except KeyboardInterrupt:
            note(f"Stopped. The same command goes on from what is in {run}")
            raise
    said = {outcome.value: count for outcome, count in done.outcomes.items()}
    if as_json:
        print_json({"judge": done.judge, "written": done.written, "kept": done.kept, **said})
    else:
        show("\n".join([done.judge, *(f"  {name}: {count}" for name, count in said.items())]))
    note(f"{done.written} verdicts written, {done.kept} kept, {done.errors} errors")
    if done.errors:
        note(f"Answers that failed are in no mean. The first failure: {done.first_error}")
    unread = said.get("unparsed", 0) + said.get("error", 0)
    share = unread / max(1, sum(said.values()))
    if share > max_unparsed:
        note(
            f"Incomplete: {unread} answers ({share:.0%}) have no verdict, more than "
            f"--max-unparsed {max_unparsed:g}. They are counted, and in no mean"
        )
    if done.errors or share > max_unparsed:
        raise typer.Exit(1)


def judge_check(
    labels: Annotated[Path, typer.Argument(help="Labelled answers, JSON Lines.")],
    judge: Annotated[str, typer.Option(help=SPEC)] = "stance",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the check as JSON, for a report.")
    ] = None,
    generator: Annotated[
        str, typer.Option(help="Who wrote the answers: a judge of its family is left out.")
    ] = "local",
    detector: Annotated[
        str, typer.Option(help="Who labelled the documents: it may not judge.")
    ] = "default",
    unsure_below: Annotated[
        float, typer.Option(help="A stance model less sure than this gives no verdict.")
    ] = 0.0,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of a stance model.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the check as JSON.")] = False,
) -> None:
    """Compare a judge with the labels of people who read the answers."""
    from equipoise.cli._bar import told_by_bar
    from equipoise.cli._io import note, print_json, show, write_file
    from equipoise.lab.judge import load_judge
    from equipoise.lab.judge.check import ask, check, labels_digest, read_labels
    from equipoise.lab.judge.shown import as_dict, as_json_text, as_text

    read = read_labels(labels)
    made = load_judge(
        judge, generator=generator, detector=detector, unsure_below=unsure_below, threads=threads
    )
    with told_by_bar() as told:
        verdicts = ask(made, read, progress=told)
    found = check(made.name, labels_digest(labels), read, verdicts)
    if out is not None:
        write_file(out, as_json_text(found))
    if as_json:
        print_json(as_dict(found))
    else:
        show(as_text(found))
    errors = [verdict.detail for verdict in verdicts if verdict.outcome.value == "error"]
    if errors:
        note(f"{len(errors)} answers could not be judged. The first failure: {errors[0]}")
        raise typer.Exit(1)


def judge_sheet(
    run: Annotated[Path, typer.Argument(help="Folder with answers.")],
    pack: Annotated[Path, typer.Option(help="The pack that the questions are from.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the sheet.")],
    count: Annotated[int, typer.Option(min=1, help="Answers in the sheet.")] = 120,
    seed: Annotated[int, typer.Option(help="Of the draw and the order.")] = 20260905,
    judge: Annotated[
        str | None, typer.Option(help="Name of the judge whose labels part the answers.")
    ] = None,
) -> None:
    """Draw answers for people to read, blinded: a sheet, its key, and what is asked."""
    from equipoise.cli._io import note
    from equipoise.lab.answers.store import read_cells
    from equipoise.lab.judge.run import question_texts
    from equipoise.lab.judge.sheet import make_sheet, write_sheet

    cells = read_cells(run, judge=judge)
    items = make_sheet(cells, question_texts(pack, cells), count=count, seed=seed)
    write_sheet(items, out)
    note(f"{len(items)} answers in {out / 'sheet.jsonl'}. Readers must not see key.json")


def judge_labels(
    sheet: Annotated[Path, typer.Argument(help="Folder of a sheet.")],
    readers: Annotated[list[Path], typer.Argument(help="The sheet as each reader filled it in.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File for the labelled answers.")],
    settled: Annotated[
        Path | None, typer.Option(help="A sheet that settles where readers differ.")
    ] = None,
) -> None:
    """Put together what readers said; where they differ and nothing settles it, nothing is done."""
    from equipoise.cli._io import note, show
    from equipoise.lab.judge.check import between_readers
    from equipoise.lab.judge.sheet import merge, write_labels
    from equipoise.lab.judge.shown import agreement_text

    merged = merge(sheet, readers, settled)
    if merged.apart:
        show("\n".join(merged.apart))
        note(
            f"Readers differ on these {len(merged.apart)} answers, or fewer than two read them. "
            "Settle them in a copy of the sheet and give it as --settled"
        )
        raise typer.Exit(1)
    write_labels(merged.labels, out)
    note(f"{len(merged.labels)} labelled answers in {out}")
    for pair, agreement in between_readers(merged.labels).items():
        show(agreement_text(pair, agreement))
