"""`python -m equipoise.train.judge_measure FOLDER --data DATA --shared SHARED`: how well it reads.

Through the int8 model as shipped, on held-out debates: composed answers (by kind), single
arguments, conclusions of medical studies; then on passages that people wrote, of debates that it
did not learn from; and beside the detector `default` on the same rows: how many errors they share.
"""

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from equipoise.errors import InputError
from equipoise.stance import ClassifierDetector
from equipoise.train import measure
from equipoise.train.data import LABELS, Row, cap, read_rows
from equipoise.train.folds import read_groups
from equipoise.train.judge_data import HELD, SEED
from equipoise.train.judge_unread import detector_rows
from equipoise.train.score import Judged, judge, summary

PASSAGES = ("procon20", "perspectrum_passages")
EACH = 300
COMPARED = 600
"""Composed answers, at most, that both models read."""


def held_rows(data: Path) -> dict[str, list[Row]]:
    """Held-out rows by source that the calibration did not see (see `measure.halves`)."""
    groups = read_groups(data / "topic_groups.tsv")
    paths = sorted((data / "stance").glob("*.jsonl"))
    rows = [row for path in paths for row in read_rows(path) if groups[row.topic] == HELD]
    by_source: dict[str, list[Row]] = defaultdict(list)
    for row in measure.halves(rows)[1]:
        by_source[row.source].append(row)
    return by_source


