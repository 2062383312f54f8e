"""Stance rows for training: reading the files, capping the sources, making off-topic neutrals."""

import gzip
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from equipoise.errors import InputError

LABELS = ("con", "neutral", "pro")

CAPS: Mapping[str, int] = {
    "procon20": 10_000,
    "ibm_wiki_passages": 10_000,
    "perspectrum_passages": 10_000,
    "ukp_room_for_debate": 10_000,
    "ukp_convarg1": 10_000,
    "ibm_claim_stance": 10_000,
    "ibm_argkp2021": 10_000,
    "perspectrum": 2_800,
    "ibm_argq30k": 5_000,
}
"""Rows a source may give to one training run. The long-text sources are taken whole; the
sentence-length ones are sampled so that their few topics do not dominate."""


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled pair: a question (or claim) and a text with its stance toward YES."""

    id: str
    topic: str
    question: str
    claim: str
    text: str
    stance: str
    source: str


def read_rows(path: Path) -> list[Row]:
    """Rows of one `<source>.jsonl` or `<source>.jsonl.gz` file.

    Raises:
        InputError: a line is not an object with the seven fields, or has an unknown stance.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    rows: list[Row] = []
    with opener(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
                row = Row(**{name: record[name] for name in Row.__slots__})
            except (json.JSONDecodeError, KeyError, TypeError) as error:
                raise InputError(
                    f"{path}:{number} must be a stance object with {Row.__slots__}; got {error!r}"
                ) from error
            if row.stance not in LABELS:
                raise InputError(f"{path}:{number}: stance must be in {LABELS}, got {row.stance!r}")
            rows.append(row)
    return rows


def read_sources(folder: Path, names: Iterable[str]) -> dict[str, list[Row]]:
    """Rows by source name, from `folder/<name>.jsonl[.gz]`.

    Raises:
        InputError: no file of that name is there.
    """
    found: dict[str, list[Row]] = {}
    for name in names:
        paths = [p for p in (folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz") if p.exists()]
        if not paths:
            raise InputError(f"no file {name}.jsonl or {name}.jsonl.gz in {folder}")
        found[name] = read_rows(paths[0])
    return found


NLI_CAPS: Mapping[str, int] = {"multinli_25k": 9_000, "snli_counterfactual": 5_000}
"""Rows of natural language inference that a warm-up reads before the stance rows."""

NLI_STANCE = {"entailment": "pro", "contradiction": "con", "neutral": "neutral"}


def read_nli(folder: Path, *, rng: random.Random) -> list[Row]:
    """Warm-up rows: the hypothesis in place of the question, the premise in place of the text.

    MultiNLI's fiction is left out: its parts have licences of their own.
    """
    taken: list[Row] = []
    for name, limit in NLI_CAPS.items():
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
        records = [record for record in records if record.get("genre") != "fiction"]
        taken += [
            Row(
                id=record["id"],
                topic=record["group"],
                question=record["hypothesis"],
                claim=record["hypothesis"],
                text=record["premise"],
                stance=NLI_STANCE[record["label"]],
                source=name,
            )
            for record in rng.sample(records, min(limit, len(records)))
        ]
    return taken


def cap(rows: Sequence[Row], limit: int, *, rng: random.Random) -> list[Row]:
    """At most `limit` of `rows`, spread evenly over topics (round robin after a shuffle)."""
    by_topic: dict[str, list[Row]] = {}
    for row in rows:
        by_topic.setdefault(row.topic, []).append(row)
    for members in by_topic.values():
        rng.shuffle(members)
    taken: list[Row] = []
    while len(taken) < limit and any(by_topic.values()):
        for members in by_topic.values():
            if members and len(taken) < limit:
                taken.append(members.pop())
    return taken


def off_topic(
    questions: Sequence[Row],
    texts: Sequence[tuple[str, str]],
    groups: Mapping[str, str],
    count: int,
    *,
    rng: random.Random,
) -> list[Row]:
    """`count` neutral rows that pair a question with a text of another topic group.

    Args:
        questions: rows whose question is used.
        texts: (topic, text) pairs to draw from.
        groups: topic -> group; a pair inside one group is never made.
        count: how many rows to make.
        rng: where the draws come from.
    """
    made: list[Row] = []
    while len(made) < count:
        row = rng.choice(questions)
        topic, text = rng.choice(texts)
        if groups.get(topic, topic) != groups.get(row.topic, row.topic):
            made.append(
                replace(
                    row,
                    id=f"off-{len(made)}",
                    text=text,
                    stance="neutral",
                    source="off_topic",
                )
            )
    return made


def as_claims(rows: Sequence[Row], share: float, *, rng: random.Random) -> list[Row]:
    """The rows, a `share` of them with the source's claim in place of the question.

    The stance toward a claim is the stance toward YES, so the label stands.
    """
    return [replace(row, question=row.claim) if rng.random() < share else row for row in rows]
