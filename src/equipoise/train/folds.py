"""Folds that hold out whole topic groups, so that one debate never lies on both sides."""

import csv
import random
from collections.abc import Iterable, Mapping
from pathlib import Path

from equipoise.errors import InputError

FOLDS = 6
"""SP 3.3."""


def read_groups(path: Path) -> dict[str, str]:
    """Topic -> group, from a tab-separated file with the columns `topic` and `group`.

    Raises:
        InputError: the file is not there, or lacks a column.
    """
    if not path.is_file():
        raise InputError(f"{path} must be there, so that no debate lies on both sides, and is not")
    with path.open(encoding="utf-8", newline="") as lines:
        table = csv.DictReader(lines, delimiter="\t")
        if not {"topic", "group"} <= set(table.fieldnames or ()):
            raise InputError(f"{path} must have the columns topic, group; got {table.fieldnames}")
        return {row["topic"]: row["group"] for row in table}


def fold_of_topic(
    topics: Iterable[str],
    groups: Mapping[str, str],
    *,
    folds: int = FOLDS,
    seed: int = 20260831,
) -> dict[str, int]:
    """Topic -> fold in [0, folds). Topics of one group share a fold.

    Groups are sorted, shuffled with `seed`, and dealt round robin: the same topics and seed give
    the same folds on every machine. Source: SP 3.3 (6 folds, seed 20260831); groups are ours.
    """
    topics = list(topics)
    names = sorted({groups.get(topic, topic) for topic in topics})
    random.Random(seed).shuffle(names)
    fold = {name: index % folds for index, name in enumerate(names)}
    return {topic: fold[groups.get(topic, topic)] for topic in topics}
