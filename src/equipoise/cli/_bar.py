"""Progress on standard error, drawn only where that is a terminal."""

from typing import TYPE_CHECKING

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
