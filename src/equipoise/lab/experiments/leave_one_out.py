"""Effects with one topic left out: does one topic make the result? Source: ours."""

from collections.abc import Sequence
from typing import Any, Final

from equipoise.lab.experiments import drawing
from equipoise.lab.experiments.base import Plan, titled
from equipoise.lab.experiments.study import Series, Study
from equipoise.lab.report.blocks import Block, Cell, Number, table

NAME: Final = "leave-one-out"
TITLE: Final = "One topic left out"
PLAN: Final = Plan()


def tables(study: Study) -> list[Block]:
    """The reduction from A to C with each topic left out: its range, and who moves it most."""
    blocks: list[Block] = []
    for series in study.series:
        rows = [row for attack in series.attacks() for row in _rows(series, attack)]
        if rows:
            head = ("corpus", "|s_A| - |s_C|", "least without one", "most without one",
                    "moves it most", "by")  # fmt: skip
            note = "By: the reduction without that group of topics less the reduction with it."
            title = titled("Reduction without one group of topics", series, study)
            blocks.append(table(title, head, rows, note))
    return blocks


def _rows(series: Series, attack: str) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for corpus in series.corpora(attack):
        pair = series.pair(corpus.name, "A", "C")
        if pair is None:
            continue
        full = series.stances.reduction(*pair)
        without = series.stances.reductions_without_each(*pair)
        if full.value is None or not without:
            continue
        value = full.value
        name = max(without, key=lambda topic: abs(without[topic] - value))
        ends = [Number(end(without.values()), "+.3f") for end in (min, max)]
        rows.append([corpus.title, full, *ends, name, Number(without[name] - value, "+.3f")])
    return rows


def figure(study: Study) -> str | None:
    """A row a corpus: every value without one topic as a thin mark, all topics as a dot."""
    series = study.series[0]
    found = [
        (corpus, pair)
        for attack in series.attacks()
        for corpus in series.corpora(attack)
        if (pair := series.pair(corpus.name, "A", "C")) is not None
    ]
    if not found or not series.judged:
        return None

    def draw(panels: Sequence[Any]) -> None:
        panel = panels[0]
        for row, (_, pair) in enumerate(found):
            values = list(series.stances.reductions_without_each(*pair).values())
            panel.plot(values, [row] * len(values), "|", color="#0072B2", markersize=12)
            drawing.point(panel, row, series.stances.reduction(*pair), ("#000000", "o"), level=True)
        drawing.zero(panel, level=True)
        drawing.rows(panel, [corpus.title for corpus, _ in found])
        panel.set_xlabel("|s_A| - |s_C|: all topics with interval, each topic left out (blue)")

    return drawing.picture(NAME, 1, draw, size=(9, 1.2 + 0.45 * len(found)))