def passages(data: Path, shared: Path) -> tuple[list[Row], set[str]]:
    """(passages of debates that the judge did not learn from, ids that the detector did not read).

    `EACH` a source, at most, spread over topics; half of them, where there are so many, of the
    topic groups that the detector's runs held out.
    """
    learned = set(read_groups(data / "topic_groups.tsv"))
    groups = read_groups(shared / "topic_groups.tsv")
    known = {groups.get(topic, topic) for topic in learned}
    _, _, unread = detector_rows(shared)
    rng = random.Random(SEED)
    taken: list[Row] = []
    blind: set[str] = set()
    for name in PASSAGES:
        rows = read_rows(next((shared / "stance").glob(f"{name}.jsonl*")))
        free = [row for row in rows if groups.get(row.topic, row.topic) not in known]
        new = [row for row in free if groups.get(row.topic, row.topic) in unread]
        first = cap(new, EACH // 2, rng=rng)
        blind |= {row.id for row in first}
        rest = [row for row in free if groups.get(row.topic, row.topic) not in unread]
        taken += [*first, *cap(rest, EACH - len(first), rng=rng)]
    return taken, blind


def shared_errors(one: Sequence[Judged], other: Sequence[Judged]) -> dict[str, Any]:
    """How alike two models judge the same rows.

    `both_wrong` stands beside the share that errors independent of each other would share,
    `same_wrong_label` counts rows that both get wrong in the same way.

    Raises:
        InputError: the rows are not the same.
    """
    pairs = list(zip(one, other, strict=True))
    if any(a.row != b.row for a, b in pairs):
        raise InputError("both models must have judged the same rows in one order, and have not")
    n = len(pairs)
    wrong = [(a.label != a.row.stance, b.label != b.row.stance) for a, b in pairs]
    first, second = (sum(w[at] for w in wrong) / n for at in (0, 1))
    both = sum(a and b for a, b in wrong)
    return {
        "n": n,
        "same_label": sum(a.label == b.label for a, b in pairs) / n,
        "errors": [sum(w[0] for w in wrong), sum(w[1] for w in wrong)],
        "both_wrong": both,
        "same_wrong_label": sum(
            w[0] and a.label == b.label for (a, b), w in zip(pairs, wrong, strict=True)
        ),
        "both_wrong_if_independent": first * second * n,
        "share_of_first_errors_in_common": both / max(1, sum(w[0] for w in wrong)),
        "other_wrong_where_first_is_right": (
            sum(b and not a for a, b in wrong) / max(1, sum(not a for a, _ in wrong))
        ),
    }


def in_order(model: ClassifierDetector, rows: Sequence[Row]) -> list[Judged]:
    """The rows with the model's probabilities, in the order of `rows`."""
    by_key = {(item.row.source, item.row.id): item for item in judge(model, rows)}
    return [by_key[row.source, row.id] for row in rows]


def measured(folder: Path, data: Path, shared: Path) -> dict[str, Any]:
    """The figures of the card."""
    model = ClassifierDetector(folder)
    held = held_rows(data)
    judged = {name: in_order(model, rows) for name, rows in held.items()}
    answers = judged["judge_answers"]
    by_kind: dict[str, list[Judged]] = defaultdict(list)
    for item in answers:
        by_kind[item.row.id.removeprefix("held-").rsplit("-", 1)[0]].append(item)
    rows, blind = passages(data, shared)
    read = in_order(model, rows)
    report: dict[str, Any] = {
        "model": model.name,
        "held_out": {name: summary(part) for name, part in judged.items()},
        "answers_by_kind": {name: summary(part) for name, part in sorted(by_kind.items())},
        "passages": {
            name: summary([item for item in read if item.row.source == name]) for name in PASSAGES
        },
    }
    default = ClassifierDetector()
    both = answers[:COMPARED]
    other = in_order(default, [item.row for item in both])
    neither = [item for item in read if item.row.id in blind]
    report["default"] = {
        "model": default.name,
        "answers": summary(other),
        "on_answers": shared_errors(both, other),
        "on_sided_answers": shared_errors(*_sided(both, other)),
        "on_passages_unread_by_both": shared_errors(
            neither, in_order(default, [item.row for item in neither])
        ),
    }
    return report


def _sided(one: Sequence[Judged], other: Sequence[Judged]) -> tuple[list[Judged], list[Judged]]:
    """The rows of both whose truth is pro or con."""
    return (
        [item for item in one if item.row.stance != "neutral"],
        [item for item in other if item.row.stance != "neutral"],
    )


def tables(report: dict[str, Any]) -> str:
    """The figures as Markdown, as they stand in the judge's card."""
    held = report["held_out"]
    rows = {
        "**composed answers**": held["judge_answers"],
        **{f"- {name}": part for name, part in report["answers_by_kind"].items()},
        "single arguments (ibm_argq30k)": held["judge_sentences"],
        "conclusions of studies (pubmedqa)": held["judge_checks"],
        **{f"passages of {name}": part for name, part in report["passages"].items()},
    }
    heads = ["held-out rows", "n", "accuracy", "macro-F1", "F1 pro", "F1 con", "F1 neutral", "ECE"]
    lines = [heads, ["---", *["---:"] * 7], *(_scores(name, part) for name, part in rows.items())]
    beside = report["default"]
    compared = {
        "composed answers": beside["on_answers"],
        "composed answers that take a side": beside["on_sided_answers"],
        "passages that neither has read": beside["on_passages_unread_by_both"],
    }
    return "\n\n".join(
        [
            _table(lines),
            "Confusion on composed answers (rows: truth, columns: label):",
            _confusion(held["judge_answers"]["confusion"]),
            "Beside the detector `default`, on the same rows (the first "
            f"{beside['on_answers']['n']} of the answers above):",
            _table(
                [_COMPARED, ["---", *["---:"] * 7], *(_errors(n, p) for n, p in compared.items())]
            ),
        ]
    )


_COMPARED = [
    *("rows", "n", "same label", "judge wrong", "detector wrong", "both wrong"),
    *("both wrong if independent", "both with the same wrong label"),
]


def _scores(name: str, part: dict[str, Any]) -> list[str]:
    f1 = [part["classes"].get(label, {}).get("f1") for label in ("pro", "con", "neutral")]
    shown = ["-" if value is None else f"{value:.3f}" for value in f1]
    whole = [f"{part[key]:.3f}" for key in ("accuracy", "macro_f1")]
    return [name, str(part["n"]), *whole, *shown, f"{part['ece']:.3f}"]


def _errors(name: str, part: dict[str, Any]) -> list[str]:
    n = part["n"]
    first, second = part["errors"]
    counts = (first, second, part["both_wrong"], part["both_wrong_if_independent"])
    shares = [f"{count / n:.1%}" for count in (*counts, part["same_wrong_label"])]
    return [name, str(n), f"{part['same_label']:.1%}", *shares]


def _confusion(matrix: Sequence[Sequence[int]]) -> str:
    rows = [[name, *map(str, line)] for name, line in zip(LABELS, matrix, strict=True)]
    return _table([["", *LABELS], ["---", *["---:"] * 3], *rows])


def _table(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    """Parse the arguments, measure, print JSON."""
    parser = argparse.ArgumentParser(description="How well a judge reads.")
    parser.add_argument("folder", type=Path, help="the exported judge")
    parser.add_argument("--data", type=Path, required=True, help="what judge_data wrote")
    parser.add_argument("--shared", type=Path, required=True, help="the stance data")
    parser.add_argument("--tables", type=Path, help="also write the card's tables to this file")
    given = parser.parse_args()
    report = measured(given.folder, given.data, given.shared)
    print(json.dumps(report, indent=1))
    if given.tables is not None:
        given.tables.write_text(tables(report) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
