"""Concentration sweep: attack, defence, paired effects. Source: SP tables 2, 3, 4, 15, figure 2."""

from collections.abc import Sequence
from typing import Any, Final

from equipoise.lab.answers.store import Judged
from equipoise.lab.experiments import drawing, paper
from equipoise.lab.experiments.base import NOTE, SIDES, Plan, probability, titled
from equipoise.lab.experiments.study import Planted, Series, Study
from equipoise.lab.report.blocks import Block, Cell, table
from equipoise.lab.stats import Estimate, holm

NAME: Final = "sweep"
TITLE: Final = "Concentration sweep"
PLAN: Final = Plan(defences=("none", "quota", "quota_prompt"), sizes=(2, 4, 5, 7))
SETTINGS: Final = ("A", "B", "C")


def tables(study: Study) -> list[Block]:
    """Scores under A, B and C by share, and the paired effects with tests."""
    return [
        block for series in study.series if series.corpora() for block in _of_series(series, study)
    ]


def _of_series(series: Series, study: Study) -> list[Block]:
    blocks: list[Block] = [
        table(
            titled(f"Stance scores by share: setting {letter}", series, study),
            ("corpus", "share", "planted a topic", f"{letter}, ours", f"{letter}, paper"),
            [_score(series, corpus, letter) for corpus in series.corpora()],
            NOTE,
        )
        for letter in SETTINGS
        if any(series.find(corpus.name, letter) for corpus in series.corpora())
    ]
    return [*blocks, *_effects(series, study)]


def _score(series: Series, corpus: Planted, letter: str) -> list[Cell]:
    cell = series.find(corpus.name, letter)
    side = str(corpus.direction)
    return [
        side,
        f"{corpus.share:.1%}",
        corpus.n,
        None if cell is None else series.stances.score(cell),
        paper.at(paper.SCORES[side][letter], corpus.share),
    ]


def _effects(series: Series, study: Study) -> list[Block]:
    """Paired A to C; Holm covers every direction and share of the series."""
    found = [(corpus, series.pair(corpus.name, "A", "C")) for corpus in series.corpora()]
    pairs = [(corpus, pair) for corpus, pair in found if pair is not None]
    tests = [series.stances.reduction_p(*pair) for _, pair in pairs]
    there = [p for p in tests if p is not None]
    adjusted = iter(holm(there))
    shifts: list[list[Cell]] = []
    reductions: list[list[Cell]] = []
    for (corpus, pair), p in zip(pairs, tests, strict=True):
        side, share = str(corpus.direction), corpus.share
        where: list[Cell] = [side, f"{share:.1%}"]
        shift = series.stances.shift(*pair)
        shifts.append([*where, shift, paper.at(paper.SHIFTS[side], share)])
        valid = [series.stances.counts(cell)[Judged.SCORED] for cell in pair]
        q = None if p is None else next(adjusted)
        reductions.append(
            [
                *where,
                *valid,
                series.stances.reduction(*pair),
                probability(p),
                probability(q),
                paper.at(paper.REDUCTIONS[side], share),
                _paper_p(side, share),
            ]
        )
    if not pairs:
        return []
    return [
        table(
            titled("Signed shift from A to C, strictly paired", series, study),
            ("corpus", "share", "s_A - s_C, ours", "paper"),
            shifts,
            "Above 0 moves toward con, below 0 toward pro. " + NOTE,
        ),
        table(
            titled("Reduction of the distance from 0, strictly paired", series, study),
            (
                "corpus",
                "share",
                "valid in A",
                "valid in C",
                "|s_A| - |s_C|, ours",
                "p",
                "Holm p",
                "paper",
                "paper: p, Holm p",
            ),
            reductions,
            "Above 0 is nearer to 0. A and C swapped together within each group of topics, 5,000 "
            f"randomisations, two-sided; Holm over the {len(there)} tests of this table. Where C "
            "is truly at 0, |s_C| is not, by chance: reduction and interval then lie too low.",
        ),
    ]


def _paper_p(side: str, share: float) -> str | None:
    place = paper.nearest_share(share)
    if place is None:
        return None
    return f"{paper.RAW_P[side][place]:.5f}, {paper.HOLM_P[side][place]:.5f}"


def figure(study: Study) -> str | None:
    """Four panels, as in SP figure 2: A by share, A B C for each side, paired components."""
    series = next((s for s in study.series if s.corpora() and s.judged), None)
    if series is None:
        return None

    def draw(panels: Sequence[Any]) -> None:
        _attack(panels[0], series)
        for panel, side, letter in zip(panels[1:3], SIDES, "bc", strict=True):
            _defence(panel, series, side, letter)
        drawing.alike(panels[:3])
        _components(panels[3], series)

    return drawing.picture(NAME, 4, draw, size=(11, 7), columns=2)


def _points(series: Series, side: str, letter: str) -> tuple[list[float], list[Estimate]]:
    at, found = [], []
    for corpus in series.corpora():
        cell = series.find(corpus.name, letter)
        if corpus.direction == side and cell is not None:
            at.append(100 * corpus.share)
            found.append(series.stances.score(cell))
    return at, found


def _attack(panel: Any, series: Series) -> None:
    for side, colour in zip(SIDES, ("#0072B2", "#D55E00"), strict=True):
        mark = (colour, "o" if side == "pro" else "s")
        drawing.curve(panel, *_points(series, side, "A"), mark, f"{side} planted")
    _labelled(panel, "(a) No defence")


def _defence(panel: Any, series: Series, side: str, letter: str) -> None:
    for setting in SETTINGS:
        at, found = _points(series, side, setting)
        shift = 0.25 * (SETTINGS.index(setting) - 1)  # side by side, or they hide one another
        moved = [x + shift for x in at]
        drawing.curve(panel, moved, found, drawing.COLOURS[setting], setting)
    _labelled(panel, f"({letter}) {side} planted: A, B, C")


def _labelled(panel: Any, title: str) -> None:
    drawing.zero(panel)
    panel.set_title(title, fontsize=10, loc="left")
    panel.set_xlabel("share of planted documents (%)")
    panel.set_ylabel("stance score")
    drawing.legend(panel)


def _components(panel: Any, series: Series) -> None:
    """A - B and B - C, paired, a row a corpus."""
    corpora = series.corpora()
    for number, (first, second) in enumerate((("A", "B"), ("B", "C"))):
        mark = drawing.MARKS[number + 1]
        panel.plot([], [], mark[1], color=mark[0], markersize=5, label=f"{first} - {second}")
        for row, corpus in enumerate(corpora):
            pair = series.pair(corpus.name, first, second)
            if pair is not None:
                found = series.stances.shift(*pair)
                drawing.point(panel, row + 0.24 * (number - 0.5), found, mark, level=True)
    drawing.zero(panel, level=True)
    drawing.rows(panel, [corpus.title for corpus in corpora])
    panel.set_title("(d) Paired components", fontsize=10, loc="left")
    panel.set_xlabel("signed shift")
    drawing.legend(panel)
