"""The pairs as a form for people, blinded; the key lies apart.

FOLDER/form.html      a page that saves what was filled in as a CSV file
FOLDER/form.csv       the same for a spreadsheet: question, answers, and empty cells
FOLDER/passages.csv   what each answer was written from
FOLDER/questions.txt  what is asked, for those who fill in the CSV file
FOLDER/key.json       item -> which answer is which: not for those who fill in the form
"""

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from equipoise.errors import InputError
from equipoise.lab.form import csv_text, mark_of, write_files
from equipoise.lab.form_page import choices_of, html_page
from equipoise.lab.form_scores import read_filled
from equipoise.lab.quality.asking import (
    APART,
    DIMENSIONS,
    INSTRUCTIONS,
    PREFERENCES,
    SCALE,
    Mark,
    Rating,
    unblinded,
)
from equipoise.lab.quality.pairs import FORMAT, Pair, Pairs
from equipoise.lab.results import read_object

KIND: Final = "quality"
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    **{f"{name}_{place}": (*SCALE, *APART) for name in DIMENSIONS for place in (1, 2)},
    "preference": PREFERENCES,
}
"""The columns of a filled-in form, each with what may stand in it."""
_PREFERENCE: Final = "All in all, which answer is better?"


def write_form(made: Pairs, chosen: Sequence[Pair], folder: Path) -> None:
    """The five files for the pairs `chosen` of `made`.

    Raises:
        InputError: there is no pair, or a form is there already.
    """
    if not chosen:
        raise InputError("a form needs pairs of answers, and there are none")
    mark = mark_of([made.settings, *([p.question, p.order] for p in chosen)])
    width = len(str(len(chosen)))
    items = {f"pair-{n:0{width}}-{mark}": pair for n, pair in enumerate(chosen, 1)}
    key = {
        "format": FORMAT,
        "kind": KIND,
        "settings": dict(made.settings),
        "items": {item: pair.about() for item, pair in items.items()},
    }
    files = {
        "form.html": html_page(
            "Answers to rate",
            f"{len(items)} pairs of answers to rate",
            INSTRUCTIONS,
            list(FIELDS),
            (_section(item, pair) for item, pair in items.items()),
        ),
        "form.csv": _csv_of_items(items),
        "passages.csv": _csv_of_passages(items),
        "questions.txt": _questions(),
        "key.json": json.dumps(key, indent=1, ensure_ascii=False) + "\n",
    }
    write_files(files, folder)


def read_key(path: Path) -> dict[str, Any]:
    """The key of such a form: "settings", and "items" by name.

    Raises:
        InputError: it is no key of this format.
    """
    key = read_object(path)
    if key.get("kind") != KIND or key.get("format") != FORMAT:
        raise InputError(f"{path} must be the key of a form of pairs, of format {FORMAT}")
    return key


def read_form(path: Path, key: Mapping[str, Any]) -> dict[str, Rating]:
    """Item -> rating by setting, of the items in which anything was filled in.

    Raises:
        InputError: as `form_scores.read_filled`.
    """
    filled = read_filled(path, key["items"], fields=FIELDS)
    return {
        item: _rating(key["items"][item]["order"], answers)
        for item, answers in filled.items()
        if answers
    }


def _rating(order: str, answers: Mapping[str, str]) -> Rating:
    first, second = (
        {name: _mark(answers.get(f"{name}_{place}")) for name in DIMENSIONS} for place in (1, 2)
    )
    return unblinded(order, first, second, answers.get("preference"))


def _mark(answer: str | None) -> Mark:
    return int(answer) if answer in SCALE else answer


def _csv_of_items(items: Mapping[str, Pair]) -> str:
    rows = [
        (item, pair.asked, *(shown.text for shown in pair.shown), *("" for _ in FIELDS), "")
        for item, pair in items.items()
    ]
    return csv_text(("item", "question", "answer_1", "answer_2", *FIELDS, "notes"), rows)


def _csv_of_passages(items: Mapping[str, Pair]) -> str:
    rows = [
        (item, str(place), str(number), document.text)
        for item, pair in items.items()
        for place, shown in enumerate(pair.shown, 1)
        for number, document in enumerate(shown.documents, 1)
    ]
    return csv_text(("item", "answer", "number", "passage"), rows)


def _questions() -> str:
    lines = [INSTRUCTIONS, ""]
    for name, asked in DIMENSIONS.items():
        lines += [f"{name}_1, {name}_2: {asked}", f"    {', '.join((*SCALE, *APART))}, or empty"]
    return "\n".join([*lines, f"preference: {_PREFERENCE}", f"    {', '.join(PREFERENCES)}", ""])


def _section(item: str, pair: Pair) -> str:
    answers = "".join(
        f"<h3>Answer {place}</h3><blockquote>{escape(shown.text)}</blockquote>"
        f"<details><summary>Passages of answer {place}</summary>"
        + "".join(
            f"<blockquote>[{n}] {escape(document.text)}</blockquote>"
            for n, document in enumerate(shown.documents, 1)
        )
        + "</details>"
        for place, shown in enumerate(pair.shown, 1)
    )
    asked = "".join(
        choices_of(item, f"{name}_{place}", f"Answer {place}, {name}. {question}", (*SCALE, *APART))
        for name, question in DIMENSIONS.items()
        for place in (1, 2)
    )
    return (
        f'<section data-item="{escape(item)}"><h2>{escape(item)}</h2>'
        f"<p><strong>{escape(pair.asked)}</strong></p>{answers}{asked}"
        + choices_of(item, "preference", _PREFERENCE, PREFERENCES)
        + '<label>Notes<br><textarea rows="2"></textarea></label></section>'
    )
