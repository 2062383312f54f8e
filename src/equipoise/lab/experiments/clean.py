"""What a defence costs where nothing is planted. Source: SP tables 13 and 18."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from equipoise.lab.experiments import paper
from equipoise.lab.experiments.base import NOTE, Plan, setting, titled
from equipoise.lab.experiments.study import Series, Study
from equipoise.lab.report.blocks import Block, Cell, Number, table

if TYPE_CHECKING:
    from equipoise.lab.quality.scores import Agreement, Change

NAME: Final = "clean"
TITLE: Final = "Without an attack: stance and quality"
PLAN: Final = Plan(attacks=(), clean=True, files=("quality",))


def tables(study: Study) -> list[Block]:
    """Stance under every defence on the clean corpus, then quality by whoever rated it."""
    blocks: list[Block] = []
    for series in study.series:
        for corpus in series.corpora(None):
            rows = [_row(series, corpus.name, name) for name in series.defences(corpus.name)]
            head = ("defence", "score, ours", "score, paper", "s_A - s, paired", "paper")
            title = titled(f"Stance on {corpus.name}", series, study)
            blocks.append(table(title, head, rows, NOTE))
    return blocks + _quality(study.files.get("quality", ()))


def _row(series: Series, corpus: str, name: str) -> list[Cell]:
    cell, none = series.find(corpus, name), series.find(corpus, "none")
    a, c, shift = paper.CLEAN["stance"]
    theirs: dict[str, tuple[Cell, Cell]] = {
        "none": (Number(a, "+.3f"), None),
        "quota_prompt": (Number(c, "+.3f"), paper.interval(shift)),
    }
    score, paired = theirs.get(name, (None, None))
    if cell is None:
        return [setting(name), "not run", score, None, paired]
    ours = None if none is None or name == "none" else series.stances.shift(none, cell)
    return [setting(name), series.stances.score(cell), score, ours, paired]


def _quality(lines: Iterable[dict[str, Any]]) -> list[Block]:
    """C - A by dimension for each rater, and how far raters agree. Source: SP tables 13, 18."""
    from equipoise.lab.quality.rows import MEASURES, RATINGS, of_kind, rated_of
    from equipoise.lab.quality.scores import agreement, changes

    lines = list(lines)
    if not lines:
        return []
    rated = rated_of(lines)
    people, measured = of_kind(rated, RATINGS), of_kind(rated, MEASURES)
    blocks: list[Block] = []
    if people:
        rows = [_change(one.settings["generator"], c) for one in people for c in changes(one)]
        rows += [
            ["paper", "GPT-5.4", name, Number(a), Number(c), paper.interval(change), None]
            for name, (a, c, change) in paper.CLEAN.items()
            if name != "stance"
        ]
        blocks.append(_table("Ratings from 1 to 5, names hidden, order drawn", rows))
        pairs = [
            (first, second)
            for place, first in enumerate(people)
            for second in people[place + 1 :]
            if first.settings["generator"] == second.settings["generator"]
        ]
        if pairs:
            told = [
                _agreed(f"{a.rater}, {b.rater}", one) for a, b in pairs for one in agreement(a, b)
            ]
            head = ("raters", "dimension", "decided by both", "equal", "kappa", "weighted kappa")
            blocks.append(table("Agreement of raters", head, told))
    if measured:
        rows = [_change(one.settings["generator"], c) for one in measured for c in changes(one)]
        note = "Counted by a program from words and vectors. These are not the paper's ratings."
        blocks.append(_table("Measures that need no rater", rows, note))
    return blocks


def _table(title: str, rows: Sequence[Sequence[Cell]], note: str = "") -> Block:
    head = ("generator", "rater", "dimension", "A", "C", "C - A, paired", "without a mark")
    return table(title, head, rows, f"{NOTE} {note}".strip())


def _change(generator: str, change: "Change") -> list[Cell]:
    means = [None if value is None else Number(value) for value in (change.a, change.c)]
    left = sum(change.apart.values())
    return [generator, change.rater, change.name, *means, change.change, left]


def _agreed(raters: str, one: "Agreement") -> list[Cell]:
    return [
        raters,
        one.name,
        one.items,
        None if one.equal is None else Number(one.equal, ".1%"),
        _kappa(one.kappa, one.kappa_interval),
        _kappa(one.weighted, one.weighted_interval),
    ]


def _kappa(value: float | None, interval: tuple[float, float] | None) -> str | None:
    if value is None:
        return None
    return (
        f"{value:.3f}"
        if interval is None
        else f"{value:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]"
    )


def figure(study: Study) -> str | None:
    """None."""
    return None
