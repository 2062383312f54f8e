"""Progress on standard error, drawn only where that is a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress


def bar(*, speed_over_seconds: float = 30.0) -> "Progress":
    """A bar with a description, how many of how many, and the time left, by recent speed."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        speed_estimate_period=speed_over_seconds,
        disable=not console.is_terminal,
    )


@contextmanager
def told_by_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Takes what is done, how many are done and of how many; a line of the bar for each kind."""
    with bar() as made:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = made.add_task(what, total=total)
            made.update(tasks[what], completed=done, total=total)

        yield show
