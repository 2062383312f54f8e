"""What a run's folder says about how its model was trained."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.errors import InputError
from equipoise.stance.folder import BUNDLED, bundled_names
from equipoise.train.data import Row
from equipoise.train.mixture import build
from equipoise.train.recipe import PRESETS, Recipe

HUB_NAMES = {
    "all-mpnet-base-v2": "sentence-transformers/all-mpnet-base-v2",
    "all-MiniLM-L6-v2": "sentence-transformers/all-MiniLM-L6-v2",
}


@dataclass(frozen=True, slots=True)
class Record:
    """A run: its recipe, which of how many folds was held out, and the ids of its rows.

    `train` and `held` are texts of the form source/id, as rows.json has them.
    """

    run: Path
    recipe: Recipe
    fold: int
    folds: int
    train: tuple[str, ...]
    held: tuple[str, ...]

    def held_rows(self, data: Path) -> list[Row]:
        """The held-out rows, made again from `data` as the run made them.

        Raises:
            InputError: `data` does not give the rows that the run held out.
        """
        rows = list(build(data, self.recipe, fold=self.fold, folds=self.folds).held)
        if tuple(f"{row.source}/{row.id}" for row in rows) != self.held:
            raise InputError(
                f"{data} must give the {len(self.held)} rows that {self.run} held out; it gives "
                f"{len(rows)} others. Name the data that the run was trained on"
            )
        return rows

    def to_dict(self) -> dict[str, Any]:
        """What the card tells of the training."""
        sittings = [_sitting(self.run / part / "log.jsonl") for part in ("warm_up", "stance")]
        return {
            "recipe": {**self.recipe.to_dict(), "base": shown_base(self.recipe.base)},
            "fold": self.fold,
            "folds": self.folds,
            "rows": dict(sorted(Counter(row.split("/", 1)[0] for row in self.train).items())),
            "preset": nearest_preset(self.recipe),
            "warm_up_examples": sittings[0]["examples"],
            "examples": sittings[1]["examples"],
            "minutes": sum(part["seconds"] for part in sittings) / 60,
            "device": sittings[1]["device"],
        }


def read_record(run: Path) -> Record:
    """The record of the run in `run`.

    Raises:
        InputError: the folder holds no run, or one that held no fold out (it cannot be scored).
    """
    try:
        settings = json.loads((run / "recipe.json").read_text("utf-8"))
        rows = json.loads((run / "rows.json").read_text("utf-8"))
        recipe = Recipe(**settings["recipe"])
        fold, folds = settings["fold"], settings["folds"]
        found = (tuple(rows["train"]), tuple(rows["held"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{run} must be a run's folder with recipe.json and rows.json: {error!r}"
        ) from error
    if fold is None:
        raise InputError(
            f"the run in {run} must hold out a fold, for calibration and scores; it held none out"
        )
    return Record(run, recipe, fold, folds, *found)


def _sitting(log: Path) -> dict[str, Any]:
    """Examples, device and seconds of a log; a resumed run counts each of its sittings."""
    if not log.is_file():
        return {"examples": 0, "device": "", "seconds": 0.0}
    total = last = 0.0
    examples, device = 0, ""
    for line in log.read_text("utf-8").splitlines():
        entry = json.loads(line)
        if entry.get("event") == "start":
            total, last = total + last, 0.0
            examples, device = entry["examples"], entry["device"]
        else:
            last = entry["seconds"]
    return {"examples": examples, "device": device, "seconds": total + last}


def nearest_preset(recipe: Recipe) -> dict[str, Any]:
    """The preset with the fewest other knobs, and those knobs (base and teacher aside)."""
    knobs = recipe.to_dict()

    def changes(name: str) -> dict[str, Any]:
        known = PRESETS[name].to_dict()
        aside = ("base", "teacher", "checkpoint_minutes")
        return {k: v for k, v in knobs.items() if known[k] != v and k not in aside}

    name = min(PRESETS, key=lambda preset: len(changes(preset)))
    return {"name": name, "changes": changes(name)}


def shown_base(base: str) -> str:
    """The name of an encoder as a card shows it: a folder's path is nobody else's business."""
    return "FOLDER" if Path(base).is_absolute() or Path(base).is_dir() else base


def base_model(base: str, given: str | None) -> str:
    """The hub id of the encoder that the weights came from in the first place.

    Args:
        base: the recipe's base: a hub id, a short name, a bundled detector or a folder.
        given: what the caller says, or None to find it.

    Raises:
        InputError: `base` does not tell and nothing was given.
    """
    if given is not None:
        return given
    if base in bundled_names():
        for line in (BUNDLED / base / "README.md").read_text("utf-8").splitlines():
            if line.startswith("base_model:"):
                return line.partition(":")[2].strip()
    name = HUB_NAMES.get(base, base)
    if name.count("/") != 1 or Path(base).is_absolute() or base.startswith("."):
        raise InputError(
            f"the encoder's public name must be given (--base-model owner/name): the run began "
            f"from {base!r}, which does not tell it"
        )
    return name


def missing_history(recipe: Recipe) -> bool:
    """True when a run went on from bundled weights, so that a card must tell what came before."""
    names: Sequence[str] = bundled_names()
    return recipe.base in names
