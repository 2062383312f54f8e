"""Answers composed of people's arguments and of words of our own, with a label by construction.

An answer is "pro" or "con" where its arguments stand on one side, where one side is conceded and
the other prevails, or where it weighs both and then decides; "neutral" where both sides stand
without a decision, where it only describes, or where it speaks of something else. Source: ours.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from equipoise.train import judge_words as words
from equipoise.train.data import OPPOSITES, Row
from equipoise.train.judge_subject import Subject, big, ended, small, split

_SWAP = {"pro": "con", "con": "pro", "neutral": "neutral"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A composed answer: sentences in order, its stance toward the claim, how it was made.

    `yes` says where a first word "Yes" or "No" must agree with the question asked.
    """

    sentences: tuple[str, ...]
    stance: str
    kind: str
    yes: bool = False


_OF_ACT = re.compile(r"\{(act|opp)\}", re.IGNORECASE)


class Composer:
    """Makes answers about one debate; every draw comes from `rng`."""

    def __init__(self, subject: Subject, rng: random.Random) -> None:
        self._subject = subject
        self._rng = rng
        self._slots = subject.slots

    def answer(self, kind: str, side: str) -> Answer:
        """An answer of that kind; `side` is the stance where the kind has one."""
        made: Callable[[str], Answer] = getattr(self, f"_{kind}")
        return made(side)

    def _one_side(self, side: str) -> Answer:
        args = self._draw(side, self._rng.choice((1, 1, 2, 2, 3, 3, 4)))
        said = [self._said(arg, side) for arg in args]
        return self._finish(said, side, "one_side", decided=0.3)

    def _conceded(self, side: str) -> Answer:
        major = self._draw(side, self._rng.choice((2, 2, 3)))
        (minor,) = self._draw(_SWAP[side], 1)
        first, second = self._rng.choice(words.CONCESSIONS)
        parts = {"minor": small(minor), "major": small(major[0])}
        turn = [self._fill(frame, **parts) for frame in (first, second) if frame]
        rest = [self._said(arg, side) for arg in major[1:]]
        said = turn + rest if self._rng.random() < 0.6 else rest + turn
        return self._finish(said, side, "conceded", decided=0.4)

    def _decided(self, side: str) -> Answer:
        both = self._both(self._rng.choice((1, 1, 2)))
        return self._finish(both, side, "decided", decided=1.0)

    def _concluded(self, side: str) -> Answer:
        said = [self._side_conclusion(side) for _ in range(self._rng.choice((1, 1, 2)))]
        return self._finish(list(dict.fromkeys(said)), side, "concluded", decided=0.0)

    def _balanced(self, side: str) -> Answer:
        both = self._both(self._rng.choice((1, 1, 2)))
        if self._rng.random() < 0.45:
            both.append(self._fill(self._pick(words.OPEN)))
        return self._finish(both, "neutral", "balanced", decided=0.0)

    def _described(self, side: str) -> Answer:
        """About the subject without a side: facts, what the text is about, what else it says."""
        said = [self._described_once() for _ in range(self._rng.choice((1, 2, 2, 3)))]
        if self._subject.facts and self._rng.random() < 0.5:
            said = list(self._subject.facts[: self._rng.choice((1, 2))])
        if self._subject.strays and self._rng.random() < 0.4:
            said += self._stray(self._rng.choice((1, 2)))
        if self._rng.random() < 0.15:
            said.append(self._fill(self._pick(words.OPEN)))
        return self._finish(list(dict.fromkeys(said)), "neutral", "described", decided=0.0)

    def _described_once(self) -> str:
        if self._subject.facts and self._rng.random() < 0.5:
            return self._rng.choice(self._subject.facts)
        return self._fill(self._rng.choice(words.DESCRIPTIONS))

    def _undecided(self, side: str) -> Answer:
        drawn = self._rng.sample(words.OPEN, self._rng.choice((1, 2, 2)))
        said = [self._fill(frame) for frame in self._usable(drawn) or words.OPEN[:1]]
        return self._finish(said, "neutral", "undecided", decided=0.0)

    def _elsewhere(self, side: str) -> Answer:
        """About something else: facts, or another debate's arguments."""
        if self._subject.others and self._rng.random() < 0.5:
            count = self._rng.choice((1, 2, 3))
            args = self._rng.sample(self._subject.others, min(count, len(self._subject.others)))
            said = [self._said(arg, "neutral") for arg in args]
        else:
            said = self._stray(self._rng.choice((2, 3, 4)))
        return self._finish(said, "neutral", "elsewhere", decided=0.0)

    def _draw(self, side: str, count: int) -> list[str]:
        pool = self._subject.pros if side == "pro" else self._subject.cons
        return self._rng.sample(pool, min(count, len(pool)))

    def _both(self, each: int) -> list[str]:
        """Arguments of both sides in equal number, in blocks or in turn, either side first."""
        first = self._rng.choice(("pro", "con"))
        here = [self._said(arg, first) for arg in self._draw(first, each)]
        there = self._draw(_SWAP[first], each)
        turned = [self._fill(self._pick(words.TURNS), a=small(there[0]))]
        turned += [self._said(arg, _SWAP[first]) for arg in there[1:]]
        if each > 1 and self._rng.random() < 0.4:
            return [part for pair in zip(here, turned, strict=True) for part in pair]
        return here + turned

    def _said(self, argument: str, side: str) -> str:
        """The argument plain, in a frame without a side, or (seldom) in one that names its side."""
        draw = self._rng.random()
        if draw < 0.4:
            return ended(big(argument.strip()))
        frames: Sequence[str] = words.FRAMES
        if draw > 0.8 and side != "neutral" and self._subject.act:
            frames = words.SIDE_PRO if side == "pro" else words.SIDE_CON
        return self._fill(self._rng.choice(frames), a=small(argument))

    def _stray(self, count: int) -> list[str]:
        """Consecutive sentences of a text about something else."""
        parts = split(self._rng.choice(self._subject.strays))
        start = self._rng.randrange(max(1, len(parts) - count + 1))
        return [ended(part) for part in parts[start : start + count]]

    def _side_conclusion(self, side: str) -> str:
        return self._fill(self._pick(words.FOR if side == "pro" else words.AGAINST))

    def _pick(self, frames: Sequence[str]) -> str:
        return self._rng.choice(self._usable(frames))

    def _usable(self, frames: Sequence[str]) -> list[str]:
        """Frames whose places can all be filled."""
        return [f for f in frames if self._subject.act or not _OF_ACT.search(f)]

    def _fill(self, frame: str, **parts: str) -> str:
        return big(frame.format(**{**self._slots, **parts}))

    def _finish(self, said: list[str], stance: str, kind: str, *, decided: float) -> Answer:
        """With an opening, words without a side and a conclusion, each by chance."""
        if self._rng.random() < 0.3:
            said.insert(0, self._fill(self._rng.choice(words.OPENERS)))
        for _ in range(self._rng.choice((0, 0, 1, 1, 2))):
            at = self._rng.randint(1, len(said))
            said.insert(at, self._fill(self._rng.choice(words.FILLERS)))
        if self._rng.random() < 0.15:
            at = -1 if kind == "decided" else self._rng.randint(0, len(said))
            said.insert(at, self._described_once())
        if self._rng.random() < decided:
            said.append(self._side_conclusion(stance))
        yes = stance != "neutral" and self._rng.random() < 0.12
        return Answer(tuple(self._muddled(said, kind)), stance, kind, yes)

    def _muddled(self, said: list[str], kind: str) -> list[str]:
        """As small models write: now and then a sentence twice, or the last one cut short."""
        if len(said) > 1 and self._rng.random() < 0.06:
            said.append(said[self._rng.randrange(len(said) - 1)])
        if len(said) > 2 and kind != "decided" and self._rng.random() < 0.1:
            cut = said[-1].split()
            said[-1] = " ".join(cut[: max(3, len(cut) * 2 // 3)])
        return said


def asked(subject: Subject, rng: random.Random) -> tuple[str, bool]:
    """(a wording of the question, whether yes to it means no to the claim)."""
    draw = rng.random()
    slots = subject.slots
    if draw < 0.45:
        return subject.question, False
    if draw < 0.55:
        return subject.claim, False
    if draw < 0.70:
        return subject.opposite_question, True
    if draw < 0.76:
        return rng.choice(OPPOSITES).format(slots["claim"]), True
    forms, turned = (words.QUESTIONS, False) if draw < 0.9 else (words.TURNED_QUESTIONS, True)
    usable = [f for f in forms if subject.act or "{claim}" in f]
    return rng.choice(usable).format(**slots), turned


def as_row(subject: Subject, answer: Answer, rng: random.Random, *, name: str, source: str) -> Row:
    """The answer beside a wording of the question, labelled toward yes to that wording."""
    question, turned = asked(subject, rng)
    stance = _SWAP[answer.stance] if turned else answer.stance
    sentences = list(answer.sentences)
    if answer.yes:
        word = rng.choice(words.YES if stance == "pro" else words.NO)
        first = sentences[0]
        whole = first[:1].isupper() and word[-1] in ",:"
        sentences[0] = f"{word} {ended(small(first)) if whole else first}"
    return Row(name, subject.topic, question, question, " ".join(sentences), stance, source)


KINDS = (
    *(("one_side", 23), ("conceded", 17), ("decided", 13), ("concluded", 9)),
    *(("balanced", 15), ("described", 10), ("undecided", 6), ("elsewhere", 7)),
)
"""Kinds of answers and their weights: two thirds take a side."""


def compose(
    subjects: Sequence[Subject], count: int, *, rng: random.Random, source: str
) -> list[Row]:
    """`count` answers, the debates in turn, kinds by `KINDS`, sides at random.

    Cost: O(count), each a few draws.
    """
    kinds, weights = zip(*KINDS, strict=True)
    made: list[Row] = []
    for number in range(count):
        subject = subjects[number % len(subjects)]
        kind = rng.choices(kinds, weights)[0]
        answer = Composer(subject, rng).answer(kind, rng.choice(("pro", "con")))
        name = f"{answer.kind}-{number:05d}"
        made.append(as_row(subject, answer, rng, name=name, source=source))
    return made
