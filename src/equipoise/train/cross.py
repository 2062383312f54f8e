"""Held-out scores: of one run, or of as many runs as there are folds, beside two baselines."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from equipoise.stance.folder import bundled_names
from equipoise.train.baselines import majority, text_only
from equipoise.train.data import Row
from equipoise.train.held import Split, judged_run, kept
from equipoise.train.mixture import Mixture, check_fold
from equipoise.train.recipe import Recipe
from equipoise.train.report import Folds, markdown, scored
from equipoise.train.run import Stage, Watcher
from equipoise.train.score import Judged

MODELS = ("model", "text-only", "majority")
_ALWAYS = (
    "Macro-F1 is the mean of the F1 of the classes that occur in the rows.",
    "text-only never sees the question (TF-IDF of words and word pairs, logistic regression); "
    "majority always says the training rows' most frequent class. Both learn from and are scored "
    "on the model's own rows.",
    '"all sources" leaves out off_topic (made pairs) and own_test (the project\'s test examples).',
    "The paper's kind: pro and con of procon20, neutral of ibm_wiki_passages.",
)


def evaluate(
    data: Path,
    recipe: Recipe,
    out: Path,
    *,
    split: Split,
    warm_start: Path | None = None,
    watcher: Watcher | None = None,
) -> dict[str, Any]:
    """Train one run in `out` and score it on its held-out rows; the report, also written there.

    Raises:
        InputError: see `run.train`.
        MissingExtraError: a library of the extra `train` is not installed.
    """
    mixture, *judged = _fold(data, recipe, out, split, warm_start, watcher)
    what = "the worked example" if split.fold is None else f"fold {split.fold} of {split.folds}"
    report = {
        "title": f"Held-out rows of one run: {what}",
        "notes": [*_ALWAYS, *_limited(split)],
        "recipe": recipe.to_dict(),
        "fold": split.fold,
        "folds": split.folds,
        "rows": [_rows(mixture)],
        "scores": _scores([judged]),
    }
    return _written(report, out)


def cross_validate(
    data: Path,
    recipe: Recipe,
    out: Path,
    *,
    split: Split,
    warm_start: Path | None = None,
    watcher: Watcher | None = None,
) -> dict[str, Any]:
    """A run for each fold in `out/fold-K`, all held-out rows pooled; the report, also written.

    A finished fold is not run again, a stopped one goes on. The warm-up knows no topics, so fold 0
    does it for all. The project's own examples are left out: their topics are in no fold.

    Args:
        data: see `mixture.build`.
        recipe: every knob; `own` is taken as 0.
        out: folder of the folds and the report.
        split: how many folds, and how many held-out rows of each are judged; `fold` is not read.
        warm_start: a run whose finished warm-up all folds take.
        watcher: told how each fold goes.

    Raises:
        InputError: see `run.train`.
        MissingExtraError: a library of the extra `train` is not installed.
    """
    check_fold(0, split.folds)
    recipe = replace(recipe, own=0)
    judged: list[list[list[Judged]]] = []
    rows = []
    for fold in range(split.folds):
        if watcher is not None:
            watcher.stage(Stage(f"fold {fold + 1} of {split.folds}", 0))
        folder = out / f"fold-{fold}"
        start = out / "fold-0" if fold and recipe.nli and warm_start is None else warm_start
        one = replace(split, fold=fold)
        mixture, *fold_judged = _fold(data, recipe, folder, one, start, watcher)
        (folder / "stance" / "checkpoint.pt").unlink(missing_ok=True)  # thrice the model's size
        judged.append(fold_judged)
        rows.append(_rows(mixture))
    report = {
        "title": f"Cross-validation over {split.folds} folds",
        "notes": [*_cross_notes(recipe, split), *_ALWAYS, *_limited(split)],
        "recipe": recipe.to_dict(),
        "folds": split.folds,
        "rows": rows,
        "scores": _scores(judged),
    }
    return _written(report, out)


def _fold(
    data: Path,
    recipe: Recipe,
    out: Path,
    split: Split,
    warm_start: Path | None,
    watcher: Watcher | None,
) -> tuple[Mixture, list[Judged], list[Judged], list[Judged]]:
    """The rows of a run, and its held-out rows as each of `MODELS` judges them."""
    mixture, judged = judged_run(
        data, recipe, out, split=split, warm_start=warm_start, watcher=watcher
    )
    rows = [item.row for item in judged]
    from_text = kept(
        out / "text_only.jsonl", rows, lambda: text_only(mixture.train, rows, seed=recipe.seed)
    )
    return mixture, judged, from_text, majority(mixture.train, rows)


def _scores(folds: list[list[list[Judged]]]) -> dict[str, Any]:
    by_model: Mapping[str, Folds] = {
        name: [fold[at] for fold in folds] for at, name in enumerate(MODELS)
    }
    return {name: scored(judged) for name, judged in by_model.items()}


def _rows(mixture: Mixture) -> dict[str, dict[str, int]]:
    """How many rows of each source were learned, held out, and read in the warm-up."""
    return {
        "train": by_source(mixture.train),
        "held": by_source(mixture.held),
        "warm_up": by_source(mixture.warm_up),
        "crossed": by_source(mixture.crossed),
    }


def by_source(rows: Iterable[Row]) -> dict[str, int]:
    """How many rows each source gives, the most first."""
    return dict(Counter(row.source for row in rows).most_common())


def _cross_notes(recipe: Recipe, split: Split) -> list[str]:
    notes = [
        f"Cross-validation over {split.folds} folds of whole topic groups: every row is judged by "
        "a model that learned from no row of its group.",
        "The project's own examples are left out of training: their topics are in no fold.",
    ]
    if recipe.nli:
        notes.append("All folds share one warm-up: inference pairs, which have no stance topics.")
    if recipe.nli and recipe.min_count:
        notes.append("The vocabulary comes with the warm-up, counted without labels on its texts.")
    seen = [name for name in (recipe.base, recipe.teacher) if name in bundled_names()]
    if seen:
        notes.append(
            f"It learns from the bundled detector {seen[0]!r}, which was trained on rows of these "
            "sources: scores of folds that it has seen are too high."
        )
    return notes


def _limited(split: Split) -> list[str]:
    if split.held_rows is None:
        return []
    return [f"A trial: at most {split.held_rows} held-out rows of a fold are judged."]


def _written(report: dict[str, Any], out: Path) -> dict[str, Any]:
    """The report, after writing `report.json` and `report.md`."""
    (out / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    (out / "report.md").write_text(markdown(report), encoding="utf-8")
    return report
