"""Clean answers to one question side by side, one without a defence and one with the full one.

Their order is drawn, so that whoever rates them cannot tell which is which.
"""

import hashlib
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from equipoise.errors import InputError
from equipoise.lab.answers.store import Cell
from equipoise.lab.answers.texts import check_pack, text_of
from equipoise.lab.pack import Document, Pack
from equipoise.lab.results import code_version

CLEAN: Final = "clean"
SEED: Final = 20260905
"""Of the order of answers, of pairs, and of the sample for people. Source: SP appendix E."""
EXTRA: Final = 8
"""Pairs for people beside one a topic. Source: SP appendix E (42 + 8 = 50)."""
PAIRED: Final = ("A", "C")
"""The settings that are compared. Source: SP 4.8."""
FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Shown:
    """One answer as it is rated: its setting (A or C), its row's key, its words, its documents.

    `documents` are those that it was written from, in the order of its prompt.
    """

    setting: str
    key: str
    text: str
    documents: tuple[Document, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to one question, in the order in which they are shown."""

    question: str
    topic: str
    group: str
    asked: str
    shown: tuple[Shown, Shown]

    def about(self) -> dict[str, Any]:
        """What rows and keys of forms say of it (JSON): no words, but digests of them."""
        return {
            "question": self.question,
            "topic": self.topic,
            "group": self.group,
            "order": self.order,
            "answers": {shown.setting: shown.key for shown in self.shown},
            "shas": {shown.setting: _sha(shown.text) for shown in self.shown},
        }

    @property
    def order(self) -> str:
        """`AC` or `CA`."""
        return "".join(one.setting for one in self.shown)

    def answer(self, setting: str) -> Shown:
        """The answer of setting A or C."""
        return next(one for one in self.shown if one.setting == setting)


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of one generator, in an order that was drawn.

    `settings` is what rows of ratings say about where they come from; `left_out` counts, for A and
    for C, the outcomes other than answered: a question with one of them has no pair.
    """

    pairs: tuple[Pair, ...]
    settings: Mapping[str, Any]
    left_out: Mapping[str, Mapping[str, int]]


def make_pairs(
    cells: Sequence[Cell], pack: Pack, *, generator: str | None = None, seed: int = SEED
) -> Pairs:
    """The questions that both settings answered on the clean corpus.

    The order within a pair hangs on `seed` and the question alone, so it stays when others join.

    Args:
        cells: of a run's folder.
        pack: the one that the run was made from.
        generator: whose answers, as `provider/name`; None where the run has one generator.
        seed: of both orders.

    Raises:
        InputError: no clean answers of both settings, several generators and none named, another
            pack, or a published copy without texts.

    Source: SP 4.8 and appendix E.
    """
    found = _paired_cells(cells, generator)
    check_pack(found.values(), pack)
    documents = {document.id: document for document in pack.documents}
    pairs, outcomes = [], {setting: Counter[str]() for setting in PAIRED}
    for question in pack.questions:
        rows = {setting: cell.answers.get(question.id) for setting, cell in found.items()}
        for setting, row in rows.items():
            outcomes[setting]["missing" if row is None else str(row["outcome"])] += 1
        made = {s: shown for s, row in rows.items() if (shown := _shown(s, row, documents))}
        if len(made) == len(PAIRED):
            row = rows["A"]
            assert row is not None
            order = random.Random(f"{seed}/{question.id}").sample(PAIRED, 2)
            pairs.append(
                Pair(
                    question.id,
                    question.topic,
                    str(row["group"]),
                    question.text,
                    (made[order[0]], made[order[1]]),
                )
            )
    random.Random(f"{seed}/pairs").shuffle(pairs)
    left = {s: {k: n for k, n in c.items() if k != "answered"} for s, c in outcomes.items()}
    return Pairs(tuple(pairs), _settings(found, seed), left)


def sample(pairs: Sequence[Pair], *, extra: int = EXTRA, seed: int = SEED) -> tuple[Pair, ...]:
    """One pair a topic and `extra` more, drawn with `seed`, in the order given.

    Fewer where there are fewer.

    Raises:
        InputError: extra < 0.

    Source: SP appendix E.
    """
    if extra < 0:
        raise InputError(f"extra must be >= 0, got {extra}")
    drawn: set[str] = set()
    for topic in sorted({pair.topic for pair in pairs}):
        inside = sorted(pair.question for pair in pairs if pair.topic == topic)
        drawn.add(random.Random(f"{seed}/{topic}").choice(inside))
    rest = sorted(pair.question for pair in pairs if pair.question not in drawn)
    drawn.update(random.Random(f"{seed}/extra").sample(rest, min(extra, len(rest))))
    return tuple(pair for pair in pairs if pair.question in drawn)


def _paired_cells(cells: Sequence[Cell], generator: str | None) -> dict[str, Cell]:
    """The cell of A and that of C; of several the last that agree in all but the defence."""
    clean = [cell for cell in cells if cell.corpus == CLEAN and cell.setting in PAIRED]
    names = sorted({cell.generator for cell in clean})
    if generator is None and len(names) > 1:
        raise InputError(f"name one generator of {', '.join(names)}")
    groups: dict[str, dict[str, Cell]] = {}
    for cell in clean:
        if generator in (None, cell.generator):
            alike = {k: v for k, v in cell.settings.items() if k not in ("defence", "code")}
            groups.setdefault(json.dumps(alike, sort_keys=True), {})[str(cell.setting)] = cell
    whole = [group for group in groups.values() if len(group) == len(PAIRED)]
    if not whole:
        wanted = "" if generator is None else f" by {generator!r}"
        raise InputError(
            f"there must be answers{wanted} on the clean corpus under none (A) and quota_prompt "
            f"(C), and there are: {', '.join(str(cell.setting) for cell in clean) or 'none'}"
        )
    return {setting: whole[-1][setting] for setting in PAIRED}


def _shown(
    setting: str, row: Mapping[str, Any] | None, documents: Mapping[str, Document]
) -> Shown | None:
    text = None if row is None else text_of(row)
    if row is None or text is None:
        return None
    return Shown(setting, row["key"], text, tuple(documents[name] for name in row["chosen"]))


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _settings(found: Mapping[str, Cell], seed: int) -> dict[str, Any]:
    first = found["A"].settings
    return {
        "format": FORMAT,
        **{name: first[name] for name in ("pack", "pack_checksum", "generator")},
        "template": first.get("template"),
        "defences": {setting: cell.settings["defence"] for setting, cell in found.items()},
        "seed": seed,
        "code": code_version(),
    }
