"""Rows of a toy world, and what a folder of parts holds."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")


@pytest.fixture
def rows_file(tmp_path: Path) -> Callable[[int], Path]:
    """A JSON Lines file of so many rows, "pro 0", "con 1", "neutral 2", "pro 3", ..."""

    def make(count: int) -> Path:
        file = tmp_path / "rows.jsonl"
        sides = ("pro", "con", "neutral")
        rows = ({"id": f"d{n}", "text": f"{sides[n % 3]} {n}"} for n in range(count))
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return file

    return make


@pytest.fixture
def parts() -> Callable[[Path], list[dict[str, Any]]]:
    """The rows of a run's folder, in the order of the input."""

    def read(folder: Path) -> list[dict[str, Any]]:
        from pyarrow import parquet

        rows: list[dict[str, Any]] = parquet.read_table(folder).sort_by("row").to_pylist()
        return rows

    return read
