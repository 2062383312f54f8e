"""The questions of a pack made from the stance data: five a topic, all pointing the same way.

`questions.jsonl` has a line a topic: `topic` (slug of the data), `group` (the debate it is of),
`title`, `questions` (the data's own first, then four of ours), `related` (other slugs of the data
whose question asks the same thing, "same", or its opposite, "opposite"; each pair read by hand) and
`folds` (topic and related slugs -> fold of the bundled detectors' training; `HELD_FOLD` was held
out). docs/packs.md tells how the folds were computed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.errors import InputError
from equipoise.lab.pack import read_lines

QUESTIONS = Path(__file__).with_name("questions.jsonl")
HELD_FOLD = 0
"""Fold of six that no bundled detector was trained on. Source: the detectors' cards."""
A_TOPIC = 5
"""Questions a topic. Source: SP 4.1."""


@dataclass(frozen=True, slots=True)
class TopicQuestions:
    """One topic's questions, and what else in the data is about it."""

    topic: str
    group: str
    title: str
    questions: tuple[str, ...]
    related: Mapping[str, str]
    folds: Mapping[str, int]

    def __post_init__(self) -> None:
        if len(self.questions) != A_TOPIC or len(set(self.questions)) != A_TOPIC:
            raise InputError(f"{self.topic} must have {A_TOPIC} different questions")
        if not set(self.related.values()) <= {"same", "opposite"}:
            raise InputError(f"{self.topic}: related topics must be same or opposite")
        if set(self.folds) != {self.topic, *self.related}:
            raise InputError(f"{self.topic}: folds must name the topic and the related ones")

    @property
    def seen_in_training(self) -> bool:
        """True when texts of the topic or of a related one were in a bundled detector's training.

        Labels on such a topic look better than they are.
        """
        return any(fold != HELD_FOLD for fold in self.folds.values())


def read_questions(path: Path = QUESTIONS) -> tuple[TopicQuestions, ...]:
    """The topics of the file, in its order.

    Raises:
        InputError: the file cannot be read, a line lacks a field, or a topic is there twice.
    """
    found = tuple(_topic(row, f"{path}:{at}") for at, row in enumerate(read_lines(path), 1))
    names = [entry.topic for entry in found]
    if len(set(names)) != len(names):
        raise InputError(f"{path} must name each topic once")
    return found


def _topic(row: Mapping[str, Any], place: str) -> TopicQuestions:
    try:
        return TopicQuestions(
            row["topic"],
            row["group"],
            row["title"],
            tuple(row["questions"]),
            dict(row["related"]),
            dict(row["folds"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{place}: must be a topic with its questions: {error}") from error
