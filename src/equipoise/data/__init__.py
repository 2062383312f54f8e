"""The embedded corpus: contested topics with both sides, and plain factual passages.

Written for this project (CC0), sober in tone and true as far as its writers know; see
`data/README.md`. It serves the demo and the tests, and is no authority on anything.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from equipoise.errors import InputError
from equipoise.types import Candidate


@dataclass(frozen=True, slots=True)
class Topic:
    """One contested question with its passages.

    The metadata of each passage has `topic`, `stance` ("pro", "con", "neutral") and `origin`:
    "genuine" and "neutral" form the clean corpus, "injected" ones are one-sided texts to plant.
    """

    name: str
    question: str
    paraphrases: tuple[str, ...]
    documents: tuple[Candidate, ...]

    def clean(self) -> tuple[Candidate, ...]:
        """The passages of the corpus before any attack."""
        return tuple(doc for doc in self.documents if doc.metadata["origin"] != "injected")

    def planted(self, stance: str) -> tuple[Candidate, ...]:
        """The seven one-sided passages of `stance` ("pro" or "con") to plant."""
        return tuple(
            doc
            for doc in self.documents
            if doc.metadata["origin"] == "injected" and doc.metadata["stance"] == stance
        )


@dataclass(frozen=True, slots=True)
class Fact:
    """A question of fact, its short answer, and the passage that alone answers it."""

    question: str
    answer: str
    document: Candidate


@cache
def contested() -> tuple[Topic, ...]:
    """The contested topics, by name."""
    folder = files(__name__) / "contested"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".json"))
    return tuple(_topic(json.loads((folder / name).read_text(encoding="utf-8"))) for name in names)


@cache
def facts() -> tuple[Fact, ...]:
    """The factual passages with their questions."""
    rows = json.loads((files(__name__) / "factual.json").read_text(encoding="utf-8"))["documents"]
    return tuple(
        Fact(
            row["question"],
            row["answer"],
            Candidate(
                row["id"], row["text"], metadata={"title": row["title"], "origin": "background"}
            ),
        )
        for row in rows
    )


def topic(name: str) -> Topic:
    """The topic of that name.

    Raises:
        InputError: there is none; the message lists the names.
    """
    for entry in contested():
        if entry.name == name:
            return entry
    raise InputError(f"no topic {name!r}; there are {', '.join(t.name for t in contested())}")


def clean_corpus() -> tuple[Candidate, ...]:
    """Every passage but the ones to plant: contested topics and facts."""
    return (
        *(doc for entry in contested() for doc in entry.clean()),
        *(fact.document for fact in facts()),
    )


def _topic(data: dict[str, Any]) -> Topic:
    name = data["topic"]
    return Topic(
        name,
        data["question"],
        tuple(data["paraphrases"]),
        tuple(
            Candidate(
                row["id"],
                row["text"],
                metadata={"topic": name, "stance": row["stance"], "origin": row["origin"]},
            )
            for row in data["documents"]
        ),
    )
