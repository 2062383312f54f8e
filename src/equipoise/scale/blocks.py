"""Inputs cut into blocks of rows that any worker can read by itself."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from equipoise._extras import require
from equipoise.errors import InputError
from equipoise.scale.tasks import UNREADABLE, Row

BLOCK_ROWS = 512
"""Rows a block: enough that a worker is busy for seconds, few enough that little is done again."""


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows of one file.

    `number` counts blocks from 0 and `first_row` rows from 0, over all files. `place` is a byte
    offset (JSON Lines) or the number of a row group (Parquet), of which the first `skip` rows are
    of other blocks.
    """

    number: int
    path: str
    first_row: int
    rows: int
    place: int
    skip: int = 0


def read_blocks(paths: Iterable[str | Path], *, block_rows: int = BLOCK_ROWS) -> Iterator[Block]:
    """The blocks of JSON Lines (.jsonl) and Parquet (.parquet) files, in order.

    JSON Lines are read once to find where lines begin, Parquet files by their footer alone. Blank
    lines are no rows.

    Raises:
        InputError: `block_rows` < 1, a file of another kind, or one that cannot be read.
        MissingExtraError: pyarrow is not installed.
    """
    if isinstance(block_rows, bool) or not isinstance(block_rows, int) or block_rows < 1:
        raise InputError(f"block_rows must be an int >= 1, got {block_rows!r}")
    number = first_row = 0
    for path in (Path(given).absolute() for given in paths):
        for place, skip, rows in _spans(path, block_rows):
            yield Block(number, str(path), first_row, rows, place, skip)
            number += 1
            first_row += rows


def rows_of(block: Block) -> list[Row]:
    """The rows of a block. A line that is no JSON object is a row of a reason under `UNREADABLE`.

    Raises:
        InputError: the file is gone, or has changed.
    """
    path = Path(block.path)
    rows = _parquet_rows(block) if path.suffix == ".parquet" else _json_rows(block)
    if len(rows) != block.rows:
        raise InputError(f"{path} must not change while it is worked on, and it did")
    return rows


def require_columns(names: Sequence[str], blocks: Sequence[Block]) -> None:
    """Nothing, when each file has each column: by its schema, or in a row of its first block.

    Raises:
        InputError: one lacks one.
    """
    looked: set[str] = set()
    for block in blocks:
        if block.path in looked:
            continue
        looked.add(block.path)
        there = _columns(block)
        for name in names:
            if there and name not in there:
                known = ", ".join(map(repr, sorted(there)))
                raise InputError(
                    f"{block.path} must have the column {name!r}, and has {known}. Name the "
                    "column (text_column, question_column), or give one question for all rows"
                )


def _columns(block: Block) -> set[str]:
    """The columns of a file; none where no line of the first block is a row."""
    if Path(block.path).suffix == ".parquet":
        return set(_parquet(Path(block.path)).schema_arrow.names)
    return {name for row in _json_rows(block) for name in row if name != UNREADABLE}


def _spans(path: Path, block_rows: int) -> Iterator[tuple[int, int, int]]:
    """(place, skip, rows) of each block of a file."""
    if path.suffix == ".parquet":
        yield from _parquet_spans(path, block_rows)
    elif path.suffix == ".jsonl":
        yield from _json_spans(path, block_rows)
    else:
        raise InputError(f"an input must be a .jsonl or .parquet file, got {path}")


def _json_spans(path: Path, block_rows: int) -> Iterator[tuple[int, int, int]]:
    start = rows = offset = 0
    try:
        with path.open("rb") as file:
            for line in file:
                offset += len(line)
                rows += bool(line.strip())
                if rows == block_rows:
                    yield start, 0, rows
                    start, rows = offset, 0
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    if rows:
        yield start, 0, rows


def _json_rows(block: Block) -> list[Row]:
    rows: list[Row] = []
    try:
        with open(block.path, "rb") as file:
            file.seek(block.place)
            while len(rows) < block.rows and (line := file.readline()):
                if line.strip():
                    rows.append(_parsed(line))
    except OSError as error:
        raise InputError(f"cannot read {block.path}: {error.strerror}") from error
    return rows


def _parsed(line: bytes) -> Row:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {UNREADABLE: f"the line must be JSON: {error}"[:200]}
    return row if isinstance(row, dict) else {UNREADABLE: "the line must be a JSON object"}


def _parquet_spans(path: Path, block_rows: int) -> Iterator[tuple[int, int, int]]:
    about = _parquet(path).metadata
    for group in range(about.num_row_groups):
        total = about.row_group(group).num_rows
        for skip in range(0, total, block_rows):
            yield group, skip, min(block_rows, total - skip)


def _parquet_rows(block: Block) -> list[Row]:
    """The rows of a block. A worker takes its blocks in order, so that it reads a group once."""
    global _reading
    if _reading is None or not _reading.comes_to(block):
        _reading = _Reading(block)
    return _reading.read(block)


class _Reading:
    """A row group read forward, so that a large one is neither held, nor read for each block."""

    def __init__(self, block: Block) -> None:
        self._of = self._source(block)
        self._at = 0
        # Subtle: see `_parquet`, without whose buffer Arrow would hold the whole group.
        batches = _parquet(Path(block.path)).iter_batches(batch_size=256, row_groups=[block.place])
        self._rows: Iterator[Row] = (row for batch in batches for row in batch.to_pylist())

    def comes_to(self, block: Block) -> bool:
        """Whether the block lies ahead, in the same group of the same file."""
        return self._source(block) == self._of and self._at <= block.skip

    def read(self, block: Block) -> list[Row]:
        """The rows of the block."""
        end = block.skip + block.rows
        try:
            rows = list(islice(self._rows, block.skip - self._at, end - self._at))
        except (OSError, ValueError) as error:  # Arrow's own errors are ValueErrors
            raise InputError(f"cannot read {block.path}: {error}") from error
        self._at = end
        return rows

    @staticmethod
    def _source(block: Block) -> tuple[object, ...]:
        try:
            about = os.stat(block.path)
        except OSError as error:
            raise InputError(f"cannot read {block.path}: {error.strerror}") from error
        return block.path, block.place, about.st_size, about.st_mtime_ns


_reading: _Reading | None = None


def _parquet(path: Path) -> Any:
    parquet = require("pyarrow.parquet", extra="parquet")
    try:
        return parquet.ParquetFile(path, pre_buffer=False, buffer_size=2**20)
    except (OSError, ValueError) as error:  # Arrow's own errors are ValueErrors
        raise InputError(f"cannot read {path}: {error}") from error
