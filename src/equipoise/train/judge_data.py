"""`python -m equipoise.train.judge_data --data DATA --out OUT`: the data folder of the judge.

The judge of `judge/` labels answers, in evaluations of a detector that must not be its twin; so it
learns from other rows than the detector `default` did. OUT is a data folder for `equipoise train`:

    OUT/stance/judge_answers.jsonl     composed of arguments that the detector's runs did not draw
    OUT/stance/judge_reasons.jsonl     composed of reasons of our own, on questions of our own
    OUT/stance/judge_sentences.jsonl   single arguments
    OUT/stance/judge_checks.jsonl      statements and questions beside a passage, three classes
    OUT/topic_groups.tsv               two groups: what is learned from, and what is held out
    OUT/nli, OUT/background            links to those of DATA
    OUT/report.json                    what was drawn, left out and held out
"""

import argparse
import gzip
import json
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from equipoise.train.data import NLI_STANCE, Row, read_rows
from equipoise.train.folds import fold_of_topic, read_groups
from equipoise.train.judge_answers import asked as question_asked
from equipoise.train.judge_answers import compose
from equipoise.train.judge_subject import Subject, big, ended
from equipoise.train.judge_table import own_subjects, read_table, subjects
from equipoise.train.judge_unread import detector_rows, unread_arguments
from equipoise.train.recipe import preset

SEED = 20261130
ARGUMENTS = "ibm_argq30k"
HELD_GROUPS = 7
COUNTS = {"answers": 8_000, "held_answers": 1_600, "reasons": 1_200, "sentences": 1_000}
HELD_SENTENCES = 600
CHECKS = {"vitaminc_real": 220, "condaqa": 90, "check_covid": 60}
"""Rows of each label that a source gives beside the warm-up."""
HELD_MEDICAL, MEDICAL = 200, 300


def beside(
    chosen: Sequence[Subject], groups: Mapping[str, str], strays: Sequence[str]
) -> list[Subject]:
    """Each debate with the arguments of debates of other groups, and texts about other things."""

    def others(subject: Subject) -> tuple[str, ...]:
        mine = groups.get(subject.topic, subject.topic)
        far = [s for s in chosen if groups.get(s.topic, s.topic) != mine]
        return tuple(text for other in far for text in (*other.pros, *other.cons))

    return [replace(s, strays=tuple(strays), others=others(s)) for s in chosen]


