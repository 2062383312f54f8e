"""Blocks on a Ray cluster: Ray Data's `map_batches` with an actor pool, one model an actor."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from equipoise._extras import require
from equipoise.scale.blocks import Block
from equipoise.scale.folder import OutFolder
from equipoise.scale.running import do_block
from equipoise.scale.tasks import Task


class BlockWorker:
    """What an actor is: it does one block a call, and tells how many rows that was.

    Ray starts a dead actor again and gives its block to another; doing a block twice writes the
    same part twice.
    """

    def __init__(self, task: Task, folder: OutFolder) -> None:
        self._task = task
        self._folder = folder

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[int]]:
        """Rows and failed rows of each block of the batch (of one)."""
        columns = {name: list(values) for name, values in batch.items()}
        blocks = [
            Block(**{name: _plain(values[at]) for name, values in columns.items()})
            for at in range(len(columns["number"]))
        ]
        done = [do_block(self._task, block, self._folder) for block in blocks]
        return {"rows": [rows for rows, _ in done], "failed": [failed for _, failed in done]}


def on_ray(
    task: Task, todo: Sequence[Block], folder: OutFolder, *, workers: int, address: str | None
) -> Iterator[tuple[int, int]]:
    """(rows, rows that failed) of each block as it is done."""
    if not todo:
        return
    with cluster(address, workers):
        data = require("ray.data", extra="ray")
        blocks = data.from_items(
            [asdict(block) for block in todo], override_num_blocks=min(len(todo), 1_000)
        )
        done = blocks.map_batches(
            BlockWorker,
            fn_constructor_args=(task, OutFolder(folder.path.resolve())),
            batch_size=1,
            num_cpus=1,
            compute=data.ActorPoolStrategy(size=workers),
        )
        for row in done.iter_rows():
            yield int(row["rows"]), int(row["failed"])


class cluster:
    """`with cluster(address, cpus):` joins that cluster, or starts one here and ends it after.

    A program that has joined one already keeps it.
    """

    def __init__(self, address: str | None, cpus: int) -> None:
        self._ray = require("ray", extra="ray")
        self._address = address
        self._cpus = cpus
        self._ours = not self._ray.is_initialized()

    def __enter__(self) -> None:
        if not self._ours:
            return
        if self._address is None:
            self._ray.init(num_cpus=self._cpus, include_dashboard=False, log_to_driver=False)
        else:
            self._ray.init(address=self._address, log_to_driver=False)

    def __exit__(self, *given: object) -> None:
        if self._ours:
            self._ray.shutdown()


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
