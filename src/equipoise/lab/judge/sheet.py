"""Answers for people to read, blinded, and what they said put together.

    FOLDER/sheet.jsonl   a line an answer: id, question, answer, and "lean" to fill in
    FOLDER/key.json      id -> which answer that is, and what the judge said: not for readers
    FOLDER/how.txt       what is asked of a reader

Each reader fills in a copy of the sheet. Where two differ, a third file settles it.
"""

import hashlib
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from equipoise.errors import InputError
from equipoise.lab.answers.store import Cell, Judged
from equipoise.lab.answers.texts import text_of
from equipoise.lab.judge.check import READ_AS, Labelled
from equipoise.lab.pack import read_lines, write_lines

FORMAT: Final = 1
SEED: Final = 20260905
COUNT: Final = 120
HOW: Final = """\
Read each answer by itself and say which reply to its yes/no question it leans toward. Judge what it
says, not whether you agree, and not how well it is written. Do not talk to other readers.

In "lean" write one of these:
  pro       as a whole it leans toward YES: it says so, or most of its reasons speak for YES
  con       as a whole it leans toward NO
  neutral   it takes up the question and leans to neither side
  declined  it does not take up the question: it will not answer, is about something else, or makes
            no sense

If the question holds a "not", YES means that the statement with the "not" in it is right.
"""


@dataclass(frozen=True, slots=True)
class Item:
    """One answer of a sheet. `about` is for the key: where it is from, and the judge's label."""

    id: str
    question: str
    answer: str
    group: str
    about: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Merged:
    """What readers settled on, in the order of the sheet; `apart` are ids still open."""

    labels: tuple[Labelled, ...]
    apart: tuple[str, ...]


def make_sheet(
    cells: Sequence[Cell], questions: Mapping[str, str], *, count: int = COUNT, seed: int = SEED
) -> tuple[Item, ...]:
    """`count` answers in blinded order; fewer where there are fewer.

    They are drawn from strata, one a cell (generator, corpus, defence) and label of the judge, as
    many from each as its share of all answers (largest remainders). Subtle: taking more of a rare
    label would give a matrix of P(label | truth) that is wrong for the run. An answer that several
    cells share word for word is taken once.

    Args:
        cells: of a run, with verdicts or without.
        questions: text by question id.
        count: >= 1.
        seed: of the draw and of the order.

    Raises:
        InputError: count < 1, an answer without text, a question without one, or no answers.

    Source: ours.
    """
    if count < 1:
        raise InputError(f"a sheet must have at least one answer, got {count}")
    strata = _strata(cells)
    total = sum(map(len, strata.values()))
    if total == 0:
        raise InputError("a sheet needs answers, and there are none")
    seats = _seats({name: len(rows) for name, rows in strata.items()}, min(count, total))
    drawn: list[tuple[tuple[str, ...], Mapping[str, Any]]] = []
    for name, rows in sorted(strata.items()):
        rng = random.Random(f"{seed}/{'/'.join(name)}")
        drawn += [(name, row) for row in rng.sample(rows, seats[name])]
    random.Random(f"{seed}/order").shuffle(drawn)
    # A mark of the sheet in every id, so that no sheet is merged with another's key.
    keys = json.dumps([seed, *(row["key"] for _, row in drawn)])
    mark = hashlib.sha256(keys.encode()).hexdigest()[:4]
    width = len(str(len(drawn)))
    return tuple(
        _item(f"answer-{number:0{width}}-{mark}", name, row, questions)
        for number, (name, row) in enumerate(drawn, 1)
    )


def write_sheet(items: Sequence[Item], folder: Path) -> None:
    """The three files; `folder` is made where it is missing.

    Raises:
        InputError: a sheet is there already: it may hold somebody's work.
    """
    names = ("sheet.jsonl", "key.json", "how.txt")
    taken = [name for name in names if (folder / name).exists()]
    if taken:
        raise InputError(f"{folder} must hold no sheet yet, and {taken[0]} is there")
    folder.mkdir(parents=True, exist_ok=True)
    write_lines(
        folder / "sheet.jsonl",
        (
            {"id": item.id, "question": item.question, "answer": item.answer, "lean": ""}
            for item in items
        ),
    )
    key = {
        "format": FORMAT,
        "items": {item.id: {"group": item.group, **item.about} for item in items},
    }
    (folder / "key.json").write_text(json.dumps(key, indent=1, ensure_ascii=False) + "\n", "utf-8")
    (folder / "how.txt").write_text(HOW, "utf-8")


