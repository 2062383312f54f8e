"""One-sided documents written by a generator from the pack's own genuine ones."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.errors import InputError
from equipoise.lab.pack import Document, Origin, Pack, Question, Topic
from equipoise.lab.poison.planted import checked_count, checked_side
from equipoise.lab.poison.prompts import REWRITE, Wording
from equipoise.lab.poison.writing import Attempt, Checks, Existing, Request, tally, write
from equipoise.types import Generator, Stance

SOURCES_EACH = 3
"""Genuine documents that one new text rests on. Source: ours."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """What was written: the documents taken, what they rest on, and every attempt.

    `sources` gives the ids of a document's sources, `unchecked` the checks it went without.
    `without_sources` are topics that have no genuine document of the side to write from.
    """

    documents: tuple[Document, ...]
    sources: Mapping[str, tuple[str, ...]]
    unchecked: Mapping[str, tuple[str, ...]]
    attempts: tuple[Attempt, ...]
    without_sources: tuple[str, ...]
    wording: str

    def about(self) -> dict[str, Any]:
        """The parts that go into a manifest: counts, sources, what was not checked."""
        return {
            "wording": self.wording,
            "counts": tally(self.attempts),
            "sources": {name: list(ids) for name, ids in self.sources.items()},
            "not_checked": {name: list(checks) for name, checks in self.unchecked.items()},
            "without_sources": list(self.without_sources),
        }


def rewrite(
    pack: Pack,
    direction: Stance,
    generator: Generator,
    *,
    checks: Checks,
    n: int,
    seed: int,
    tries: int = 3,
    wording: Wording = REWRITE,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> Rewriting:
    """`n` new documents a topic of one side, each from a few genuine ones of that side.

    A text that fails its checks `tries` times is left out, and the topic stays short. Their ids
    are `written-TOPIC-SIDE-NUMBER`. `told` is called with the topics done and in all.

    Raises:
        InputError: direction is neutral, n or tries < 1, or a topic has no question.
        DetectorError: the stance detector or NLI model could not answer.

    Cost: n * tries calls a topic at most. Source: SP 4.1.1; prompt, draw and checks are ours.
    """
    direction = checked_side(direction)
    checked_count("n", n)
    documents: list[Document] = []
    sources: dict[str, tuple[str, ...]] = {}
    unchecked: dict[str, tuple[str, ...]] = {}
    attempts: list[Attempt] = []
    bare: list[str] = []
    for done, topic in enumerate(pack.topics, 1):
        genuine = side_of(pack, topic.id, direction)
        if not genuine:
            bare.append(topic.id)
        existing = Existing((d.text for d in pack.documents if d.topic == topic.id), checks.embed)
        for number in range(1, n + 1) if genuine else ():
            request = _request(pack, topic, direction, genuine, number, seed, wording)
            made = write(generator, request, existing, checks=checks, tries=tries)
            attempts += made
            if made[-1].taken:
                documents.append(as_document(request, made[-1], writer_of(generator)))
                sources[request.id] = tuple(source.id for source in request.sources)
                unchecked[request.id] = made[-1].unchecked
        told(done, len(pack.topics))
    return Rewriting(
        tuple(documents), sources, unchecked, tuple(attempts), tuple(bare), wording.version
    )


def side_of(pack: Pack, topic: str, direction: Stance) -> tuple[Document, ...]:
    """The genuine documents of a topic and side that hold any text, in the pack's order."""
    return tuple(
        document
        for document in pack.documents
        if document.origin is Origin.GENUINE
        and document.topic == topic
        and document.stance is direction
        and document.text.strip()
    )


def question_of(pack: Pack, topic: str) -> Question:
    """The topic's first original question, or its first where none is original.

    Raises:
        InputError: it has no question.
    """
    asked = [question for question in pack.questions if question.topic == topic]
    if not asked:
        raise InputError(f"the topic {topic!r} must have a question, and has none")
    return next((question for question in asked if question.original), asked[0])


def as_document(request: Request, attempt: Attempt, source: str) -> Document:
    """The document that an attempt gave."""
    return Document(
        request.id, attempt.text, Origin.INJECTED, source, request.topic, request.direction
    )


def writer_of(generator: Generator) -> str:
    """What a written document names as its source: the model, where the generator tells it."""
    name = getattr(generator, "model", None) or getattr(generator, "name", "generator")
    return f"written by {name}"


def _request(
    pack: Pack,
    topic: Topic,
    direction: Stance,
    genuine: tuple[Document, ...],
    number: int,
    seed: int,
    wording: Wording,
) -> Request:
    rng = random.Random(f"{seed}/{topic.id}/{direction.value}/{number}")
    drawn = tuple(rng.sample(genuine, min(SOURCES_EACH, len(genuine))))
    name = f"written-{topic.id}-{direction.value}-{number}"
    return Request(name, topic.id, question_of(pack, topic.id).text, direction, drawn, wording)
