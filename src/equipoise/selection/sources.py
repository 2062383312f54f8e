"""Sources: ten pages of one site are not ten voices."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from equipoise.errors import InputError
from equipoise.selection.duplicates import fold
from equipoise.types import Candidate, Stance


@dataclass(frozen=True, slots=True)
class Sources:
    """How many seats of one stance the documents of one source may take.

    `key` is where a candidate's metadata names its source; a web address stands for its host.
    Names are compared as texts are when copies are looked for (`fold`). A document that names none
    is a source of its own. `most` is at least 1.

    The seats are counted a stance at a time, so that a source heard on one side is not in the way
    of the other: a side that has any document keeps at least one seat.

    Take a key that a writer of documents cannot set, such as the host they were fetched from:
    whoever may choose the name has as many voices as names.

    Raises:
        InputError: `key` is not a str or is blank, or `most` is not an int >= 1.

    Source: ours.

    >>> sources = Sources("url")
    >>> [sources.of(Candidate("1", "a text", metadata={"url": url}))
    ...  for url in ("https://www.Example.org/a?b", "example.org", " ")]
    ['example.org', 'example.org', None]
    """

    key: str = "source"
    most: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or not self.key.strip():
            raise InputError(f"Sources.key must name a key of the metadata, got {self.key!r}")
        if isinstance(self.most, bool) or not isinstance(self.most, int) or self.most < 1:
            raise InputError(f"Sources.most must be an int >= 1, got {self.most!r}")

    def of(self, candidate: Candidate) -> str | None:
        """The candidate's source; None where it names none."""
        value = candidate.metadata.get(self.key)
        return None if value is None else _name(value) or None

    def missing(self, candidates: Sequence[Candidate]) -> tuple[int, ...]:
        """Indices of candidates that name no source."""
        return tuple(i for i, one in enumerate(candidates) if self.of(one) is None)


class Voices:
    """Which sources have their seats already; without `sources` none ever has."""

    def __init__(self, sources: Sources | None, candidates: Sequence[Candidate]) -> None:
        self._sources = sources
        self._candidates = candidates
        self._seats: Counter[tuple[str, Stance]] = Counter()
        self._chosen: Counter[str] = Counter()

    def may_sit(self, index: int, stance: Stance) -> bool:
        """True while the source of the candidate at `index` has seats of this stance left."""
        name = self._of(index)
        return name is None or self._seats[name, stance] < self._most

    def seat(self, index: int, stance: Stance) -> None:
        """Counts a seat of this stance for the source of the candidate at `index`."""
        name = self._of(index)
        if name is not None:
            self._seats[name, stance] += 1
            self._chosen[name] += 1

    def fresh_first(self, indices: Iterable[int]) -> list[int]:
        """`indices` in their order, but those whose source has enough documents come last.

        Enough is `most` of whatever stance, chosen so far or earlier in `indices`: no label is
        read for it.
        """
        fresh: list[int] = []
        heard: list[int] = []
        for index in indices:
            name = self._of(index)
            if name is None or self._chosen[name] < self._most:
                fresh.append(index)
                if name is not None:
                    self._chosen[name] += 1
            else:
                heard.append(index)
        return fresh + heard

    @property
    def _most(self) -> int:
        return self._sources.most if self._sources else 0

    def _of(self, index: int) -> str | None:
        return self._sources.of(self._candidates[index]) if self._sources else None


def _name(value: Any) -> str:
    text = fold(str(value))
    if not text.startswith(("http://", "https://")):
        return text
    try:
        host = urlsplit(text).hostname
    except ValueError:  # brackets that hold no address
        host = None
    return host.removeprefix("www.") if host else text
