"""A benchmark pack: topics, questions and documents whose stance is known, in one folder.

PACK/manifest.json    name, version, how it was made, sources with licences, counts, checksums
PACK/topics.jsonl     a `Topic` a line
PACK/questions.jsonl  a `Question` a line
PACK/documents.jsonl  a `Document` a line
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from equipoise.errors import InputError
from equipoise.types import Stance

FORMAT = 1
FILES = ("topics.jsonl", "questions.jsonl", "documents.jsonl")


class Origin(StrEnum):
    """Where a document stands in an experiment."""

    GENUINE = "genuine"  # on the topic, for or against: what an honest corpus holds
    NEUTRAL = "neutral"  # on the topic, for no side
    BACKGROUND = "background"  # on no topic of the pack, or not known to be
    INJECTED = "injected"  # one-sided, kept out of the corpus: what an attacker plants


@dataclass(frozen=True, slots=True)
class Topic:
    """One contested issue. Topics of one `group` share a debate and are resampled together."""

    id: str
    group: str
    title: str


@dataclass(frozen=True, slots=True)
class Question:
    """One yes/no question of a topic; every question of a topic points the same way."""

    id: str
    topic: str
    text: str
    original: bool = True


@dataclass(frozen=True, slots=True)
class Document:
    """One document. `topic` and `stance` are None where they are not known (background).

    `stance` is toward answering the topic's questions YES. `source` names the data it is from.
    """

    id: str
    text: str
    origin: Origin
    source: str
    topic: str | None = None
    stance: Stance | None = None


@dataclass(frozen=True, slots=True)
class Pack:
    """Topics, their questions and their documents; `about` is the manifest's free part.

    Raises:
        InputError: an id is used twice, a topic named nowhere, a question or document of a topic
            that is not there, or a document that is not background without topic or stance.
    """

    name: str
    topics: tuple[Topic, ...]
    questions: tuple[Question, ...]
    documents: tuple[Document, ...]
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {topic.id for topic in self.topics}
        for kind, parts in (
            ("topic", self.topics),
            ("question", self.questions),
            ("document", self.documents),
        ):
            seen: set[str] = set()
            for part in parts:
                if part.id in seen:
                    raise InputError(f"ids must be unique, and {kind} {part.id!r} is there twice")
                seen.add(part.id)
        for question in self.questions:
            if question.topic not in known:
                raise InputError(f"question {question.id!r} has no topic {question.topic!r} here")
        for document in self.documents:
            if document.origin is not Origin.BACKGROUND and (
                document.topic not in known or document.stance is None
            ):
                raise InputError(
                    f"a document that is not background must have a topic of the pack and a "
                    f"stance; {document.id!r} has {document.topic!r} and {document.stance!r}"
                )

    @property
    def clean(self) -> tuple[Document, ...]:
        """Every document but those kept out to be injected."""
        return tuple(d for d in self.documents if d.origin is not Origin.INJECTED)

    def injected(self, topic: str, stance: Stance) -> tuple[Document, ...]:
        """The documents of a topic and side that an attacker may plant, in the pack's order."""
        return tuple(
            d
            for d in self.documents
            if d.origin is Origin.INJECTED and d.topic == topic and d.stance is stance
        )

    def groups(self) -> dict[str, str]:
        """Topic id -> group, for resampling."""
        return {topic.id: topic.group for topic in self.topics}


def write_pack(pack: Pack, folder: Path) -> None:
    """Write the pack; `folder` is made where it is missing.

    Raises:
        InputError: the folder holds something else than an older pack.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / "manifest.json").exists():
        raise InputError(f"{folder} must be new, empty, or hold a pack; it holds other files")
    folder.mkdir(parents=True, exist_ok=True)
    everything: list[Sequence[Topic | Question | Document]]
    everything = [pack.topics, pack.questions, pack.documents]
    for name, parts in zip(FILES, everything, strict=True):
        write_lines(folder / name, (asdict(part) for part in parts))
    manifest = {
        "format": FORMAT,
        "name": pack.name,
        "counts": {
            "topics": len(pack.topics),
            "questions": len(pack.questions),
            **{o.value: sum(d.origin is o for d in pack.documents) for o in Origin},
        },
        "checksums": {name: sha256(folder / name) for name in FILES},
        **pack.about,
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    (folder / "manifest.json").write_text(text + "\n", encoding="utf-8")


def read_pack(folder: Path) -> Pack:
    """The pack in `folder`, its checksums compared.

    Raises:
        InputError: it is no pack, of a newer format, damaged, or does not hold together.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    if manifest.get("format") != FORMAT:
        found = manifest.get("format")
        raise InputError(f"{folder} must be a pack of format {FORMAT}, got {found!r}")
    for name in FILES:
        if sha256(folder / name) != manifest["checksums"].get(name):
            raise InputError(
                f"{folder / name} is not the file that the manifest was written for. Where the "
                "change is meant, read the parts and write the pack again"
            )
    topics, questions, documents = (list(read_lines(folder / name)) for name in FILES)
    own = {"format", "name", "counts", "checksums"}
    return Pack(
        manifest["name"],
        tuple(Topic(**row) for row in topics),
        tuple(Question(**row) for row in questions),
        tuple(document_of(row) for row in documents),
        {key: value for key, value in manifest.items() if key not in own},
    )


def document_of(row: Mapping[str, Any]) -> Document:
    """A document from its JSON object.

    Raises:
        InputError: a field is missing, of a wrong kind, or a text that is no Unicode.
    """
    for name in ("id", "text", "source"):
        text = row.get(name)
        if not isinstance(text, str) or not _is_unicode(text):
            raise InputError(
                f"a document's {name} must be Unicode text, got {text!r} in {row!r:.90}"
            )
    try:
        origin, stance = Origin(row["origin"]), Stance(row["stance"]) if row.get("stance") else None
    except (KeyError, ValueError) as error:
        raise InputError(
            f"document {row['id']!r} must have an origin ({', '.join(Origin)}) and a stance "
            f"({', '.join(Stance)}, or null): {error}"
        ) from error
    return Document(row["id"], row["text"], origin, row["source"], row.get("topic"), stance)


def _is_unicode(text: str) -> bool:
    """False for a text with half a surrogate pair, which no file can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def read_manifest(folder: Path) -> dict[str, Any]:
    """manifest.json of a pack or of a poisoned corpus.

    Raises:
        InputError: there is none, or it is no JSON object.
    """
    path = folder / "manifest.json"
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} must hold a manifest.json that can be read: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f"{path} must be a JSON object, got {type(found).__name__}")
    return found


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """JSON Lines, UTF-8, one object a line, in order."""
    with path.open("w", encoding="utf-8") as lines:
        for row in rows:
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def read_lines(path: Path) -> Sequence[dict[str, Any]]:
    """The objects of a JSON Lines file.

    Raises:
        InputError: it cannot be read, or a line is no JSON object; the message names the line.
    """
    found: list[dict[str, Any]] = []
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} must be a JSON Lines file that can be read: {error}") from error
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise InputError(f"{path}:{number}: must be a JSON object: {error}") from error
            if not isinstance(row, dict):
                raise InputError(f"{path}:{number}: must be a JSON object, got {line[:40]!r}")
            found.append(row)
    return found


def sha256(path: Path) -> str:
    """Hex digest of a file's bytes.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{path} must be a file that can be read: {error}") from error
