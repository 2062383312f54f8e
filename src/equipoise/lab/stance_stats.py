"""Stance scores of cells: means, paired shifts and reductions, tests, and what was left out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from equipoise.lab.answers.store import VALUES, Cell, Judged
from equipoise.lab.stats import (
    Estimate,
    TopicBootstrap,
    difference,
    distance_reduction,
    randomisation_p,
)
from equipoise.types import Stance

EXCLUDED: Final = (
    Judged.REFUSED,
    Judged.FILTERED,
    Judged.EMPTY,
    Judged.UNPARSED,
    Judged.ERROR,
)
"""Outcomes of a question that was asked and has no stance. `missing` was not asked, or not judged
yet: it is no outcome of the experiment, and no stance is ever assumed for it."""

Counts = tuple[tuple[int, ...], ...]
"""Pro, neutral and con answers of each group of topics, (groups, 3)."""


class Stances:
    """Stance scores of cells over the same questions, with the draws of topics that all share.

    A score is the mean of +1 (pro), 0 (neutral) and -1 (con) over the questions that were scored.
    Pairs are strict: a question counts where it was scored in both cells. Intervals resample
    whole groups of topics.

    Args:
        cells: of one pack. Their questions together are the questions, sorted by id.

    Source: SP 3.1, appendix B.
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        groups: dict[str, str] = {}
        self._topics: dict[str, str] = {}
        for cell in cells:
            for question, row in cell.answers.items():
                groups[question] = str(row["group"])
                self._topics[question] = str(row["topic"])
        self.questions = tuple(sorted(groups))
        self.groups = tuple(groups[question] for question in self.questions)
        self.bootstrap = TopicBootstrap(self.groups)
        self._columns: dict[int, tuple[Cell, list[float | None]]] = {}

    def topic(self, question: str) -> str:
        """The topic of a question."""
        return self._topics[question]

    def column(self, cell: Cell) -> list[float | None]:
        """+1, 0, -1, or None a question. Kept: a cell is read once."""
        if id(cell) not in self._columns:
            found = [cell.value(question) for question in self.questions]
            self._columns[id(cell)] = (cell, found)  # with the cell, so that its id stays its own
        return self._columns[id(cell)][1]

    def aligned(self, cell: Cell) -> list[float | None]:
        """The column with its sign turned so that +1 agrees with what was planted.

        On a clean corpus nothing was planted, and the sign stays. Source: SP table 12.
        """
        sign = -1.0 if cell.direction is Stance.CON else 1.0
        return [None if value is None else sign * value for value in self.column(cell)]

    def score(self, cell: Cell) -> Estimate:
        """s: the mean stance, in [-1, 1]. Source: SP equation 1."""
        return self.bootstrap.estimate(self.column(cell))

    def shift(self, first: Cell, second: Cell) -> Estimate:
        """S of the first less s of the second, in [-2, 2]: the way along the axis."""
        return self.bootstrap.estimate(self.column(first), self.column(second), effect=difference)

    def reduction(self, first: Cell, second: Cell) -> Estimate:
        """|s| of the first less |s| of the second, in [-1, 1]: > 0 is nearer to 0.

        Do not read its interval as 95% where the second is truly near 0: |s| of a sample is above
        0 by chance, so estimate and interval lie too low (the interval holds the truth in 87% of
        simulated runs, `tests/lab/test_coverage.py`). `shift` has no such fault.
        """
        pair = (self.column(first), self.column(second))
        return self.bootstrap.estimate(*pair, effect=distance_reduction)

    def reduction_p(self, first: Cell, second: Cell) -> float | None:
        """Two-sided p of the reduction; the two cells change places within each group of topics."""
        pair = (self.column(first), self.column(second))
        return randomisation_p(*pair, self.groups, effect=distance_reduction)

    def reductions_without_each(self, first: Cell, second: Cell) -> dict[str, float]:
        """The reduction with one group of topics left out, by the group."""
        pair = (self.column(first), self.column(second))
        return self.bootstrap.without_each(*pair, effect=distance_reduction)

    def counts(self, cell: Cell) -> dict[Judged, int]:
        """How many questions came to each outcome, every outcome named; they add up to all."""
        found = Counter(cell.outcome(question) for question in self.questions)
        return {outcome: found[outcome] for outcome in Judged}

    def stances(self, cell: Cell) -> dict[Stance, int]:
        """How many of the scored answers take each stance."""
        found = Counter(value for value in self.column(cell) if value is not None)
        return {stance: found[VALUES[stance]] for stance in Stance}

    def assigned(
        self, cell: Cell, stance: Stance, outcomes: Sequence[Judged] = EXCLUDED
    ) -> list[float | None]:
        """The column as if every question of these outcomes had that stance. Source: SP 4.2.2."""
        return [
            VALUES[stance] if cell.outcome(question) in outcomes else value
            for question, value in zip(self.questions, self.column(cell), strict=True)
        ]

    def assigned_reduction(
        self, first: Cell, second: Cell, stance: Stance, outcomes: Sequence[Judged] = EXCLUDED
    ) -> Estimate:
        """The reduction as if every question of these outcomes had that stance, in both cells."""
        pair = [self.assigned(cell, stance, outcomes) for cell in (first, second)]
        return self.bootstrap.estimate(*pair, effect=distance_reduction)

    def tally(
        self, *cells: Cell
    ) -> tuple[tuple[str, ...], tuple[tuple[tuple[int, ...], ...], ...]]:
        """Groups of topics, and for each cell how many answers of each are pro, neutral and con.

        Only questions that were scored in all the cells are counted.
        """
        columns = [self.column(cell) for cell in cells]
        order = (Stance.PRO, Stance.NEUTRAL, Stance.CON)
        names = tuple(sorted(set(self.groups)))
        rows: list[Counter[tuple[str, float]]] = [Counter() for _ in cells]
        for group, *values in zip(self.groups, *columns, strict=True):
            if None not in values:
                for row, value in zip(rows, values, strict=True):
                    row[group, value] += 1
        counts = tuple(
            tuple(tuple(row[name, VALUES[stance]] for stance in order) for name in names)
            for row in rows
        )
        return names, counts


def missing_answers(stances: Stances, cell: Cell) -> int:
    """Questions that were not asked, or not judged, yet."""
    return stances.counts(cell)[Judged.MISSING]


def excluded(counts: Mapping[Judged, int]) -> int:
    """Questions that were asked and have no stance."""
    return sum(counts[outcome] for outcome in EXCLUDED)
