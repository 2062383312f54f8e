"""A whole run: rows, encoder, warm-up, teacher, stance; its folder continues when run again.

RUN/recipe.json   what is trained on what (a folder is for one recipe and fold)
RUN/rows.json     ids of training and held-out rows
RUN/warm_up/ RUN/stance/    log.jsonl, checkpoint.pt
RUN/teacher.jsonl           the teacher's probabilities, one line a pair
RUN/model/                  config, weights, tokenizer.json
"""

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from equipoise.errors import InputError
from equipoise.train.batches import (
    Example,
    Target,
    encode,
    inverse_frequency,
    mixed,
    one_hot,
)
from equipoise.train.data import Row
from equipoise.train.encoder import Encoder, freeze, load_encoder, set_dropout, trim
from equipoise.train.fit import fit, plan_steps
from equipoise.train.mixture import Mixture, build
from equipoise.train.recipe import Recipe
from equipoise.train.teach import taught


@dataclass(frozen=True, slots=True)
class Stage:
    """What a run does next.

    Attributes:
        name: "warm-up", "teacher", "stance" or "scoring".
        examples: pairs.
        tokens: of all examples together, without padding; 0 where none are counted.
        steps: of the optimizer; 0 where there are none.
    """

    name: str
    examples: int
    tokens: int = 0
    steps: int = 0


class Watcher(Protocol):
    """Is told how a run goes."""

    def rows(self, mixture: Mixture) -> None:
        """The rows are read."""
        ...

    def stage(self, stage: Stage) -> None:
        """A stage begins."""
        ...

    def step(self, done: int, total: int, loss: float | None) -> None:
        """So much of the stage is done; the mean loss since the last call where there is one."""
        ...


def train(
    data: Path,
    recipe: Recipe,
    out: Path,
    *,
    fold: int | None = 0,
    folds: int = 6,
    warm_start: Path | None = None,
    watcher: Watcher | None = None,
) -> Mixture:
    """Train by `recipe` and leave the model in `out/model`; returns the rows it used.

    Args:
        data: see `mixture.build`.
        recipe: every knob.
        out: the run's folder. Where it holds a stopped run of the same recipe, that goes on.
        fold: the fold held out, or None.
        folds: how many folds there are.
        warm_start: another run's folder whose warmed-up encoder is taken instead of a warm-up.
        watcher: told of rows, stages and every twentieth step.

    Raises:
        InputError: the folder holds a run of another recipe, or data, encoder or the run to start
            from are missing.
    """
    check_warm_start(warm_start)
    claim(out, recipe, fold=fold, folds=folds)
    mixture = build(data, recipe, fold=fold, folds=folds)
    told = watcher if watcher is not None else _Nobody()
    told.rows(mixture)
    _write(out / "rows.json", {"train": _ids(mixture.train), "held": _ids(mixture.held)})
    encoder = _warmed(mixture, recipe, out, warm_start, told)
    rows = [*mixture.train, *mixture.crossed]
    targets = _targets(mixture, recipe, out, told)
    weights = inverse_frequency(mixture.train) if recipe.class_weights else None
    examples = encode(rows, targets, encoder.pairs, max_length=recipe.max_length, weights=weights)
    freeze(encoder.model, recipe.frozen_layers)
    set_dropout(encoder.model, recipe.dropout)
    told.stage(_fit_stage("stance", examples, recipe))
    fit(encoder, examples, recipe, out / "stance", progress=told.step)
    encoder.save(out / "model")
    return mixture


class _Nobody:
    """Told, and says nothing."""

    def rows(self, mixture: Mixture) -> None:
        pass

    def stage(self, stage: Stage) -> None:
        pass

    def step(self, done: int, total: int, loss: float | None) -> None:
        pass


def _fit_stage(name: str, examples: Sequence[Example], recipe: Recipe) -> Stage:
    tokens = sum(len(example.pair.ids) for example in examples)
    return Stage(name, len(examples), tokens, plan_steps(examples, recipe))


def check_warm_start(run: Path | None) -> None:
    """Nothing, when `run` is None or a run's folder with a finished warm-up.

    Raises:
        InputError: it is not.
    """
    if run is not None and not (run / "warm_up" / "model" / "config.json").is_file():
        raise InputError(
            f"a warm start must be the folder of a run whose warm-up is finished; {run} has no "
            "warm_up/model"
        )


def claim(out: Path, recipe: Recipe, *, fold: int | None, folds: int) -> None:
    """Make `out` the folder of this recipe and fold, or see that it is.

    Raises:
        InputError: it holds a run of another recipe or fold.
    """
    settings = {"recipe": recipe.to_dict(), "fold": fold, "folds": folds}
    out.mkdir(parents=True, exist_ok=True)
    path = out / "recipe.json"
    if path.exists() and json.loads(path.read_text("utf-8")) != json.loads(json.dumps(settings)):
        raise InputError(
            f"{out} must be new or hold a run of the same recipe and fold; it holds another "
            f"({path}). Give another folder"
        )
    _write(path, settings)


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _ids(rows: Iterable[Row]) -> list[str]:
    return [f"{row.source}/{row.id}" for row in rows]


def _warmed(
    mixture: Mixture,
    recipe: Recipe,
    out: Path,
    warm_start: Path | None,
    told: Watcher,
) -> Encoder:
    """The trimmed encoder after its warm-up; a finished warm-up is read from the folder."""
    import torch

    folder = out / "warm_up"
    if warm_start is not None:
        shutil.copytree(warm_start / "warm_up", folder, dirs_exist_ok=True)
    if (folder / "model" / "config.json").is_file():
        return load_encoder(folder / "model")
    torch.manual_seed(recipe.seed)  # of a new head
    corpus = [*mixture.texts]
    corpus += [f"{row.question} {row.text}" for row in (*mixture.warm_up, *mixture.train)]
    encoder = trim(
        load_encoder(recipe.base), corpus, layers=recipe.layers, min_count=recipe.min_count
    )
    if mixture.warm_up:
        targets = [one_hot(r.stance, smoothing=recipe.label_smoothing) for r in mixture.warm_up]
        examples = encode(mixture.warm_up, targets, encoder.pairs, max_length=recipe.max_length)
        once = replace(recipe, epochs=1)
        set_dropout(encoder.model, recipe.dropout)
        told.stage(_fit_stage("warm-up", examples, once))
        fit(encoder, examples, once, folder, progress=told.step)
        encoder.save(folder / "model")
        (folder / "checkpoint.pt").unlink(missing_ok=True)
    return encoder


def _targets(mixture: Mixture, recipe: Recipe, out: Path, told: Watcher) -> list[Target]:
    """What the outputs should be for the labelled rows and then the crossed ones."""
    labels = [one_hot(row.stance, smoothing=recipe.label_smoothing) for row in mixture.train]
    if recipe.teacher is None:
        if mixture.crossed:
            raise InputError("crossed pairs have no label of their own: they need a teacher")
        return labels
    asked = [*(mixture.train if recipe.teacher_share else ()), *mixture.crossed]
    told.stage(Stage("teacher", len(asked)))
    given = taught(recipe.teacher, asked, out / "teacher.jsonl", progress=told.step)
    if not recipe.teacher_share:
        return [*labels, *given]
    known = [
        mixed(label, soft, recipe.teacher_share)
        for label, soft in zip(labels, given[: len(labels)], strict=True)
    ]
    return [*known, *given[len(labels) :]]