def sentences(chosen: Sequence[Subject], count: int, *, rng: random.Random) -> list[Row]:
    """Single arguments, the debates and sides in turn, each beside a wording of the question."""
    made = []
    for number in range(count):
        subject = chosen[number % len(chosen)]
        side = ("pro", "con")[number // len(chosen) % 2]
        text = rng.choice(subject.pros if side == "pro" else subject.cons)
        question, turned = question_asked(subject, rng)
        stance = {"pro": "con", "con": "pro"}[side] if turned else side
        name = f"sentence-{number:05d}"
        made.append(
            Row(
                name, subject.topic, question, question, ended(big(text)), stance, "judge_sentences"
            )
        )
    return made


def checks(data: Path, *, rng: random.Random) -> tuple[list[Row], list[Row]]:
    """(learned, held out) statements and questions beside a passage; medical ones of pubmedqa."""
    made: list[Row] = []
    for name, each in CHECKS.items():
        records = nli(data, name)
        for label, stance in NLI_STANCE.items():
            pool = [r for r in records if r["label"] == label]
            for record in rng.sample(pool, min(each, len(pool))):
                asked = _as_question(record)
                made.append(
                    Row(
                        record["id"],
                        "checks",
                        asked,
                        asked,
                        record["premise"],
                        stance,
                        "judge_checks",
                    )
                )
    medical = read_rows(data / "stance" / "pubmedqa.jsonl")
    rng.shuffle(medical)
    as_checks = [replace(row, topic="checks", source="judge_checks") for row in medical]
    held = [replace(row, topic="held-checks") for row in as_checks[:HELD_MEDICAL]]
    return made + as_checks[HELD_MEDICAL:][:MEDICAL], held


def nli(data: Path, name: str) -> list[dict[str, Any]]:
    """The pairs of one inference file."""
    with gzip.open(data / "nli" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _as_question(record: Mapping[str, Any]) -> str:
    said = str(record["hypothesis"])
    return big(said.rstrip(" ?")) + "?" if record["form"] == "question" else said


def split_strays(data: Path, *, rng: random.Random) -> tuple[list[str], list[str]]:
    """(for learning, for what is held out): passages of boolq, different articles in the two."""
    by_group: dict[str, list[str]] = defaultdict(list)
    for record in nli(data, "boolq"):
        by_group[record["group"]].append(record["premise"])
    names = sorted(by_group)
    rng.shuffle(names)
    cut = len(names) * 4 // 5
    return _texts(by_group, names[:cut]), _texts(by_group, names[cut:])


def _texts(by_group: Mapping[str, Sequence[str]], names: Sequence[str]) -> list[str]:
    return [text for name in names for text in dict.fromkeys(by_group[name])]


@dataclass(frozen=True, slots=True)
class Debates:
    """What answers are composed from: `learned`, `held` out, and `own` with reasons of ours.

    `held_groups` are the topic groups of `held`; `left` counts the arguments that were unread.
    """

    learned: tuple[Subject, ...]
    held: tuple[Subject, ...]
    own: tuple[Subject, ...]
    held_groups: frozenset[str]
    left: int


def debates(data: Path, *, rng: random.Random) -> Debates:
    """The debates with their unread arguments, `HELD_GROUPS` groups of them held out.

    The held-out ones are among those that the detector's runs held out too, so that both models can
    be compared on debates that neither has seen.
    """
    read, texts, unseen = detector_rows(data)
    groups = read_groups(data / "topic_groups.tsv")
    left = unread_arguments(read_rows(data / "stance" / f"{ARGUMENTS}.jsonl.gz"), read, texts)
    chosen = subjects(read_table(), left)
    group_of = {s.topic: groups.get(s.topic, s.topic) for s in chosen}
    common = sorted(set(group_of.values()) & unseen)
    held_groups = frozenset(random.Random(SEED).sample(common, HELD_GROUPS))
    strays, held_strays = split_strays(data, rng=rng)
    learned = [s for s in chosen if group_of[s.topic] not in held_groups]
    held = [s for s in chosen if group_of[s.topic] in held_groups]
    own = own_subjects(read_table())
    return Debates(
        tuple(beside(learned, groups, strays)),
        tuple(beside(held, groups, held_strays)),
        tuple(beside(own, {}, strays)),
        held_groups,
        sum(map(len, left.values())),
    )


def made_rows(
    data: Path, given: Debates, *, rng: random.Random, draw: int = 0
) -> dict[str, list[Row]]:
    """Rows by source; ids of held-out ones begin with "held-", or their topic is "held-checks".

    Another `draw` composes other answers; what is held out, and the checks, stay as they are.
    """
    learned_checks, held_checks = checks(data, rng=rng)
    rng = random.Random(SEED + draw) if draw else rng
    answers = compose(given.learned, COUNTS["answers"], rng=rng, source="judge_answers")
    held = compose(given.held, COUNTS["held_answers"], rng=rng, source="judge_answers")
    reasons = compose(given.own, COUNTS["reasons"], rng=rng, source="judge_reasons")
    single = sentences(given.learned, COUNTS["sentences"], rng=rng)
    held_single = sentences(given.held, HELD_SENTENCES, rng=rng)
    return {
        "judge_answers": [*answers, *_named("held", held)],
        "judge_reasons": reasons,
        "judge_sentences": [*single, *_named("held", held_single)],
        "judge_checks": [*learned_checks, *held_checks],
    }


def write(data: Path, out: Path, *, draw: int = 0) -> dict[str, Any]:
    """Write the folder; returns its report. For `draw` see `made_rows`."""
    rng = random.Random(SEED)
    given = debates(data, rng=rng)
    made = made_rows(data, given, rng=rng, draw=draw)
    held_topics = {s.topic for s in given.held} | {"held-checks"}
    (out / "stance").mkdir(parents=True, exist_ok=True)
    for name, rows in made.items():
        _write_lines(out / "stance" / f"{name}.jsonl", rows)
    topics = sorted({row.topic for rows in made.values() for row in rows})
    _write_groups(out / "topic_groups.tsv", topics, held_topics)
    for name in ("nli", "background"):
        if not (out / name).exists():
            (out / name).symlink_to((data / name).resolve())
    report = {
        "seed": SEED,
        "draw": draw,
        "held_groups": sorted(given.held_groups),
        "held_fold_of_2": held_fold(),
        "unread_arguments": given.left,
        "rows": {name: _counted(rows, held_topics) for name, rows in made.items()},
    }
    (out / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return report


HELD, LEARNED = "held", "learned"


def held_fold() -> int:
    """Which of two folds holds out the group `HELD`: the one for `equipoise train --folds 2`."""
    dealt = fold_of_topic((HELD, LEARNED), {}, folds=2, seed=preset("judge").seed)
    return dealt[HELD]


def _named(prefix: str, rows: Sequence[Row]) -> list[Row]:
    return [replace(row, id=f"{prefix}-{row.id}") for row in rows]


def _write_lines(path: Path, rows: Sequence[Row]) -> None:
    lines = [json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows]
    path.write_text("".join(lines), encoding="utf-8")


def _write_groups(path: Path, topics: Sequence[str], held: set[str]) -> None:
    lines = [f"{topic}\t{HELD if topic in held else LEARNED}\n" for topic in topics]
    path.write_text("topic\tgroup\n" + "".join(lines), encoding="utf-8")


def _counted(rows: Sequence[Row], held: set[str]) -> dict[str, dict[str, int]]:
    counts = {
        name: Counter(row.stance for row in rows if (row.topic in held) == is_held)
        for name, is_held in (("learned", False), ("held", True))
    }
    return {name: dict(sorted(count.items())) for name, count in counts.items()}


def main() -> None:
    """Parse the arguments and write."""
    parser = argparse.ArgumentParser(description="The data folder of the judge.")
    parser.add_argument("--data", type=Path, required=True, help="the stance data")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    parser.add_argument("--draw", type=int, default=0, help="1, 2, ...: other answers")
    given = parser.parse_args()
    print(json.dumps(write(given.data, given.out, draw=given.draw), indent=1))


if __name__ == "__main__":
    main()
