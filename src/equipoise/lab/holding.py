"""Which texts of a topic stay in the clean corpus, and which are kept out to be planted."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from equipoise.errors import InputError
from equipoise.lab.overlap import near_pairs
from equipoise.lab.questions import TopicQuestions
from equipoise.lab.stance_data import Text
from equipoise.types import Stance

SIDES = (Stance.PRO, Stance.CON)


@dataclass(frozen=True, slots=True)
class Held:
    """How much is kept out. `planted` a side and topic at most, `kept` a side at least stays.

    Source: SP 4.1 plants 2 to 7 a topic; `kept` is what a quota of 2 + 2 needs.

    Raises:
        InputError: a number is negative, or `kept` is 0.
    """

    planted: int = 7
    kept: int = 2

    def __post_init__(self) -> None:
        if self.planted < 0 or self.kept < 1:
            raise InputError(f"planted >= 0 and kept >= 1 must hold, got {self}")


@dataclass(frozen=True, slots=True)
class Parts:
    """One topic's texts: the clean corpus, and what may be planted (joined ones among it)."""

    entry: TopicQuestions
    genuine: tuple[Text, ...]
    neutral: tuple[Text, ...]
    injected: tuple[Text, ...]

    def count(self, kind: str, stance: Stance, *, joined: bool = False) -> int:
        """Texts of a kind ("genuine", "injected") and side; only the joined ones if asked."""
        texts: tuple[Text, ...] = getattr(self, kind)
        return sum(t.stance is stance and (not joined or is_joined(t)) for t in texts)

    @property
    def is_whole(self) -> bool:
        """True when both sides and the middle are in the clean corpus."""
        return bool(self.neutral) and all(self.count("genuine", side) for side in SIDES)


JOINED = "joined:"


def is_joined(text: Text) -> bool:
    """True for a passage made by joining sentences."""
    return text.source.startswith(JOINED)


def without_copies(texts: Sequence[Text]) -> tuple[list[Text], dict[str, int]]:
    """The texts of which none nearly repeats another, and how many were dropped for what.

    Near-copies with two stances (toward one topic or two) both go: nobody could say what they are.
    Of near-copies with one stance the first stays. So whatever is held out later has no near-copy
    in the clean corpus. Exact copies are near-copies.
    """
    pairs = list(near_pairs([text.text for text in texts]))
    two_stances = {
        index for pair in pairs for index in pair if len({texts[i].stance for i in pair}) > 1
    }
    earlier_of: dict[int, list[int]] = {}
    for earlier, later in pairs:
        earlier_of.setdefault(later, []).append(earlier)
    kept: set[int] = set()
    for index in range(len(texts)):
        if index not in two_stances and not kept.intersection(earlier_of.get(index, ())):
            kept.add(index)
    dropped = {
        "near-copies with two stances": len(two_stances),
        "near-copies with one stance": len(texts) - len(two_stances) - len(kept),
    }
    return [texts[index] for index in sorted(kept)], dropped


def hold_out(
    entry: TopicQuestions, texts: Sequence[Text], held: Held, *, seed: int
) -> Parts | None:
    """The topic's texts, some of each side kept out; None with fewer than `kept` on a side.

    Which ones is drawn with `seed` and the topic's name alone: it depends neither on what the texts
    say nor on their order or length.
    """
    own = [text for text in texts if text.topic == entry.topic]
    out: set[str] = set()
    for side in SIDES:
        names = sorted(text.id for text in own if text.stance is side)
        if len(names) < held.kept:
            return None
        random.Random(f"{seed} {entry.topic} {side}").shuffle(names)
        out.update(names[: min(held.planted, len(names) - held.kept)])
    parts = Parts(
        entry,
        tuple(t for t in own if t.stance is not Stance.NEUTRAL and t.id not in out),
        tuple(t for t in own if t.stance is Stance.NEUTRAL),
        tuple(t for t in own if t.id in out),
    )
    return parts if parts.is_whole else None
