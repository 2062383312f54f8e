"""Blocks on a Ray cluster: Ray Data's `map_batches` with an actor pool, one model an actor."""

import logging
import pickle
import socket
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from equipoise._extras import require
from equipoise.errors import EquipoiseError, InputError
from equipoise.scale.blocks import Block
from equipoise.scale.folder import OutFolder, do_block
from equipoise.scale.tasks import Task

_REACH_S = 5.0
_RETRIES = 3
"""Times that blocks are tried again after a worker died over them: a row may be what kills it."""


class BlockWorker:
    """What an actor is: it does one block a call, and tells how many rows that was.

    Ray starts a dead actor again and gives all blocks of its call to another, which passes over
    those that have a part.
    """

    def __init__(self, task: Task, folder: OutFolder) -> None:
        self._task = task
        self._folder = folder

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Rows and failed rows of each block of the batch (of one), or the error, pickled.

        Subtle: an error is handed over, for what Ray makes of a raised one has lost its class.
        """
        columns = {name: list(values) for name, values in batch.items()}
        blocks = [
            Block(**{name: _plain(values[at]) for name, values in columns.items()})
            for at in range(len(columns["number"]))
        ]
        try:
            done = [self._done(block) for block in blocks]
        except EquipoiseError as error:
            return {"rows": [0], "failed": [0], "error": [pickle.dumps(error)]}
        return {
            "rows": [rows for rows, _ in done],
            "failed": [failed for _, failed in done],
            "error": [b""] * len(done),
        }

    def _done(self, block: Block) -> tuple[int, int]:
        failed = self._folder.failed(block)
        if failed is not None:
            return block.rows, failed
        return do_block(self._task, block, self._folder)


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
        with warnings.catch_warnings():
            # It has no other name for the bound yet; the extra's own bound keeps 2.64 away.
            warnings.filterwarnings("ignore", "`ray_remote_args` is deprecated")
            done = blocks.map_batches(
                BlockWorker,
                fn_constructor_args=(task, OutFolder(folder.path.resolve())),
                batch_size=1,
                num_cpus=1,
                compute=data.ActorPoolStrategy(size=min(workers, len(todo))),
                max_task_retries=_RETRIES,
            )
        with _quiet("ray.data"):
            try:
                for row in done.iter_rows():
                    if row["error"]:
                        raise pickle.loads(row["error"])
                    yield int(row["rows"]), int(row["failed"])
            except require("ray.exceptions", extra="ray").RayError as error:
                raise EquipoiseError(f"the workers of the cluster failed: {error}") from error


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Within, that logger tells warnings only: this package has a bar of its own."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)


class cluster:
    """`with cluster(address, cpus):` joins that cluster, or starts one here and ends it after.

    A program that has joined one already keeps it.

    Raises:
        InputError: the address is of a Ray Client ("ray://..."), through which Ray Data cannot run.
    """

    def __init__(self, address: str | None, cpus: int) -> None:
        if address is not None and address.startswith("ray://"):
            raise InputError(
                'the address of a cluster must be "auto" on one of its machines, or HOST:6379; '
                f"Ray Data does not run through a Ray Client, and {address!r} is one's"
            )
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
            _require_reachable(self._address)
            self._ray.init(address=self._address, log_to_driver=False)

    def __exit__(self, *given: object) -> None:
        if self._ours:
            self._ray.shutdown()


def _require_reachable(address: str) -> None:
    """Nothing, when something listens at HOST:PORT: Ray itself would try for minutes.

    Raises:
        EquipoiseError: nothing does.
    """
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_S).close()
    except (OSError, OverflowError) as error:
        raise EquipoiseError(
            f"the cluster at {address} must be reachable, and is not: {error}. Look at host and "
            "port: the head of a cluster listens at 6379 unless told otherwise"
        ) from error


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
