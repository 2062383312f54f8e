"""A run with its held-out rows judged; what is judged is kept, so that no row is judged twice."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from equipoise.train.data import Row, cap, read_own
from equipoise.train.encoder import load_encoder
from equipoise.train.float_detector import FloatDetector, judge_rows
from equipoise.train.folds import FOLDS
from equipoise.train.mixture import Mixture, build
from equipoise.train.recipe import Recipe
from equipoise.train.run import Stage, Watcher, check_warm_start, claim, train
from equipoise.train.score import Judged


@dataclass(frozen=True, slots=True)
class Split:
    """What of the rows is held out, and how many held-out rows are judged.

    Attributes:
        fold: the fold held out, in [0, folds), or None for the worked example alone.
        folds: how many folds there are, >= 2.
        held_rows: held-out rows judged at most, an equal share a source; None judges all.
    """

    fold: int | None = 0
    folds: int = FOLDS
    held_rows: int | None = None


def judged_run(
    data: Path,
    recipe: Recipe,
    out: Path,
    *,
    split: Split,
    warm_start: Path | None = None,
    watcher: Watcher | None = None,
) -> tuple[Mixture, list[Judged]]:
    """(the rows of the run, the held-out rows as its float model judges them).

    A finished run in `out` (one with `judged.jsonl`) is read, not run again; a stopped one goes on.

    Raises:
        InputError: see `run.train`.
    """
    path = out / "judged.jsonl"
    if path.is_file() and (out / "model" / "config.json").is_file():
        check_warm_start(warm_start)
        claim(out, recipe, fold=split.fold, folds=split.folds)
        mixture = build(data, recipe, fold=split.fold, folds=split.folds)
    else:
        mixture = train(
            data,
            recipe,
            out,
            fold=split.fold,
            folds=split.folds,
            warm_start=warm_start,
            watcher=watcher,
        )
    rows = rows_to_judge(mixture, recipe, split.held_rows)

    def judged() -> list[Judged]:
        if watcher is not None:
            watcher.stage(Stage("scoring", len(rows)))
        detector = FloatDetector(load_encoder(out / "model"), max_length=recipe.max_length)
        return judge_rows(detector, rows, progress=watcher.step if watcher else None)

    return mixture, kept(path, rows, judged)


def rows_to_judge(mixture: Mixture, recipe: Recipe, limit: int | None) -> list[Row]:
    """The held-out rows, and the project's test examples where the run learned from its others.

    With a limit, an equal share of it from every source, spread over topics.
    """
    rows = [*mixture.held, *(read_own("test") if recipe.own else [])]
    if limit is None:
        return rows
    by_source: dict[str, list[Row]] = {}
    for row in rows:
        by_source.setdefault(row.source, []).append(row)
    rng = random.Random(recipe.seed)
    share = max(1, limit // max(1, len(by_source)))
    return [row for members in by_source.values() for row in cap(members, share, rng=rng)]


def kept(path: Path, rows: Sequence[Row], judge: Callable[[], list[Judged]]) -> list[Judged]:
    """What `path` holds where that is of these rows, else what `judge` gives, written there."""
    if path.is_file():
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        if [(line["source"], line["id"]) for line in lines] == [(r.source, r.id) for r in rows]:
            return [
                Judged(row, tuple(line["probabilities"]))
                for row, line in zip(rows, lines, strict=True)
            ]
    judged = judge()
    part = path.with_suffix(".part")
    part.write_text("".join(_line(item) for item in judged), encoding="utf-8")
    part.replace(path)
    return judged


def _line(item: Judged) -> str:
    row = item.row
    entry = {"id": row.id, "source": row.source, "stance": row.stance}
    return json.dumps({**entry, "probabilities": item.probabilities}) + "\n"
