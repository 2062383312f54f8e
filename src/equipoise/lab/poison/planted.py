"""What an attack gives back: the planted documents, and how much of each topic they make up."""

import hashlib
import json
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from equipoise.errors import InputError
from equipoise.lab.pack import FILES, Document, Origin, Pack
from equipoise.types import Stance

SIDES = (Stance.PRO, Stance.CON)


@dataclass(frozen=True, slots=True)
class Share:
    """How much of one topic was planted.

    `genuine` is the topic's genuine pro and con documents before the attack (N_t), >= 0; neutral
    and background documents play no part. `planted` counts the documents put in, >= 0.
    Source: SP 4.1.1.
    """

    topic: str
    genuine: int
    planted: int

    @property
    def share(self) -> float | None:
        """r_t = planted / (genuine + planted), in [0, 1]; None where the topic holds neither.

        >>> Share("zoos", genuine=30, planted=5).share
        0.14285714285714285
        """
        total = self.genuine + self.planted
        return self.planted / total if total else None


@dataclass(frozen=True, slots=True)
class Poisoned:
    """A clean corpus and what an attack added to it.

    `attack` names the attack ("stance", "ebi"), `direction` is pro or con, `n` >= 1 is how many
    documents a topic was to get. `documents` are the planted ones, all of that side; `about` is
    what the attack has to say of them (JSON).

    Raises:
        InputError: direction is neutral, n < 1, or a document is of another side, of a topic
            without a share, or not marked as injected; or an id is there twice.
    """

    attack: str
    direction: Stance
    n: int
    seed: int
    documents: tuple[Document, ...]
    shares: tuple[Share, ...]
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked_side(self.direction)
        checked_count("n", self.n)
        topics = {share.topic for share in self.shares}
        for document in self.documents:
            if (
                document.origin is not Origin.INJECTED
                or document.stance is not self.direction
                or document.topic not in topics
            ):
                raise InputError(
                    f"a planted document must be injected, {self.direction.value} and of a topic "
                    f"of the pack; {document.id!r} is {document.origin.value}, "
                    f"{document.stance and document.stance.value} and of {document.topic!r}"
                )
        if len({document.id for document in self.documents}) < len(self.documents):
            raise InputError("ids of planted documents must be unique, and one is there twice")

    @property
    def ids(self) -> frozenset[str]:
        """The ids of what was planted."""
        return frozenset(document.id for document in self.documents)

    @property
    def mean_share(self) -> float | None:
        """R, the mean of r_t over the topics that have one, in [0, 1]; None where none has.

        Source: SP 4.1.1.
        """
        found = [share.share for share in self.shares if share.share is not None]
        return statistics.fmean(found) if found else None

    @property
    def short(self) -> tuple[str, ...]:
        """Topics with fewer planted documents than `n`, in the pack's order."""
        return tuple(share.topic for share in self.shares if share.planted < self.n)

    def corpus(self, pack: Pack) -> tuple[Document, ...]:
        """The pack's clean documents, then the planted ones.

        Raises:
            InputError: a planted id is that of a clean document.
        """
        clean = pack.clean
        both = self.ids & {document.id for document in clean}
        if both:
            raise InputError(
                f"ids of planted documents must be new to the corpus, and {min(both)!r} is in it"
            )
        return (*clean, *self.documents)


def checked_side(direction: Stance) -> Stance:
    """`direction`, when it is pro or con.

    Raises:
        InputError: it is anything else.
    """
    if direction not in SIDES:
        raise InputError(f"the direction of an attack must be pro or con, got {direction!r}")
    return Stance(direction)


def checked_count(name: str, value: int) -> int:
    """`value`, when it is an int >= 1.

    Raises:
        InputError: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{name} must be an int >= 1, got {value!r}")
    return value


def shares_of(pack: Pack, planted: Iterable[Document]) -> tuple[Share, ...]:
    """One share a topic, in the pack's order, from what was planted. Cost O(documents)."""
    genuine = Counter(
        document.topic
        for document in pack.documents
        if document.origin is Origin.GENUINE and document.stance in SIDES
    )
    added = Counter(document.topic for document in planted)
    return tuple(Share(topic.id, genuine[topic.id], added[topic.id]) for topic in pack.topics)


def pack_checksums(pack: Pack) -> dict[str, str]:
    """SHA-256 of each file that `write_pack` makes of `pack`, by file name.

    For a pack read from a folder that `write_pack` wrote, these are the checksums of its manifest.
    Cost O(text), a second or so for 50,000 documents.
    """
    sums = {}
    for name, parts in zip(FILES, (pack.topics, pack.questions, pack.documents), strict=True):
        sums[name] = _checksum(parts)
    return sums


def _checksum(parts: Sequence[Any]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        # As `asdict`, which copies deeply and takes ten times as long.
        row = {entry.name: getattr(part, entry.name) for entry in fields(part)}
        digest.update((json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8"))
    return digest.hexdigest()
