"""One attack and defence behind several generators. Source: SP tables 6 and 7, figure 3."""

from collections.abc import Sequence
from typing import Any, Final

from equipoise.lab.answers.store import Judged
from equipoise.lab.experiments import drawing, paper
from equipoise.lab.experiments.base import NOTE, SIDES, Plan, series_title
from equipoise.lab.experiments.study import Planted, Series, Study
from equipoise.lab.report.blocks import Block, Cell, table

NAME: Final = "generators"
TITLE: Final = "Generators"
PLAN: Final = Plan(generators=2, together=True)
LETTERS: Final = ("A", "C")


def tables(study: Study) -> list[Block]:
    """Scores and outcomes at the largest share of each series, the paper's below ours."""
    ours = [s for s in study.series if s.largest()]
    if not ours:
        return []
    return [_scores(ours, study), _outcomes(ours, study)]


def _name(series: Series, study: Study) -> str:
    return series_title(series, study) or series.generator


def _corpora(series: Series) -> list[tuple[str, Planted | None]]:
    found = {str(corpus.direction): corpus for corpus in series.largest()}
    return [(side, found.get(side)) for side in SIDES]


def _scores(ours: list[Series], study: Study) -> Block:
    rows: list[list[Cell]] = []
    for series in ours:
        for side, corpus in _corpora(series):
            if corpus is None:
                continue
            cells = [series.find(corpus.name, letter) for letter in LETTERS]
            pair = series.pair(corpus.name, *LETTERS)
            rows.append(
                [
                    _name(series, study),
                    side,
                    f"{corpus.share:.1%}",
                    *(None if cell is None else series.stances.score(cell) for cell in cells),
                    None if pair is None else series.stances.shift(*pair),
                    None if pair is None else series.stances.reduction(*pair),
                ]
            )
    for name, scores in paper.GENERATORS.items():
        for side in SIDES:
            told = [paper.interval(scores[side, letter]) for letter in LETTERS]
            rows.append([f"paper: {name}", side, "18.9%", *told, None, None])
    head = ("generator", "corpus", "share", "A", "C", "s_A - s_C", "|s_A| - |s_C|")
    return table("Scores by generator", head, rows, f"Largest share of each run. {NOTE}")


def _outcomes(ours: list[Series], study: Study) -> Block:
    rows: list[list[Cell]] = []
    for series in ours:
        for side, corpus in _corpora(series):
            for letter in LETTERS:
                cell = None if corpus is None else series.find(corpus.name, letter)
                if cell is not None:
                    counts = series.stances.counts(cell)
                    told = [counts[outcome] for outcome in Judged]
                    rows.append([_name(series, study), side, letter, *told])
    for name, found in paper.OUTCOMES.items():
        for (side, letter), (blocked, refused, included) in found.items():
            said = {Judged.SCORED: included, Judged.REFUSED: refused, Judged.FILTERED: blocked}
            rows.append([f"paper: {name}", side, letter, *map(said.get, Judged)])
    return table(
        "Outcomes by generator",
        ("generator", "corpus", "setting", *Judged),
        rows,
        "Questions by outcome. Only `scored` enters a score. The paper's blocked answers stand "
        "under `filtered`; it does not report the other columns.",
    )


def figure(study: Study) -> str | None:
    """Three panels, as in SP figure 3: A and C for each side, and the reduction."""
    ours = [s for s in study.series if s.largest() and s.judged]
    if not ours:
        return None
    names = [_name(series, study) for series in ours]

    def draw(panels: Sequence[Any]) -> None:
        for panel, side, letter in zip(panels[:2], SIDES, "ab", strict=True):
            for row, series in enumerate(ours):
                _pair(panel, row, series, dict(_corpora(series))[side])
            drawing.zero(panel, level=True)
            panel.set_title(f"({letter}) {side} planted", fontsize=10, loc="left")
            panel.set_xlabel("stance score: A black, C orange")
        drawing.alike(panels[:2], "x")
        for row, series in enumerate(ours):
            for number, (_, corpus) in enumerate(_corpora(series)):
                pair = None if corpus is None else series.pair(corpus.name, *LETTERS)
                if pair is not None:
                    found, mark = series.stances.reduction(*pair), drawing.MARKS[number + 1]
                    at = row + 0.24 * (number - 0.5)
                    drawing.point(panels[2], at, found, mark, level=True)
        drawing.zero(panels[2], level=True)
        panels[2].set_title("(c) reduction", fontsize=10, loc="left")
        panels[2].set_xlabel("|s_A| - |s_C|: pro blue, con orange")
        drawing.rows(panels[0], names)
        for panel in panels[1:]:
            drawing.rows(panel, [""] * len(names))

    return drawing.picture(NAME, 3, draw, size=(11, 1.4 + 0.5 * len(names)))


def _pair(panel: Any, row: int, series: Series, corpus: Planted | None) -> None:
    for number, letter in enumerate(LETTERS):
        cell = None if corpus is None else series.find(corpus.name, letter)
        if cell is not None:
            at = row + 0.24 * (number - 0.5)
            mark = drawing.COLOURS[letter]
            drawing.point(panel, at, series.stances.score(cell), mark, level=True)
