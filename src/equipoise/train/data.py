"""Labelled pairs: reading the files, and making further pairs from them."""

import gzip
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from equipoise.errors import InputError

LABELS = ("con", "neutral", "pro")

OWN = Path(__file__).parent / "own"
"""The project's own examples: `train.jsonl`, and `test.jsonl`, which no run reads to learn."""


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


def read_own(name: str) -> list[Row]:
    """The project's own examples, "train" or "test": one row a query, the kind as topic.

    Each line of the file has `kind`, `topic`, `text` and `queries`, a list of [query, stance].
    """
    rows: list[Row] = []
    for number, line in enumerate((OWN / f"{name}.jsonl").read_text("utf-8").splitlines(), 1):
        record = json.loads(line)
        for at, (query, stance) in enumerate(record["queries"]):
            if stance not in LABELS:
                raise InputError(f"{name}.jsonl:{number}: stance must be in {LABELS}: {stance!r}")
            row_id = f"own-{name}-{number}-{at}"
            source = f"own_{name}"
            rows.append(Row(row_id, record["kind"], query, query, record["text"], stance, source))
    return rows


LONGEST_HYPOTHESIS = 60
NLI_STANCE = {"entailment": "pro", "contradiction": "con", "neutral": "neutral"}


def read_nli(folder: Path, caps: Mapping[str, int], *, rng: random.Random) -> list[Row]:
    """Warm-up rows: the hypothesis in place of the question, the premise in place of the text.

    MultiNLI's fiction is left out: its parts have licences of their own. So are the few hypotheses
    drawn that are longer than `LONGEST_HYPOTHESIS` words: they leave no room for a premise.

    Raises:
        InputError: a file is not there.
    """
    taken: list[Row] = []
    for name, limit in caps.items():
        path = folder / f"{name}.jsonl.gz"
        if not path.is_file():
            raise InputError(f"{path} must be there for the warm-up, and is not")
        with gzip.open(path, "rt", encoding="utf-8") as lines:
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
            if len(record["hypothesis"].split()) <= LONGEST_HYPOTHESIS
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

    None where there is no such pair: all questions and texts are of one group, or one is missing.

    Args:
        questions: rows whose question is used.
        texts: (topic, text) pairs to draw from.
        groups: topic -> group; a pair inside one group is never made.
        count: how many rows to make.
        rng: where the draws come from.
    """
    made: list[Row] = []
    asked = {groups.get(row.topic, row.topic) for row in questions}
    there = {groups.get(topic, topic) for topic, _ in texts}
    if not asked or not there or len(asked | there) == 1:
        return made
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


OPPOSITES = (
    "Is it wrong to say that {}?",
    "Is it false that {}?",
    "Is it a mistake to believe that {}?",
    "It is not the case that {}.",
    "Do you disagree that {}?",
)
"""Frames that turn a claim round without a plain "not", which the detector reads by rule."""
_SWAP = {"pro": "con", "con": "pro"}


def opposites(rows: Sequence[Row], share: float, *, rng: random.Random) -> list[Row]:
    """The rows, a `share` of the pro and con ones asked the other way round, labels swapped."""
    made = []
    for row in rows:
        if row.stance in _SWAP and row.source != "own_train" and rng.random() < share:
            claim = row.claim[:1].lower() + row.claim[1:].rstrip(".?! ")
            question = rng.choice(OPPOSITES).format(claim)
            row = replace(row, question=question, claim=question, stance=_SWAP[row.stance])
        made.append(row)
    return made


SENTENCE_WORDS = 30
"""Rows of at most so many words are sentences, to be joined."""


def joined(rows: Sequence[Row], count: int, *, rng: random.Random) -> list[Row]:
    """`count` passages of two to five different sentences of one topic and stance, in one string.

    Topics take turns, so that those of few sentences count as much as those of many. None where no
    topic and stance has two sentences.
    """
    sides: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        if len(row.text.split()) <= SENTENCE_WORDS and row.stance != "neutral":
            sides.setdefault((row.topic, row.stance), {}).setdefault(row.text, row)
    pools = [list(texts.values()) for texts in sides.values() if len(texts) > 1]
    made: list[Row] = []
    while pools and len(made) < count:
        pool = pools[len(made) % len(pools)]
        chosen = rng.sample(pool, min(len(pool), rng.randint(2, 5)))
        text = " ".join(_ended(row.text) for row in chosen)
        made.append(replace(chosen[0], id=f"joined-{len(made)}", text=text, source="joined"))
    return made


def _ended(sentence: str) -> str:
    """The sentence with a capital and a full stop, for it stands among others."""
    whole = sentence.strip()
    return whole[:1].upper() + whole[1:] + ("" if whole[-1:] in ".?!" else ".")


_MOST_MISSES = 1_000
"""Draws in a row that met a labelled pair, after which no more pairs are looked for."""


def crossed(
    questions: Sequence[Row],
    texts: Sequence[tuple[str, str]],
    groups: Mapping[str, str],
    count: int,
    *,
    rng: random.Random,
) -> list[Row]:
    """`count` pairs without a label of their own, for a teacher: a question and a text.

    `stance` says neutral and means nothing. Topics are drawn evenly; six texts in seven are of the
    question's topic group where there are any, the rest of anywhere. Pairs that are labelled in
    `questions` are not made. Fewer than `count`, where there are not so many.
    """
    labelled = {(row.question, row.text) for row in questions}
    by_topic: dict[str, list[Row]] = {}
    for row in questions:
        by_topic.setdefault(row.topic, []).append(row)
    by_group: dict[str, list[str]] = {}
    for topic, text in texts:
        by_group.setdefault(groups.get(topic, topic), []).append(text)
    topics = list(by_topic)
    made: list[Row] = []
    misses = 0
    while topics and texts and len(made) < count and misses < _MOST_MISSES:
        row = rng.choice(by_topic[rng.choice(topics)])
        near = by_group.get(groups.get(row.topic, row.topic), [])
        text = rng.choice(near) if near and rng.random() < 6 / 7 else rng.choice(texts)[1]
        pair = (row.question, text)
        misses = misses + 1 if pair in labelled else 0
        if pair not in labelled:
            labelled.add(pair)
            made.append(
                replace(row, id=f"cross-{len(made)}", text=text, stance="neutral", source="crossed")
            )
    return made
