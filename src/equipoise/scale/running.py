"""A run: every block that has no part yet, on this machine or on a Ray cluster."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Literal

from equipoise.errors import DetectorError, InputError
from equipoise.scale.blocks import BLOCK_ROWS, Block, read_blocks, require_columns
from equipoise.scale.folder import OutFolder, do_block
from equipoise.scale.tasks import Task

Engine = Literal["local", "ray"]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run did: rows of the input, rows it made, rows that were there, rows that failed.

    `failed` counts among those it made; each has its reason in the column `error`. `seconds` is
    the time of this run.
    """

    rows: int
    made: int
    kept: int
    failed: int
    seconds: float


def run(
    task: Task,
    inputs: Iterable[str | Path],
    out: str | Path,
    *,
    engine: Engine = "local",
    workers: int = 1,
    address: str | None = None,
    block_rows: int = BLOCK_ROWS,
    progress: Progress | None = None,
) -> Summary:
    """A new row for each row of `inputs`, in the folder `out`.

    Args:
        task: a `Labeller` or an `Embedding`.
        inputs: JSON Lines (.jsonl) or Parquet (.parquet) files.
        out: a folder; one that a stopped run of the same task and files left is gone on with.
        engine: "local", or "ray" (extra `ray`).
        workers: processes, or Ray actors, >= 1; each loads the model once. One local worker is this
            process.
        address: of a Ray cluster ("auto", "HOST:6379"); None starts one on this machine.
            Workers of a cluster read the inputs and write the parts themselves: both must be where
            all machines see them under the same name.
        block_rows: rows that are done or not done as one.
        progress: called with rows done and rows in all after each block.

    Raises:
        InputError: an argument or an input that does not hold, or an input without a column that
            the task needs; nothing is written then.
        StoreError: `out` belongs to another run.
        MissingExtraError: pyarrow or ray is not installed.
        EquipoiseError: the model cannot be loaded, it fails on one row after another, or workers
            die again and again (DetectorError). What is done is kept.

    Source: ours.
    """
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError(f"workers must be an int >= 1, got {workers!r}")
    began = time.monotonic()
    blocks = list(read_blocks(inputs, block_rows=block_rows))
    if not blocks:
        raise InputError("the inputs must have at least one row, and have none")
    require_columns(task.needs, blocks)
    _require_engine(engine, address)
    folder = OutFolder(out)
    folder.claim(task, blocks)
    todo = folder.missing(blocks)
    total = sum(block.rows for block in blocks)
    kept = total - sum(block.rows for block in todo)
    made = failed = 0
    for rows, errors in _done(engine, task, todo, folder, workers=workers, address=address):
        made += rows
        failed += errors
        if progress is not None:
            progress(kept + made, total)
    return Summary(total, made, kept, failed, time.monotonic() - began)


def _require_engine(engine: str, address: str | None) -> None:
    if engine not in ("local", "ray"):
        raise InputError(f'engine must be "local" or "ray", got {engine!r}')
    if engine == "local" and address is not None:
        raise InputError(f'an address is for the engine "ray", and {address!r} came with "local"')
    if address is not None and address.startswith("ray://"):
        raise InputError(
            'the address of a cluster must be "auto" on one of its machines, or HOST:6379; Ray '
            f"Data does not run through a Ray Client, and {address!r} is one's"
        )


def _done(
    engine: str,
    task: Task,
    todo: Sequence[Block],
    folder: OutFolder,
    *,
    workers: int,
    address: str | None,
) -> Iterator[tuple[int, int]]:
    if engine == "ray":
        from equipoise.scale.ray_engine import on_ray

        yield from on_ray(task, todo, folder, workers=workers, address=address)
    elif workers == 1:
        for block in todo:
            yield do_block(task, block, folder)
    else:
        yield from _in_processes(task, todo, folder, workers)


def _in_processes(
    task: Task, todo: Sequence[Block], folder: OutFolder, workers: int
) -> Iterator[tuple[int, int]]:
    """(rows, rows that failed) of each block as it is done.

    A dead process ends its pool: a new one goes on, and what was in hand comes last. After a death
    one block is done at a time until one is, so that a block that kills is left alone at the end.

    Raises:
        DetectorError: processes died `_DEATHS` times, and no block was done between.
    """
    left = dict.fromkeys(todo)
    deaths = 0
    while left:
        # Subtle: spawned, not forked: a forked copy of a model's threads would hang.
        pool = ProcessPoolExecutor(workers, get_context("spawn"), _start, (task, folder))
        running: dict[Future[tuple[int, int]], Block] = {}
        try:
            coming = iter(tuple(left))
            while True:
                room = (1 if deaths else 2 * workers) - len(running)
                for block in islice(coming, room):
                    running[pool.submit(_work, block)] = block
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    done = future.result()
                    del left[running.pop(future)]
                    deaths = 0
                    yield done
        except BrokenProcessPool as error:
            deaths += 1
            if deaths == _DEATHS:
                raise DetectorError(
                    f"workers ended too early {deaths} times and no block was done between, of "
                    f"{len(left)} that are left: they were killed, as for want of memory, or "
                    "could not load the task. What is done is kept: run this again to go on"
                ) from error
            for block in running.values():
                left[block] = left.pop(block)
        finally:
            pool.shutdown(cancel_futures=True)


_DEATHS = 3
_MINE: list[tuple[Task, OutFolder]] = []


def _start(task: Task, folder: OutFolder) -> None:
    _MINE[:] = [(task, folder)]
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A run that is killed leaves no process waiting for ever, with a model in memory."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(block: Block) -> tuple[int, int]:
    task, folder = _MINE[0]
    return do_block(task, block, folder)
