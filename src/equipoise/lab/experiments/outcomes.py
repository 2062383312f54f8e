"""What came of every question, and what if the excluded had a stance. Source: SP 3.1, 4.2.2."""

from typing import Final

from equipoise.lab.answers.store import Judged
from equipoise.lab.experiments.base import NOTE, Plan, series_title, setting, titled
from equipoise.lab.experiments.study import Planted, Series, Study
from equipoise.lab.report.blocks import Block, Cell, Text, table
from equipoise.lab.stance_stats import EXCLUDED
from equipoise.types import Stance

NAME: Final = "outcomes"
TITLE: Final = "Counts of outcomes"
PLAN: Final = Plan()
ORDER: Final = (Stance.CON, Stance.NEUTRAL, Stance.PRO)


def tables(study: Study) -> list[Block]:
    """Counts for every cell, and the reductions with each exclusion given each stance."""
    blocks: list[Block] = []
    for series in study.series:
        head = ("corpus", "defence", *Judged, "pro", "neutral", "con")
        rows: list[list[Cell]] = []
        for corpus in (*series.corpora(None), *_attacked(series)):
            for name in series.defences(corpus.name):
                cell = series.find(corpus.name, name)
                if cell is not None:
                    counts = series.stances.counts(cell)
                    sides = series.stances.stances(cell)
                    told = [sides[s] for s in (Stance.PRO, Stance.NEUTRAL, Stance.CON)]
                    rows.append([corpus.title, setting(name), *counts.values(), *told])
        note = "Questions. Only `scored` has a stance; none of the others is counted as 0."
        blocks.append(table(titled("Outcomes", series, study), head, rows, note))
        blocks += _sensitivity(series, study)
    return blocks


def _attacked(series: Series) -> list[Planted]:
    return [corpus for attack in series.attacks() for corpus in series.corpora(attack)]


def _sensitivity(series: Series, study: Study) -> list[Block]:
    rows: list[list[Cell]] = []
    for corpus in _attacked(series):
        pair = series.pair(corpus.name, "A", "C")
        if pair is None:
            continue
        counts = [series.stances.counts(cell) for cell in pair]
        there = [kind for kind in EXCLUDED if any(count[kind] for count in counts)]
        kinds: list[tuple[str, tuple[Judged, ...]]] = [(kind.value, (kind,)) for kind in there]
        kinds += [("all of these", tuple(there))] if len(there) > 1 else []
        for name, outcomes in kinds:
            told = [
                series.stances.assigned_reduction(*pair, stance, outcomes) for stance in ORDER
            ]  # fmt: skip
            number = sum(count[kind] for count in counts for kind in outcomes)
            rows.append([corpus.title, name, number, *told])
    if not rows:
        name = series_title(series, study)
        where = f" ({name})" if name else ""
        return [Text(f"No question of A or C was refused, filtered, empty, unparsed or failed, so "
                     f"there is nothing to assign{where}.")]  # fmt: skip
    head = ("corpus", "outcome", "in A and C", "as con", "as neutral", "as pro")
    title = titled("Reduction |s_A| - |s_C| as if the excluded had a stance", series, study)
    return [table(title, head, rows, NOTE)]


def figure(study: Study) -> str | None:
    """None."""
    return None
