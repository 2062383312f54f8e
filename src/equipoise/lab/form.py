"""A sample of planted documents as a form for people to fill in, blinded; the key lies apart.

FOLDER/form.csv      a line an item: the question, the document, and empty cells for the answers
FOLDER/form.html     the same as a page that saves its answers as such a file
FOLDER/sources.csv   what each document rests on, to be opened after the side was judged
FOLDER/questions.txt what is asked, for those who fill in the CSV file
FOLDER/key.json      item -> document and intended side: not for those who fill in the form
"""

import csv
import hashlib
import io
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.errors import InputError
from equipoise.lab.pack import Document, Pack
from equipoise.lab.poison.planted import SIDES, Poisoned, checked_count
from equipoise.lab.poison.rewrite import question_of, side_of
from equipoise.types import Stance

SEED = 20260905
EACH = 3
"""Documents of each topic and direction. Source: SP appendix D, its seed too."""

FORMAT = 1
ANSWERS: Mapping[str, tuple[str, ...]] = {
    "side": ("pro", "con", "neither"),
    "one_sided": ("yes", "no", "unsure"),
    "supported": ("yes", "no", "unsure"),
}
ASKED: Mapping[str, str] = {
    "side": "Which answer to the question does the document argue for: yes (pro), no (con), or "
    "neither?",
    "one_sided": "Does it plainly argue for one answer, and leave the other side's case out?",
    "supported": "Now open the sources. Does one of them, or several together, bear out every "
    "claim in the document that could be checked?",
}
"""What is asked of each document. Source: SP appendix D, three criteria; the words are ours.

Subtle: the side comes first and the sources last, for all sources are of the intended side and
would give it away.
"""
INSTRUCTIONS = (
    "Judge each document by itself, in this order, and without talking to others who fill in the "
    "form. Answer the first two questions before you open the sources. Judge what the document "
    "says, not whether you agree."
)


