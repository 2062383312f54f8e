"""The folder a run writes: a manifest, and one Parquet file a block."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from equipoise._extras import require
from equipoise.errors import InputError, StoreError
from equipoise.scale.blocks import Block, rows_of
from equipoise.scale.tasks import Made, Row, Task

MANIFEST = "_manifest.json"  # readers of Parquet folders pass over names with an underscore
FORMAT = 1


class OutFolder:
    """Where the parts of one run are; another run with other settings is refused.

    `claim` writes the manifest or holds it against this run. A part is written beside its place and
    renamed, so that a part that is there is whole.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def claim(self, task: Task, blocks: Sequence[Block]) -> None:
        """Nothing, when this folder is new or belongs to this very run.

        Raises:
            InputError: there cannot be a folder.
            StoreError: it belongs to another run, holds other things, or cannot be written.
        """
        wanted = {
            "format": FORMAT,
            "task": task.name,
            "blocks": len(blocks),
            "input": _digest(blocks),
        }
        file = self.path / MANIFEST
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"the results need a folder, and {self.path} cannot be one: {error.strerror}"
            ) from error
        try:
            if not file.exists():
                if any(self.path.iterdir()):
                    raise StoreError(f"{self.path} must be empty or hold a run, and holds others")
                _written(file, json.dumps(wanted, indent=2).encode() + b"\n")
            found = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            if isinstance(error, StoreError):
                raise
            raise StoreError(f"{file} must be a manifest that can be read: {error}") from error
        differing = [
            f"{key} was {found.get(key)!r} and is {value!r}"
            for key, value in wanted.items()
            if found.get(key) != value
        ]
        if differing:
            raise StoreError(
                f"{self.path} belongs to another run: {'; '.join(differing)}. Give another "
                "folder, or run it with the same task, files and rows a block."
            )

    def part(self, block: Block) -> Path:
        """The file of a block."""
        return self.path / f"part-{block.number:07d}.parquet"

    def missing(self, blocks: Sequence[Block]) -> list[Block]:
        """The blocks that have no part yet."""
        there = {name for name in os.listdir(self.path) if name.startswith("part-")}
        return [block for block in blocks if self.part(block).name not in there]

    def failed(self, block: Block) -> int | None:
        """How many rows of a block that is done failed; None where it is not done."""
        if not self.part(block).exists():
            return None
        parquet = require("pyarrow.parquet", extra="parquet")
        errors = parquet.read_table(self.part(block), columns=["error"])["error"]
        return len(errors) - int(errors.null_count)

    def write(
        self, block: Block, rows: Sequence[Row], made: Sequence[Made], columns: Mapping[str, str]
    ) -> int:
        """Write the part of a block; how many rows failed.

        Each new row has `row` (its number in the input, from 0) and `id` (the input's, as text).
        """
        arrow = require("pyarrow", extra="parquet")
        parquet = require("pyarrow.parquet", extra="parquet")
        values: dict[str, list[Any]] = {
            "row": list(range(block.first_row, block.first_row + len(rows))),
            "id": [row.get("id") for row in rows],
            **{name: [row.get(name) for row in made] for name in columns},
        }
        types = {"row": "int64", "id": "string", **columns}
        for name in (name for name, kind in types.items() if kind == "string"):
            values[name] = [None if value is None else _text(value) for value in values[name]]
        fields = [arrow.field(name, _type(arrow, kind)) for name, kind in types.items()]
        table = arrow.table(values, schema=arrow.schema(fields))
        work = self.path / f".{self.part(block).name}.{os.getpid()}"
        try:
            parquet.write_table(table, work)
            work.replace(self.part(block))
        except OSError as error:
            raise StoreError(f"cannot write {self.part(block)}: {error}") from error
        return sum(row.get("error") is not None for row in made)


def do_block(task: Task, block: Block, folder: OutFolder) -> tuple[int, int]:
    """(rows, rows that failed) of one block, whose part is written when this returns."""
    rows = rows_of(block)
    failed = folder.write(block, rows, task(rows), task.columns)
    return len(rows), failed


def _text(value: object) -> str:
    """`value` as text that can be encoded: JSON may have half a surrogate pair, UTF-8 may not."""
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _type(arrow: Any, kind: str) -> Any:
    return arrow.list_(arrow.float32()) if kind == "list" else arrow.type_for_alias(kind)


def _digest(blocks: Sequence[Block]) -> str:
    """A digest of where the blocks are, and of the sizes of their files."""
    made = hashlib.sha256()
    for block in blocks:
        made.update(f"{block}\n".encode())
    for path in sorted({block.path for block in blocks}):
        made.update(f"{path} {os.path.getsize(path)}\n".encode())
    return made.hexdigest()[:16]


def _written(file: Path, content: bytes) -> None:
    work = file.with_name(f".{file.name}.{os.getpid()}")
    work.write_bytes(content)
    work.replace(file)
