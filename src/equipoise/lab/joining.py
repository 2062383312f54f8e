"""Passages made of human-written sentences of one topic and side, to be planted."""

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from equipoise.lab.holding import JOINED, SIDES, Held, Parts
from equipoise.lab.overlap import Overlaps, Spoken, plain, words
from equipoise.lab.stance_data import SENTENCES, Text
from equipoise.types import Stance

LEAST_WORDS, MOST_WORDS = 45, 82
"""Length of a joined passage in words, that of most encyclopedic passages of the data."""
_SPREAD = 70
"""Where there are sentences to spare, a passage aims for 45 to so many words."""
_ALIKE = 0.5
"""A sentence that shares more than this with a passage, or with another sentence, is not new."""
_LEAST_SENTENCE = 4
_SMALL_START = re.compile(r"[.!?] +[a-z]")
"""A sentence within the row that starts small, as hasty writers have it: it would stand out."""
_ENDS = (".", "!", "?", '."', '!"', '?"', ".)")


class Sentences:
    """The sentences that may be joined: whole, of one side, and in no passage of the data.

    Args:
        sentences: candidate sentences of any topics.
        passages: texts in which none of them may stand.
    """

    def __init__(self, sentences: Sequence[Text], passages: Sequence[Text]) -> None:
        self._spoken = Spoken(text.text for text in passages)
        self._overlaps = Overlaps(text.text for text in passages)
        self._stances: dict[tuple[str, str], set[Stance]] = {}
        self._of: dict[tuple[str, Stance], list[Text]] = {}
        for text in sentences:
            self._stances.setdefault((text.topic, plain(text.text)), set()).add(text.stance)
            self._of.setdefault((text.topic, text.stance), []).append(text)

    def of(self, topic: str, side: Stance, *, rng: random.Random) -> list[Text]:
        """The topic's sentences, source by source, in random order within one; none twice."""
        order = {source.name: at for at, source in enumerate(SENTENCES)}
        found = sorted(self._of.get((topic, side), ()), key=lambda text: (text.source, text.id))
        rng.shuffle(found)
        found.sort(key=lambda text: order[text.source])  # stable: random within a source
        known = Overlaps()
        fresh: list[Text] = []
        for text in found:
            if self._may_be_joined(text) and not known.near(text.text, above=_ALIKE):
                known.add(text.text)
                fresh.append(text)
        return fresh

    def _may_be_joined(self, text: Text) -> bool:
        return (
            len(self._stances[text.topic, plain(text.text)]) == 1
            and _is_whole(text.text)
            and not self._spoken.holds(text.text)
            and not self._overlaps.near(text.text, above=_ALIKE)
        )


def fill_up(parts: Parts, sentences: Sentences, held: Held, *, seed: int) -> Parts:
    """The topic with joined passages in the places that whole passages did not fill.

    Fewer are made where the sentences run out. No sentence is used twice.
    """
    made: list[Text] = []
    for side in SIDES:
        missing = held.planted - parts.count("injected", side)
        if missing > 0:
            rng = random.Random(f"{seed} {parts.entry.topic} {side} joined")
            stock = sentences.of(parts.entry.topic, side, rng=rng)
            made += joined(stock, missing, rng=rng)
    return replace(parts, injected=(*parts.injected, *made))


def joined(stock: Sequence[Text], count: int, *, rng: random.Random) -> list[Text]:
    """At most `count` passages of 45 to 82 words, each of at least two sentences of the stock.

    Sentences are taken in order; one that would make a passage too long waits for the next.
    """
    made: list[Text] = []
    left = list(stock)
    rich = sum(len(text.text.split()) for text in left) >= count * MOST_WORDS
    while len(made) < count:
        aim = rng.randint(LEAST_WORDS, _SPREAD) if rich else LEAST_WORDS
        taken: list[Text] = []
        length = 0
        for text in left:
            size = len(text.text.split())
            if length < aim and length + size <= MOST_WORDS:
                taken.append(text)
                length += size
        if length < LEAST_WORDS or len(taken) < 2:
            break
        left = [text for text in left if text not in taken]
        made.append(_passage(taken, len(made) + 1))
    return made


def _passage(taken: Sequence[Text], number: int) -> Text:
    first = taken[0]
    sources = "+".join(sorted({text.source for text in taken}))
    return Text(
        f"joined-{first.topic}-{first.stance}-{number}",
        first.topic,
        first.stance,
        " ".join(_finished(text.text) for text in taken),
        JOINED + sources,
    )


def _finished(sentence: str) -> str:
    """The sentence with a capital letter and a full stop, as running text has them."""
    trimmed = sentence.strip().rstrip(":;,- ")
    ended = trimmed if trimmed.endswith(_ENDS) else trimmed + "."
    return ended[:1].upper() + ended[1:]


def _is_whole(sentence: str) -> bool:
    """False for scraps: few words, a gap, an open quotation or bracket, a small letter to begin."""
    return (
        len(words(sentence)) >= _LEAST_SENTENCE
        and ".." not in sentence
        and not _SMALL_START.search(sentence)
        and sentence.count('"') % 2 == 0
        and all(sentence.count(pair[0]) == sentence.count(pair[1]) for pair in ("“”", "()", "[]"))
    )
