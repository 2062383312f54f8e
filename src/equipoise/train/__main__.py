"""`python -m equipoise.train --data DIR --base DIR --out DIR`: train the bundled detector.

Writes `model/` (float weights, tokenizer, config) and `rows/` (ids of training and held-out
rows) under OUT; `python -m equipoise.train.export OUT` then makes the int8 ONNX model and its card.
"""

import argparse
import gzip
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from equipoise.train.data import (
    CAPS,
    LABELS,
    Row,
    as_claims,
    cap,
    off_topic,
    read_nli,
    read_sources,
)
from equipoise.train.encoder import trim_model, trim_tokenizer
from equipoise.train.fit import Recipe, encode, fit, token_id
from equipoise.train.folds import fold_of_topic, read_groups

WORKED_EXAMPLE = "Should birth control pills be available over the counter?"
OFF_TOPIC_ROWS = 1_800
FIT_CAPS = {
    "ibm_argq30k": 3_500,
    "perspectrum": 2_000,
    "ukp_room_for_debate": 1_300,
    "off_topic": 1_400,
}
"""Lower caps for the fit itself (the vocabulary counts every training row): two cores have to end
a run within a sitting. On a bigger machine pass `--all-rows`."""
CLAIM_SHARE = 0.15
STANCE_MAX_LENGTH = 128


def background_texts(data: Path) -> list[tuple[str, str]]:
    """(topic, text) of the unlabelled passages under `data/background`."""
    with gzip.open(data / "background/wikipedia_topics.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    with (data / "background/xquad_en.jsonl").open(encoding="utf-8") as lines:
        rows += [json.loads(line) for line in lines]
    return [(row["topic"] or row["title"], row["text"]) for row in rows]


def split_rows(data: Path, *, fold: int, seed: int) -> tuple[list[Row], list[Row]]:
    """(training rows, held-out rows): whole topic groups, the worked example always held out."""
    rng = random.Random(seed)
    sources = read_sources(data / "stance", CAPS)
    groups = read_groups(data / "topic_groups.tsv")
    everything = [row for rows in sources.values() for row in rows]
    folds = fold_of_topic({row.topic for row in everything}, groups, seed=seed)
    example = {groups.get(r.topic, r.topic) for r in everything if r.question == WORKED_EXAMPLE}

    def is_held(topic: str) -> bool:
        return folds.get(topic) == fold or groups.get(topic, topic) in example

    train: list[Row] = []
    for name, rows in sources.items():
        train += cap([row for row in rows if not is_held(row.topic)], CAPS[name], rng=rng)
    texts = background_texts(data)
    texts += [(row.topic, row.text) for row in everything if row.source == "procon20"]
    train += off_topic(
        train, [t for t in texts if not is_held(t[0])], groups, OFF_TOPIC_ROWS, rng=rng
    )
    held = [row for row in everything if is_held(row.topic)]
    held += off_topic(held, [t for t in texts if is_held(t[0])], groups, 300, rng=rng)
    return as_claims(train, CLAIM_SHARE, rng=rng), held


def lighter(rows: Sequence[Row]) -> list[Row]:
    """The rows, in order, no source beyond its number in `FIT_CAPS`."""
    seen: Counter[str] = Counter()
    kept: list[Row] = []
    for row in rows:
        seen[row.source] += 1
        if seen[row.source] <= FIT_CAPS.get(row.source, len(rows)):
            kept.append(row)
    return kept


def main() -> None:
    """Parse the arguments and run."""
    from transformers import AutoModelForSequenceClassification

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--base", type=Path, required=True, help="folder of the encoder to start from"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--fold", type=int, default=0, help="fold that is held out (0 to 5)")
    parser.add_argument("--layers", type=int, default=10)
    parser.add_argument(
        "--min-count", type=int, default=3, help="word pieces seen less are dropped"
    )
    parser.add_argument("--max-rows", type=int, default=None, help="a smaller run, for trials")
    parser.add_argument("--all-rows", action="store_true", help="no lower caps for the fit")
    arguments = parser.parse_args()
    recipe = Recipe()
    arguments.out.mkdir(parents=True, exist_ok=True)
    train, held = split_rows(arguments.data, fold=arguments.fold, seed=recipe.seed)
    random.Random(recipe.seed).shuffle(train)
    train = train[: arguments.max_rows]
    warm_up = read_nli(arguments.data / "nli", rng=random.Random(recipe.seed))[: arguments.max_rows]
    corpus = [text for _, text in background_texts(arguments.data)]
    corpus += [f"{row.question} {row.text}" for row in [*warm_up, *train]]
    tokenizer, kept = trim_tokenizer(
        arguments.base / "tokenizer.json", corpus, min_count=arguments.min_count
    )
    model = AutoModelForSequenceClassification.from_pretrained(
        arguments.base,
        num_labels=3,
        id2label=dict(enumerate(LABELS)),
        label2id={label: index for index, label in enumerate(LABELS)},
    )
    model = trim_model(model, kept, layers=arguments.layers)
    (arguments.out / "rows.json").write_text(
        json.dumps({"train": [r.id for r in train], "held": [r.id for r in held]})
    )
    pad_id = token_id(tokenizer, "<pad>")
    first = encode(warm_up, tokenizer, max_length=recipe.max_length)
    if not arguments.all_rows:
        train = lighter(train)
    stance_recipe = replace(recipe, max_length=STANCE_MAX_LENGTH)
    examples = encode(train, tokenizer, max_length=stance_recipe.max_length)
    print(f"{len(train)} rows, {sum(len(e.ids) for e in examples)} tokens, {len(kept)} word pieces")
    fit(model, first, recipe, arguments.out / "warm_up", pad_id=pad_id)
    fit(model, examples, stance_recipe, arguments.out / "stance", pad_id=pad_id)
    model.save_pretrained(arguments.out / "model")
    tokenizer.save(str(arguments.out / "model" / "tokenizer.json"))


if __name__ == "__main__":
    main()
