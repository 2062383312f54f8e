"""All defences side by side, by the answers. Source: ours; the paper has three of them."""

from collections.abc import Sequence
from typing import Any, Final

from equipoise.lab.experiments import drawing
from equipoise.lab.experiments.base import NOTE, Plan, setting, titled
from equipoise.lab.experiments.selection import planted
from equipoise.lab.experiments.study import Planted, Series, Study
from equipoise.lab.report.blocks import Block, Cell, table

NAME: Final = "defences"
TITLE: Final = "All defences, by the answers"
PLAN: Final = Plan(
    defences=("none", "quota", "quota_prompt", "prompt_only", "random5", "mmr", "biasdef_quota"),
    attacks=("stance", "ebi"),
    clean=True,
)


def _corpora(series: Series) -> list[Planted]:
    attacked = [corpus for attack in series.attacks() for corpus in series.largest(attack)]
    return [*series.corpora(None), *attacked]


def tables(study: Study) -> list[Block]:
    """A table a corpus: score, what the defence takes off, and planted documents let through."""
    blocks: list[Block] = []
    for series in study.series:
        for corpus in _corpora(series):
            names = series.defences(corpus.name)
            if len(names) > 1:
                title = titled(f"Defences on {corpus.title}", series, study)
                rows = [_row(series, corpus, name) for name in names]
                head = ("defence", "score", "|s_none| - |s|, paired", "planted in the five")
                blocks.append(table(title, head, rows, f"{NOTE} Above 0: nearer to 0 than no "
                                    "defence, in the questions valid in both."))  # fmt: skip
    return blocks


def _row(series: Series, corpus: Planted, name: str) -> list[Cell]:
    cell, none = series.find(corpus.name, name), series.find(corpus.name, "none")
    if cell is None:
        return [setting(name), "not run", None, None]
    paired = None if none is None or name == "none" else series.stances.reduction(none, cell)
    there = planted(series, cell) if corpus.direction is not None else None
    return [setting(name), series.stances.score(cell), paired, there]


def figure(study: Study) -> str | None:
    """A panel a poisoned corpus: every defence's score with its interval."""
    series = study.series[0]
    corpora = [corpus for corpus in _corpora(series) if corpus.direction is not None]
    names = series.defences()
    if not corpora or len(names) < 2 or not series.judged:
        return None

    def draw(panels: Sequence[Any]) -> None:
        for panel, corpus in zip(panels, corpora, strict=False):
            for row, name in enumerate(names):
                cell = series.find(corpus.name, name)
                if cell is not None:
                    mark = drawing.MARKS[1 if corpus.direction == "pro" else 2]
                    drawing.point(panel, row, series.stances.score(cell), mark, level=True)
            drawing.zero(panel, level=True)
            drawing.rows(panel, [setting(name) for name in names])
            panel.set_title(corpus.title, fontsize=10, loc="left")
            panel.set_xlabel("stance score")
        drawing.alike(panels[: len(corpora)], "x")
        for panel in panels[len(corpora) :]:
            panel.set_axis_off()

    columns = min(2, len(corpora))
    height = (1.2 + 0.33 * len(names)) * -(-len(corpora) // columns)
    return drawing.picture(NAME, len(corpora), draw, size=(11, height), columns=columns)
