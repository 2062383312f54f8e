"""The check of a judge against answers that people labelled, as `lab judge-check --json` says."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from equipoise.errors import InputError


@dataclass(frozen=True, slots=True)
class Check:
    """A judge's matrix, (3, 3) counts: rows the truth, columns the label; pro, neutral, con.

    `agreement` in [0, 1] and `kappa` in [-1, 1] are over the `n` answers in the matrix.
    """

    judge: str
    confusion: tuple[tuple[int, ...], ...]
    agreement: float
    kappa: float | None
    n: int
    interval: tuple[float, float] | None = None
    """Of kappa, 95%."""

    @property
    def said(self) -> str:
        """The check in one sentence."""
        kappa = "not defined" if self.kappa is None else f"{self.kappa:.3f}"
        if self.interval is not None:
            kappa += f" [{self.interval[0]:.3f}, {self.interval[1]:.3f}]"
        return (
            f"The judge `{self.judge}` was checked on {self.n} answers with a stance that people "
            f"labelled: it agrees in {self.agreement:.1%}, kappa {kappa} (paper's judge: 45 of 50, "
            "kappa 0.850)."
        )


def read_check(path: Path) -> Check:
    """The check in that file.

    Raises:
        InputError: it cannot be read, or has no judge or no matrix of three by three counts.
    """
    try:
        said = json.loads(path.read_text("utf-8"))
        judge = str(said["judge"])
        matrix = tuple(tuple(int(count) for count in row) for row in said["confusion"])
        ends = [said.get("stances", {}).get(end) for end in ("low", "high")]
        interval = None if None in ends else (float(ends[0]), float(ends[1]))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{path} must be a JSON object with `judge` and `confusion` (rows the truth, columns "
            f"the label; pro, neutral, con), as `lab judge-check --json` writes it: {error!r}"
        ) from error
    if len(matrix) != 3 or any(len(row) != 3 or min(row) < 0 for row in matrix):
        raise InputError(f"{path}: `confusion` must be 3 by 3 counts >= 0, got {matrix}")
    n = sum(map(sum, matrix))
    if not n:
        raise InputError(f"{path}: `confusion` must count at least one answer")
    return Check(judge, matrix, sum(matrix[i][i] for i in range(3)) / n, kappa(matrix), n, interval)


def kappa(matrix: Sequence[Sequence[int]]) -> float | None:
    """Cohen's kappa of a square matrix of counts, in [-1, 1]; None where chance agrees fully.

    >>> kappa([[20, 5], [10, 15]])
    0.4
    """
    n = sum(map(sum, matrix))
    seen = sum(matrix[i][i] for i in range(len(matrix))) / n
    columns = [sum(column) for column in zip(*matrix, strict=True)]
    chance = sum(sum(row) * column for row, column in zip(matrix, columns, strict=True)) / n**2
    return None if chance == 1 else round((seen - chance) / (1 - chance), 12)
