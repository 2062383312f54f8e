"""The rows of one run: what is learned, what is held out, what a teacher labels."""

import gzip
import json
import random
from dataclasses import dataclass
from pathlib import Path

from equipoise.errors import InputError
from equipoise.train.data import (
    Row,
    as_claims,
    cap,
    crossed,
    joined,
    off_topic,
    opposites,
    read_nli,
    read_own,
    read_sources,
)
from equipoise.train.folds import FOLDS, fold_of_topic, read_groups
from equipoise.train.recipe import Recipe

WORKED_EXAMPLE = "Should birth control pills be available over the counter?"
"""The question of the README: its topic group is in no run's training rows."""
HELD_OFF_TOPIC = 300


@dataclass(frozen=True, slots=True)
class Mixture:
    """Rows of a run.

    Attributes:
        train: labelled rows, shuffled.
        held: rows of topic groups that no row of `train` comes from, by source.
        warm_up: inference pairs read before `train`.
        crossed: pairs that only a teacher labels.
        texts: unlabelled text that the vocabulary is counted on too.
    """

    train: tuple[Row, ...]
    held: tuple[Row, ...]
    warm_up: tuple[Row, ...]
    crossed: tuple[Row, ...]
    texts: tuple[str, ...]


def build(data: Path, recipe: Recipe, *, fold: int | None = 0, folds: int = FOLDS) -> Mixture:
    """The rows of `recipe` from the files under `data`; the same seed gives the same rows.

    Args:
        data: a folder with `stance/` and `topic_groups.tsv`; `nli/` and `background/` where the
            recipe asks for them.
        recipe: which sources, and how many rows of each.
        fold: the fold held out, in [0, folds), or None to hold out the worked example alone.
        folds: into how many folds the topic groups are dealt, >= 2.

    Raises:
        InputError: a file is missing or damaged, or `fold` is out of range.
    """
    check_fold(fold, folds)
    rng = random.Random(recipe.seed)
    sources = read_sources(data / "stance", recipe.sources)
    groups = read_groups(data / "topic_groups.tsv")
    everything = [row for rows in sources.values() for row in rows]
    dealt = fold_of_topic({row.topic for row in everything}, groups, folds=folds, seed=recipe.seed)
    example = {groups.get(r.topic, r.topic) for r in everything if r.question == WORKED_EXAMPLE}

    held_groups = example | {groups.get(topic, topic) for topic, at in dealt.items() if at == fold}

    def is_held(topic: str) -> bool:
        return groups.get(topic, topic) in held_groups

    train: list[Row] = []
    sentences: list[Row] = []
    for name, rows in sources.items():
        free = [row for row in rows if not is_held(row.topic)]
        train += cap(free, recipe.sources[name], rng=rng)
        sentences += free
    needs_texts = recipe.off_topic or recipe.crossed or recipe.min_count
    background = background_texts(data) if needs_texts else []
    texts = background + [(row.topic, row.text) for row in everything if row.source == "procon20"]
    free_texts = [pair for pair in texts if not is_held(pair[0])]
    labelled = list(train)
    train += joined(sentences, recipe.joined, rng=rng)
    train += off_topic(labelled, free_texts, groups, recipe.off_topic, rng=rng)
    askable = as_claims(labelled, recipe.claims, rng=rng) if recipe.crossed else []
    passages = free_texts + [(row.topic, row.text) for row in labelled]
    pairs = crossed(askable, passages, groups, recipe.crossed, rng=rng)
    train = opposites(as_claims(train, recipe.claims, rng=rng), recipe.opposites, rng=rng)
    train += read_own("train") * recipe.own if recipe.own else []
    rng.shuffle(train)
    held = [row for row in everything if is_held(row.topic)]
    if recipe.off_topic:
        held_texts = [pair for pair in texts if is_held(pair[0])]
        held += off_topic(held, held_texts, groups, HELD_OFF_TOPIC, rng=rng)
    warm_up = read_nli(data / "nli", recipe.nli, rng=random.Random(recipe.seed))
    return Mixture(
        tuple(train),
        tuple(held),
        tuple(warm_up),
        tuple(pairs),
        tuple(text for _, text in background),
    )


def check_fold(fold: int | None, folds: int) -> None:
    """Nothing, when there is such a fold.

    Raises:
        InputError: there are fewer than 2 folds, or `fold` is neither None nor in [0, folds).
    """
    if folds < 2 or (fold is not None and not 0 <= fold < folds):
        raise InputError(f"fold must lie in [0, folds) with folds >= 2, got {fold} of {folds}")


def background_texts(data: Path) -> list[tuple[str, str]]:
    """(topic, text) of the unlabelled passages under `data/background`.

    Raises:
        InputError: a file is missing.
    """
    folder = data / "background"
    wiki, xquad = folder / "wikipedia_topics.jsonl.gz", folder / "xquad_en.jsonl"
    for path in (wiki, xquad):
        if not path.is_file():
            raise InputError(
                f"{path} must be there for off-topic pairs and the vocabulary, and is not"
            )
    with gzip.open(wiki, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    with xquad.open(encoding="utf-8") as lines:
        rows += [json.loads(line) for line in lines]
    return [(row["topic"] or row["title"], row["text"]) for row in rows]
