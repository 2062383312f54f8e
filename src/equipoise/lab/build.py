"""A pack from the stance data: genuine documents, neutral ones, background, and texts to plant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from equipoise.errors import InputError
from equipoise.lab.about import about, counted
from equipoise.lab.background import without_overlap
from equipoise.lab.holding import SIDES, Held, Parts, hold_out, without_copies
from equipoise.lab.joining import Sentences, fill_up
from equipoise.lab.pack import Document, Origin, Pack, Question, Topic
from equipoise.lab.questions import TopicQuestions, read_questions
from equipoise.lab.stance_data import (
    LEAST_WORDS,
    PASSAGES,
    SENTENCES,
    Text,
    missing_sources,
    read_texts,
)

TOPICS = 42
"""SP 4.1."""
SEED = 20260909
"""SP 4.1 names this seed for its random draws."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a pack is made of: how many topics, which draws, how much is kept out.

    Raises:
        InputError: topics < 1.
    """

    topics: int = TOPICS
    seed: int = SEED
    held: Held = field(default_factory=Held)

    def __post_init__(self) -> None:
        if self.topics < 1:
            raise InputError(f"topics must be >= 1, got {self.topics}")


def build_pack(
    data: Path,
    background: Sequence[Document],
    plan: Plan = Plan(),
    *,
    questions: Sequence[TopicQuestions] | None = None,
    made_by: Mapping[str, Any] | None = None,
) -> Pack:
    """The pack of the stance data in `data`, of at most `plan.topics` topics.

    Topics with the most texts to plant come first; where there are fewer than asked for, the pack
    has fewer, and `about` says so. The same data, plan and questions give the same pack; what is
    kept out does not depend on the background.

    Args:
        data: folder of the stance format, with `stance/`.
        background: passages on no known topic; those that nearly repeat a text of the pack, or
            hold a sentence to be planted, are left out.
        plan: how many topics, which draws, how much is kept out.
        questions: the topics to choose from; those of `questions.jsonl`.
        made_by: command and settings, for the manifest.

    Raises:
        InputError: a file is missing or damaged, or no topic has texts enough.
    """
    entries = read_questions() if questions is None else tuple(questions)
    missing = missing_sources(data)
    passages, dropped = without_copies(read_texts(data, PASSAGES, entries, least_words=LEAST_WORDS))
    sentences = Sentences(read_texts(data, SENTENCES, entries), passages)
    possible = [
        fill_up(parts, sentences, plan.held, seed=plan.seed)
        for entry in entries
        if (parts := hold_out(entry, passages, plan.held, seed=plan.seed)) is not None
    ]
    if not possible:
        raise InputError(
            f"{data} must hold a topic with {plan.held.kept} texts for, {plan.held.kept} against "
            "and one neutral, and holds none"
        )
    chosen = _richest(possible, plan.topics)
    fitting, overlapping = without_overlap(background, [t for p in chosen for t in _texts(p)])
    dropped["background near a text of the pack"] = overlapping
    account = about(chosen, fitting, dropped, asked_for=plan.topics, made_by=made_by or {})
    pack = Pack(
        f"stance-{len(chosen)}",
        tuple(Topic(p.entry.topic, p.entry.group, p.entry.title) for p in chosen),
        tuple(question for p in chosen for question in questions_of(p.entry)),
        (*(document for p in chosen for document in _documents(p)), *fitting),
    )
    return replace(pack, about={**account, "sources_missing": missing, **counted(pack)})


def questions_of(entry: TopicQuestions) -> tuple[Question, ...]:
    """The topic's questions; the first is the data's own."""
    return tuple(
        Question(f"{entry.topic}-{number}", entry.topic, text, original=number == 1)
        for number, text in enumerate(entry.questions, 1)
    )


def _richest(possible: Sequence[Parts], count: int) -> list[Parts]:
    """The `count` topics with the most to plant on their poorer side, then genuine there; by id."""

    def wealth(parts: Parts) -> tuple[int, int, str]:
        planted, genuine = (
            min(parts.count(kind, side) for side in SIDES) for kind in ("injected", "genuine")
        )
        return (-planted, -genuine, parts.entry.topic)

    return sorted(sorted(possible, key=wealth)[:count], key=lambda parts: parts.entry.topic)


def _texts(parts: Parts) -> tuple[Text, ...]:
    return (*parts.genuine, *parts.neutral, *parts.injected)


def _documents(parts: Parts) -> list[Document]:
    return [
        Document(text.id, text.text, origin, text.source, text.topic, text.stance)
        for origin, texts in (
            (Origin.GENUINE, parts.genuine),
            (Origin.NEUTRAL, parts.neutral),
            (Origin.INJECTED, parts.injected),
        )
        for text in texts
    ]
