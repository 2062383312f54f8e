"""Inputs cut into blocks of rows that any worker can read by itself."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise._extras import require
from equipoise.errors import InputError
from equipoise.scale.tasks import Row

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
    for path in map(Path, paths):
        for place, skip, rows in _spans(path, block_rows):
            yield Block(number, str(path), first_row, rows, place, skip)
            number += 1
            first_row += rows


def rows_of(block: Block) -> list[Row]:
    """The rows of a block. A line that is no JSON object becomes a row with the reason as `error`.

    Raises:
        InputError: the file is gone, or has changed.
    """
    path = Path(block.path)
    rows = _parquet_rows(block) if path.suffix == ".parquet" else _json_rows(block)
    if len(rows) != block.rows:
        raise InputError(f"{path} must not change while it is worked on, and it did")
    return rows


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
        return {"error": f"the line must be JSON: {error}"[:200]}
    return row if isinstance(row, dict) else {"error": "the line must be a JSON object"}


def _parquet_spans(path: Path, block_rows: int) -> Iterator[tuple[int, int, int]]:
    about = _parquet(path).metadata
    for group in range(about.num_row_groups):
        total = about.row_group(group).num_rows
        for skip in range(0, total, block_rows):
            yield group, skip, min(block_rows, total - skip)


def _parquet_rows(block: Block) -> list[Row]:
    table = _parquet(Path(block.path)).read_row_group(block.place)
    rows: list[Row] = table.slice(block.skip, block.rows).to_pylist()
    return rows


def _parquet(path: Path) -> Any:
    parquet = require("pyarrow.parquet", extra="parquet")
    try:
        return parquet.ParquetFile(path)
    except (OSError, ValueError) as error:  # Arrow's own errors are ValueErrors
        raise InputError(f"cannot read {path}: {error}") from error
