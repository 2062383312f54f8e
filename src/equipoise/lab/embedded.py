"""The embedded corpus as a pack: needs no data, and its texts are this project's own."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.data import Topic as Contested
from equipoise.data import contested, facts
from equipoise.errors import InputError
from equipoise.lab.pack import Document, Origin, Pack, Question, Topic
from equipoise.types import Stance

SOURCE = "equipoise.data"


def embedded_background() -> tuple[Document, ...]:
    """The factual passages of the embedded corpus."""
    return tuple(
        Document(fact.document.id, fact.document.text, Origin.BACKGROUND, SOURCE)
        for fact in facts()
    )


def embedded_pack(
    background: Sequence[Document] | None = None,
    *,
    topics: int | None = None,
    made_by: Mapping[str, Any] | None = None,
) -> Pack:
    """The contested topics and, as background, the facts; at most `topics`, the first by name.

    Args:
        background: other background in place of the facts.
        topics: how many topics at most; None takes all.
        made_by: command and settings, for the manifest.

    Raises:
        InputError: topics < 1.
    """
    if topics is not None and topics < 1:
        raise InputError(f"topics must be >= 1, got {topics}")
    chosen = contested()[:topics]
    other = embedded_background() if background is None else tuple(background)
    own = (*(document for entry in chosen for document in _documents(entry)), *other)
    return Pack(
        f"embedded-{len(chosen)}",
        tuple(Topic(entry.name, entry.name, _title(entry.name)) for entry in chosen),
        tuple(question for entry in chosen for question in _questions(entry)),
        own,
        {
            "made_by": dict(made_by or {}),
            "topics_asked_for": topics or len(chosen),
            "third_party": _third_party(other),
            "sources": _sources(own),
        },
    )


def _third_party(background: Sequence[Document]) -> str:
    others = sorted({document.source for document in background} - {SOURCE})
    if not others:
        return "None: the texts were written for this project (CC0)."
    return f"The background is from {', '.join(others)}: see its licence before passing it on."


def _sources(documents: Sequence[Document]) -> list[dict[str, Any]]:
    counted = Counter(document.source for document in documents)
    return [
        {
            "name": name,
            "documents": count,
            "licence": "CC0" if name == SOURCE else "that of the background given",
            "credit": "written for this project; see data/README.md" if name == SOURCE else "",
        }
        for name, count in sorted(counted.items())
    ]


def _title(name: str) -> str:
    return name.replace("-", " ").capitalize()


def _questions(entry: Contested) -> list[Question]:
    return [
        Question(f"{entry.name}-{number}", entry.name, text, original=number == 1)
        for number, text in enumerate((entry.question, *entry.paraphrases), 1)
    ]


def _documents(entry: Contested) -> list[Document]:
    return [
        Document(
            document.id,
            document.text,
            Origin(document.metadata["origin"]),
            SOURCE,
            entry.name,
            Stance(document.metadata["stance"]),
        )
        for document in entry.documents
    ]