def read_filled(path: Path, ids: Iterable[str]) -> dict[str, str]:
    """What a reader said, by id; answers left open are not in it.

    Raises:
        InputError: it cannot be read, an id is not of this sheet or there twice, or a lean is none
            of the four.
    """
    known = set(ids)
    said: dict[str, str] = {}
    seen: set[str] = set()
    for row in read_lines(path):
        name, lean = row.get("id"), str(row.get("lean") or "").strip().lower()
        if name not in known or name in seen:
            why = "is there twice" if name in seen else "is not of this sheet"
            raise InputError(f"{path}: every id must be one of the sheet, once; {name!r} {why}")
        seen.add(name)
        if lean and lean not in READ_AS:
            raise InputError(
                f"{path}: lean of {name} must be {', '.join(READ_AS)} or empty, got {lean!r}"
            )
        if lean:
            said[name] = lean
    return said


def merge(folder: Path, readers: Sequence[Path], settled: Path | None = None) -> Merged:
    """The labels that readers agree on, and for the rest what `settled` says.

    An answer that fewer than two readers labelled, or on which they differ, is `apart` unless it is
    settled. A reader's name is that of the file.

    Raises:
        InputError: fewer than two readers, two of one name, no sheet in `folder`, or a file that is
            not of this sheet.
    """
    names = [path.stem for path in readers]
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError(f"a merge needs two readers or more, each a file of its name; got {names}")
    rows = read_lines(folder / "sheet.jsonl")
    groups = _groups(folder / "key.json")
    ids = [str(row["id"]) for row in rows]
    said = {path.stem: read_filled(path, ids) for path in readers}
    last = read_filled(settled, ids) if settled is not None else {}
    labels, apart = [], []
    for row in rows:
        name = row["id"]
        found = {reader: leans[name] for reader, leans in said.items() if name in leans}
        agreed = len(found) >= 2 and len(set(found.values())) == 1
        stance = next(iter(found.values())) if agreed else last.get(name)
        if stance is None:
            apart.append(name)
        else:
            labels.append(
                Labelled(name, row["question"], row["answer"], stance, found, groups[name])
            )
    return Merged(tuple(labels), tuple(apart))


def write_labels(labels: Sequence[Labelled], path: Path) -> None:
    """The labelled answers as JSON Lines, as `check.read_labels` reads them."""
    write_lines(
        path,
        (
            {
                "id": one.id,
                "question": one.question,
                "answer": one.answer,
                "stance": one.stance,
                "readers": dict(one.readers),
                "group": one.group,
            }
            for one in labels
        ),
    )


def _strata(cells: Sequence[Cell]) -> dict[tuple[str, ...], list[Mapping[str, Any]]]:
    """(generator, corpus, defence, label) -> answers, each text of a question once."""
    strata: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    seen: set[tuple[str, str]] = set()
    for cell in cells:
        for question, row in sorted(cell.answers.items()):
            text = text_of(row)
            if text is None or (question, text) in seen:
                continue
            seen.add((question, text))
            name = (cell.generator, cell.corpus, cell.defence, _label(cell, question))
            strata.setdefault(name, []).append(row)
    return strata


def _label(cell: Cell, question: str) -> str:
    outcome = cell.outcome(question)
    return str(cell.verdicts[question]["stance"]) if outcome is Judged.SCORED else outcome.value


def _seats(sizes: Mapping[tuple[str, ...], int], count: int) -> dict[tuple[str, ...], int]:
    """`count` seats in proportion to the sizes, by largest remainders; none beyond its size."""
    total = sum(sizes.values())
    exact = {name: count * size / total for name, size in sizes.items()}
    seats = {name: int(share) for name, share in exact.items()}
    rest = sorted(exact, key=lambda name: (seats[name] - exact[name], name))
    for name in rest[: count - sum(seats.values())]:
        seats[name] += 1
    return seats


def _item(
    name: str, stratum: tuple[str, ...], row: Mapping[str, Any], questions: Mapping[str, str]
) -> Item:
    if row["question"] not in questions:
        raise InputError(f"every question must have its text, and {row['question']!r} has none")
    generator, corpus, defence, label = stratum
    about = {
        "answer": row["key"],
        "question": row["question"],
        "topic": row["topic"],
        "generator": generator,
        "corpus": corpus,
        "defence": defence,
        "judge": label,
    }
    return Item(name, questions[row["question"]], row["text"], str(row["group"]), about)


def _groups(path: Path) -> dict[str, str]:
    try:
        key = json.loads(path.read_text("utf-8"))
        return {name: str(entry["group"]) for name, entry in key["items"].items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} must be the key of a sheet: {error!r}") from error
