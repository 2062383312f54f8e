"""The passages of an index as JSON Lines, read one at a time from disk."""

import json
import mmap
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from equipoise._plain import plain
from equipoise.types import Candidate


def passage_line(passage: Candidate) -> bytes:
    """One line of `passages.jsonl`: id, text and metadata, in ASCII with JSON's escapes.

    Metadata are written as JSON can carry them: a date, say, as its text. ASCII, because a lone
    surrogate survives there and U+2028 breaks no line.
    """
    row = {"id": passage.id, "text": passage.text, "metadata": plain(passage.metadata)}
    return json.dumps(row, allow_nan=False).encode("ascii") + b"\n"


class Passages(Sequence[Candidate]):
    """The passages of one file, by index from 0.

    In memory are 8 bytes a passage; texts are read from the mapped file when asked for. Safe to
    share between threads.
    """

    def __init__(self, file: Path) -> None:
        self._starts = array("Q", [0])
        with file.open("rb") as stream:
            for line in stream:
                self._starts.append(self._starts[-1] + len(line))
            # Subtle: the mapping outlives the handle, and an empty file cannot be mapped.
            empty = self._starts[-1] == 0
            self._bytes: bytes | mmap.mmap = (
                b"" if empty else mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            )

    def __len__(self) -> int:
        """Number of passages."""
        return len(self._starts) - 1

    @overload
    def __getitem__(self, index: int) -> Candidate: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Candidate, ...]: ...
    def __getitem__(self, index: int | slice) -> Candidate | tuple[Candidate, ...]:
        """The passage at `index`, without score or embedding; for a slice a tuple of them."""
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        place = range(len(self))[index]
        row = json.loads(self._bytes[self._starts[place] : self._starts[place + 1]])
        return Candidate(row["id"], row["text"], metadata=row["metadata"])

    def __iter__(self) -> Iterator[Candidate]:
        """Every passage in order."""
        return (self[i] for i in range(len(self)))


def document_id(passage_id: str, metadata: Mapping[str, Any]) -> str:
    """The id of the document that a passage is (a chunk of)."""
    of = metadata.get("chunk_of")
    is_chunk = passage_id == f"{of}#{metadata.get('chunk_number')}"
    return str(of) if is_chunk else passage_id
