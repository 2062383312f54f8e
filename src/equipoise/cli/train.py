"""`equipoise train`: labelled pairs in, a trained encoder and its held-out scores out."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.errors import InputError

if TYPE_CHECKING:
    from equipoise.cli._training import TerminalWatcher
    from equipoise.train.held import Split
    from equipoise.train.recipe import Recipe

DEFAULT_FOLDS = 6


# Long because it is the list of options; the work is in `_run`.
def train(
    data: Annotated[
        Path,
        typer.Option(help="Folder with stance/ and topic_groups.tsv (and nli/, background/)."),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The run's folder; a stopped run in it goes on.")
    ],
    preset: Annotated[
        str, typer.Option(help="The recipe: paper, equipoise, continue, small, taught, judge ...")
    ] = "equipoise",
    base: Annotated[
        str | None,
        typer.Option(help="Encoder to start from: a hub id, a folder, or a bundled detector."),
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1)] = None,
    learning_rate: Annotated[float | None, typer.Option()] = None,
    max_length: Annotated[
        int | None, typer.Option(help="Tokens of question and passage together.")
    ] = None,
    batch_tokens: Annotated[
        int | None, typer.Option(min=1, help="Padded tokens of a step (in place of rows a step).")
    ] = None,
    layers: Annotated[
        int | None, typer.Option(min=0, help="Lowest layers kept; 0 keeps all.")
    ] = None,
    min_count: Annotated[
        int | None,
        typer.Option(min=0, help="Drop word pieces seen less often; 0 keeps all, as BPE needs."),
    ] = None,
    seed: Annotated[int | None, typer.Option()] = None,
    bfloat16: Annotated[
        bool | None, typer.Option("--bfloat16/--float32", help="Type of the matrix products.")
    ] = None,
    dropout: Annotated[
        float | None, typer.Option(help="Share of values dropped while training.")
    ] = None,
    teacher: Annotated[
        str | None, typer.Option(help="Detector whose probabilities are learned too.")
    ] = None,
    teacher_share: Annotated[
        float | None,
        typer.Option(help="Weight of its probabilities against a label; 0: crossed pairs alone."),
    ] = None,
    crossed: Annotated[
        int | None, typer.Option(min=0, help="Unlabelled pairs that the teacher labels.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of PyTorch (its own choice).")
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(min=1, help="A trial: at most so many rows, an equal share a source."),
    ] = None,
    fold: Annotated[int | None, typer.Option(help="The fold held out (0).")] = None,
    folds: Annotated[int, typer.Option(help="Folds of topic groups.")] = DEFAULT_FOLDS,
    no_fold: Annotated[
        bool, typer.Option("--no-fold", help="Hold out the worked example alone.")
    ] = False,
    warm_start: Annotated[
        Path | None, typer.Option(help="Another run's folder, whose finished warm-up is taken.")
    ] = None,
    cv: Annotated[
        bool, typer.Option("--cv", help="Cross-validation: a run for each fold, one report.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Train a stance model and score it on topics that it has not seen."""
    changes = {
        "base": base,
        "epochs": epochs,
        "learning_rate": learning_rate,
        "max_length": max_length,
        "batch_tokens": batch_tokens,
        "min_count": min_count,
        "seed": seed,
        "bfloat16": bfloat16,
        "dropout": dropout,
        "teacher": teacher,
        "teacher_share": teacher_share,
        "crossed": crossed,
    }
    given: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
    if layers is not None:
        given["layers"] = layers or None
    if batch_tokens is not None:
        given["batch_rows"] = None  # else a preset's rows a step would win
    _check(data, fold, folds, no_fold=no_fold, cv=cv)
    from equipoise.train.recipe import preset as preset_of
    from equipoise.train.recipe import trial

    recipe = preset_of(preset, **given)
    recipe = recipe if max_rows is None else trial(recipe, max_rows)
    _prepare(threads)
    from equipoise.train.held import Split

    split = Split(None if no_fold else fold or 0, folds, max_rows)
    _run(data, recipe, out, split, warm_start=warm_start, cv=cv, as_json=as_json)


def _check(data: Path, fold: int | None, folds: int, *, no_fold: bool, cv: bool) -> None:
    if not (data / "stance").is_dir():
        raise InputError(f"--data must be a folder with stance/ in it, and {data} is none")
    if sum((fold is not None, no_fold, cv)) > 1:
        raise InputError("only one of --fold, --no-fold and --cv may be given")
    from equipoise.train.mixture import check_fold

    check_fold(fold, folds)


def _prepare(threads: int | None) -> None:
    """See that the libraries are there, and that they are quiet."""
    from equipoise._extras import require

    torch = require("torch", extra="train")
    transformers = require("transformers", extra="train")
    require("sklearn", extra="train")
    if threads is not None:
        torch.set_num_threads(threads)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def _run(
    data: Path,
    recipe: "Recipe",
    out: Path,
    split: "Split",
    *,
    warm_start: Path | None,
    cv: bool,
    as_json: bool,
) -> None:
    from equipoise.cli._io import note, print_json, show
    from equipoise.train.cross import cross_validate, evaluate
    from equipoise.train.report import markdown

    given: dict[str, Any] = {"split": split, "warm_start": warm_start}
    with _watcher() as watcher:
        try:
            if cv:
                report = cross_validate(data, recipe, out, watcher=watcher, **given)
            else:
                report = evaluate(data, recipe, out, watcher=watcher, **given)
        except KeyboardInterrupt:
            note(f"Stopped. The same command goes on from the last checkpoint in {out}")
            raise
    if as_json:
        print_json(report)
    else:
        show(markdown(report))
    note(f"Wrote {out / 'report.json'} and {out / 'report.md'}")


@contextmanager
def _watcher() -> Iterator["TerminalWatcher"]:
    from equipoise.cli._bar import bar as made
    from equipoise.cli._training import TerminalWatcher

    with made(speed_over_seconds=600) as bar:  # steps come slowly and differ in length
        yield TerminalWatcher(bar)