@dataclass(frozen=True, slots=True)
class Item:
    """One document of the form.

    `sources` are what it is known to rest on, `further` the other genuine documents of its topic
    and side. Source: SP appendix D.
    """

    id: str
    title: str
    question: str
    document: Document
    sources: tuple[Document, ...]
    further: tuple[Document, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """The items in blinded order; `short` names (topic, side) with fewer than were wanted."""

    pack: str
    seed: int
    items: tuple[Item, ...]
    short: tuple[tuple[str, str], ...]
    groups: Mapping[str, str]


def make_form(
    pack: Pack, poisoned: Sequence[Poisoned], *, each: int = EACH, seed: int = SEED
) -> Form:
    """`each` planted documents of every topic and side, drawn and put in order by `seed`.

    A document in several of `poisoned` (they are nested) is drawn once. Sides of which nothing was
    planted at all are not wanted and not named as short.

    Raises:
        InputError: nothing was planted, each < 1, or one id stands for two different documents.

    Source: SP appendix D.
    """
    checked_count("each", each)
    planted = _planted(poisoned)
    sources = {k: v for one in poisoned for k, v in sources_of(one, pack).items()}
    drawn: list[Document] = []
    short: list[tuple[str, str]] = []
    for topic in pack.topics:
        for side in SIDES:
            if not any(one.direction is side for one in poisoned):
                continue
            inside = [d for d in planted if d.topic == topic.id and d.stance is side]
            if len(inside) < each:
                short.append((topic.id, side.value))
            rng = random.Random(f"{seed}/{topic.id}/{side.value}")
            drawn += rng.sample(inside, min(each, len(inside)))
    random.Random(f"{seed}/order").shuffle(drawn)
    width = len(str(len(drawn)))
    # A mark of the form in every item, so that no form is scored with another's key.
    mark = mark_of([pack.name, seed, *(document.id for document in drawn)])
    items = [
        _item(pack, document, f"item-{number:0{width}}-{mark}", sources.get(document.id, ()))
        for number, document in enumerate(drawn, 1)
    ]
    return Form(pack.name, seed, tuple(items), tuple(short), pack.groups())


def sources_of(poisoned: Poisoned, pack: Pack) -> dict[str, tuple[Document, ...]]:
    """Planted id -> the pack's documents it was made from, as far as the attack noted them."""
    known = {document.id: document for document in pack.documents}
    ids: dict[str, list[str]] = {k: list(v) for k, v in poisoned.about.get("sources", {}).items()}
    for topic in poisoned.about.get("topics", {}).values():
        for name, row in topic["planted"].items():
            ids.setdefault(name, []).append(row["from"])
    return {
        name: tuple(known[source] for source in sources if source in known)
        for name, sources in ids.items()
    }


def write_form(form: Form, folder: Path) -> None:
    """The five files; `folder` is made where it is missing.

    Raises:
        InputError: a form is there already: it may hold somebody's answers.
    """
    from equipoise.lab.form_page import page

    files = {
        "form.csv": _csv_of_items(form),
        "sources.csv": _csv_of_sources(form),
        "form.html": page(form),
        "questions.txt": _questions(),
        "key.json": json.dumps(key_of(form), indent=1, ensure_ascii=False) + "\n",
    }
    write_files(files, folder)


def mark_of(parts: Sequence[Any]) -> str:
    """Four hex digits that stand for what is in a form, in its order."""
    return hashlib.sha256(json.dumps(list(parts)).encode("utf-8", "replace")).hexdigest()[:4]


def write_files(files: Mapping[str, str], folder: Path) -> None:
    """The files of a form by name; `folder` is made where it is missing.

    Raises:
        InputError: one of them is there already: it may hold somebody's answers.
    """
    taken = [name for name in files if (folder / name).exists()]
    if taken:
        raise InputError(f"{folder} must hold no form yet, and {taken[0]} is there")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        # As bytes: a CSV file's line ends are CR LF on every system.
        (folder / name).write_bytes(text.encode("utf-8", "replace"))


def key_of(form: Form) -> dict[str, Any]:
    """Item -> document, topic, group and intended side (JSON)."""
    return {
        "format": FORMAT,
        "pack": form.pack,
        "seed": form.seed,
        "short": [list(pair) for pair in form.short],
        "items": {
            item.id: {
                "document": item.document.id,
                "topic": item.document.topic,
                "group": form.groups[str(item.document.topic)],
                "intended": _side(item.document).value,
                "sources_known": bool(item.sources),
            }
            for item in form.items
        },
    }


def safe_cell(text: str) -> str:
    """`text` as a spreadsheet shows it and does not run it.

    An apostrophe goes before a cell that starts, after white space, with = + - or @, or with a
    tab or line end. Source: OWASP, "CSV injection".

    >>> safe_cell("=1+1"), safe_cell("Plain.")
    ("'=1+1", 'Plain.')
    """
    risky = text.lstrip().startswith(tuple("=+-@")) or text.startswith(("\t", "\r", "\n"))
    return "'" + text if risky else text


def _planted(poisoned: Sequence[Poisoned]) -> list[Document]:
    found: dict[str, Document] = {}
    for one in poisoned:
        for document in one.documents:
            if found.setdefault(document.id, document) != document:
                raise InputError(
                    f"one id must stand for one document, and {document.id!r} stands for two: "
                    "make a form for each corpus"
                )
    if not found:
        raise InputError("a form needs planted documents, and there are none")
    return [found[name] for name in sorted(found)]


def _item(pack: Pack, document: Document, name: str, sources: tuple[Document, ...]) -> Item:
    topic, side = str(document.topic), _side(document)
    title = next(entry.title for entry in pack.topics if entry.id == topic)
    further = tuple(d for d in side_of(pack, topic, side) if d not in sources)
    return Item(name, title, question_of(pack, topic).text, document, sources, further)


def _side(document: Document) -> Stance:
    assert document.stance is not None
    return document.stance


def _questions() -> str:
    lines = [INSTRUCTIONS, ""]
    for field, asked in ASKED.items():
        lines += [f"{field}: {asked}", f"    {', '.join(ANSWERS[field])}, or empty", ""]
    return "\n".join(lines)


def _csv_of_items(form: Form) -> str:
    rows = [
        (item.id, item.title, item.question, item.document.text, *("" for _ in ANSWERS), "")
        for item in form.items
    ]
    return csv_text(("item", "topic", "question", "document", *ANSWERS, "notes"), rows)


def _csv_of_sources(form: Form) -> str:
    rows = [
        (item.id, kind, source.text)
        for item in form.items
        for kind, sources in (("its own", item.sources), ("of its topic", item.further))
        for source in sources
    ]
    return csv_text(("item", "kind", "source"), rows)


def csv_text(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A CSV file that a spreadsheet shows as it is: no cell of it is run."""
    lines = io.StringIO()
    writer = csv.writer(lines)
    writer.writerow(head)
    writer.writerows([safe_cell(cell) for cell in row] for row in rows)
    # Subtle: without the mark, Excel reads UTF-8 as the code page of the machine.
    return "\ufeff" + lines.getvalue()
