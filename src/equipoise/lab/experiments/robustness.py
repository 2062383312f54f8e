"""What a wrong label among the five does to the answer. Source: SP table 12, figure 4."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from equipoise.lab.answers.store import Cell as Answers
from equipoise.lab.experiments import drawing, paper
from equipoise.lab.experiments.base import Plan, titled
from equipoise.lab.experiments.study import Planted, Series, Study
from equipoise.lab.report.blocks import Block, Cell, Number, Text, table
from equipoise.lab.stats import Estimate

NAME: Final = "robustness"
TITLE: Final = "Wrong labels among the five"
PLAN: Final = Plan(defences=("none", "quota", "quota_prompt"))
LETTERS: Final = ("A", "B", "C")


def wrong(row: Mapping[str, Any]) -> bool | None:
    """Whether a chosen document has another label than its truth; None where none can be told.

    Documents whose truth is not known (of another topic) count neither way.
    """
    known = [part for part in row["evidence"] if part["label"] and part["truth"]]
    return any(part["label"] != part["truth"] for part in known) if known else None


def tables(study: Study) -> list[Block]:
    """Bias toward the planted side by group of questions, and the groups' difference."""
    blocks: list[Block] = []
    for series in study.series:
        for corpus in series.largest():
            groups = groups_of(series, corpus)
            if groups is None:
                continue
            blocks += _of_corpus(series, corpus, groups, study)
    return blocks


def groups_of(series: Series, corpus: Planted) -> list[bool | None] | None:
    """For each question whether the quota chose a wrongly labelled document, in order.

    The quota's selection groups the questions for every setting, as in the paper.
    """
    quota = series.find(corpus.name, "B") or series.find(corpus.name, "C")
    if quota is None:
        return None
    rows = [quota.answers.get(question) for question in series.stances.questions]
    found = [None if row is None else wrong(row) for row in rows]
    return found if any(group is not None for group in found) else None


def contrast(
    series: Series, cell: Answers, groups: Sequence[bool | None]
) -> tuple[Estimate, Estimate, Estimate]:
    """Bias toward the planted side with a wrong label, without one, and the difference."""
    column = series.stances.aligned(cell)
    parts = [
        [
            value if group is side else None
            for value, group in zip(column, groups, strict=True)
        ]
        for side in (True, False)
    ]  # fmt: skip
    bootstrap = series.stances.bootstrap
    return (
        bootstrap.estimate(parts[0]),
        bootstrap.estimate(parts[1]),
        bootstrap.contrast(parts[0], parts[1]),
    )


def _of_corpus(
    series: Series, corpus: Planted, groups: Sequence[bool | None], study: Study
) -> list[Block]:
    side = str(corpus.direction)
    near = paper.nearest_share(corpus.share) == len(paper.SHARES) - 1
    rows: list[list[Cell]] = []
    for letter in LETTERS:
        cell = series.find(corpus.name, letter)
        found: list[Cell] = ["not run"] * 3 if cell is None else [*contrast(series, cell, groups)]
        told = [paper.interval(i) for i in paper.ROBUSTNESS[side, letter]] if near else [None] * 3
        names = ("with a wrong label", "all known labels right", "difference")
        rows += [
            [letter, name, ours, theirs]
            for name, ours, theirs in zip(names, found, told, strict=True)
        ]
    head = ("setting", "questions", "bias toward the planted side, ours", "paper")
    title = titled(f"Bias by wrong labels, {corpus.title}", series, study)
    return [_said(groups, side), table(title, head, rows, "Bias [95% interval] n. +1: every "
            "answer takes the planted side. The groups were not drawn by lot: a difference is "
            "no proof that the wrong label made it.")]  # fmt: skip


def _said(groups: Sequence[bool | None], side: str) -> Text:
    known = [group for group in groups if group is not None]
    count, (theirs, of) = sum(known), paper.WRONG[side]
    unknown = len(groups) - len(known)
    left = f" For {unknown} no label can be checked; they are in neither group." if unknown else ""
    return Text(
        f"{side} corpus: the quota chose a wrongly labelled document for {count} of {len(known)} "
        f"questions ({count / len(known):.1%}; paper {theirs} of {of}, {theirs / of:.1%}).{left}"
    )


def figure(study: Study) -> str | None:
    """Three panels, as in SP figure 4: both groups for each side, and their difference."""
    found = [
        (series, corpus, groups)
        for series in study.series[:1]
        if series.judged
        for corpus in series.largest()
        if (groups := groups_of(series, corpus)) is not None
    ]
    if not found:
        return None

    def draw(panels: Sequence[Any]) -> None:
        names: list[str] = []
        for panel, (series, corpus, groups) in zip(panels, found, strict=False):
            for number, letter in enumerate(LETTERS):
                cell = series.find(corpus.name, letter)
                names.append(f"{corpus.direction} {letter}")
                if cell is not None:
                    first, second, both = contrast(series, cell, groups)
                    drawing.point(panel, number - 0.1, first, drawing.MARKS[2])
                    drawing.point(panel, number + 0.1, second, drawing.MARKS[1])
                    mark = drawing.COLOURS[letter]
                    drawing.point(panels[-1], len(names) - 1, both, mark, level=True)
            drawing.zero(panel)
            panel.set_xticks(range(len(LETTERS)), LETTERS)
            panel.set_title(f"{corpus.title} planted", fontsize=10, loc="left")
            panel.set_ylabel("bias toward the planted side")
            panel.set_xlabel("wrong label: orange; right: blue")
        drawing.alike(panels[:-1])
        drawing.rows(panels[-1], names)
        drawing.zero(panels[-1], level=True)
        panels[-1].set_title("difference of the groups", fontsize=10, loc="left")
        panels[-1].set_xlabel("wrong less right")

    return drawing.picture(NAME, len(found) + 1, draw)


def accuracy(cells: Sequence[Answers]) -> Number | None:
    """Share of right labels among chosen documents whose label and truth are known."""
    known = [
        part["label"] == part["truth"]
        for cell in cells
        for row in cell.answers.values()
        for part in row["evidence"]
        if part["label"] and part["truth"]
    ]
    return Number(sum(known) / len(known), ".3f") if known else None
