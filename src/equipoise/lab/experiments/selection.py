"""Ways of choosing five documents, without the instruction. Source: SP tables 8 and 9."""

from typing import Final

from equipoise.lab.answers.store import Cell as Answers
from equipoise.lab.experiments import paper
from equipoise.lab.experiments.base import NOTE, Plan, setting, titled
from equipoise.lab.experiments.study import Planted, Series, Study
from equipoise.lab.report.blocks import Block, Cell, Number, table
from equipoise.lab.stats import Estimate

NAME: Final = "selection"
TITLE: Final = "Ways of choosing"
RULES: Final = ("none", "quota", "random5", "mmr")
PLAN: Final = Plan(defences=RULES)


def tables(study: Study) -> list[Block]:
    """Scores beside the quota's, and how many planted documents each lets through."""
    blocks: list[Block] = []
    for series in study.series:
        corpora = [c for c in series.largest() if _there(series, c)]
        if not corpora:
            continue
        rows = [_row(series, c, rule) for c in corpora for rule in RULES]
        blocks.append(
            table(
                titled("Scores by way of choosing", series, study),
                ("corpus", "defence", "score, ours", "score, paper", "less the quota's, paired",
                 "paper"),
                rows,
                f"{NOTE} All without the even-handedness instruction.",
            )
        )  # fmt: skip
        planted = [_planted_row(series, c, rule) for c in corpora for rule in RULES]
        blocks.append(
            table(
                titled("Planted documents among the five", series, study),
                ("corpus", "defence", "mean, ours", "mean, paper"),
                planted,
                "Mean over questions [95% interval] n. Fewer planted documents need not mean a "
                "score nearer to 0: the sides of the rest count too.",
            )
        )
    return blocks


def _there(series: Series, corpus: Planted) -> bool:
    return any(series.find(corpus.name, rule) is not None for rule in ("random5", "mmr"))


def _row(series: Series, corpus: Planted, rule: str) -> list[Cell]:
    cell, side = series.find(corpus.name, rule), str(corpus.direction)
    near = paper.nearest_share(corpus.share) == len(paper.SHARES) - 1
    scores = {"none": paper.SCORES[side]["A"][-1], **paper.SELECTION[side]}
    against = paper.AGAINST_QUOTA[side].get(rule)
    told = [
        paper.interval(scores[rule]) if near else None,
        paper.interval(against) if near and against is not None else None,
    ]
    if cell is None:
        return [corpus.title, setting(rule), "not run", told[0], None, told[1]]
    base = series.find(corpus.name, "quota")
    paired = None if base is None or rule == "quota" else series.stances.shift(cell, base)
    score = series.stances.score(cell)
    return [corpus.title, setting(rule), score, told[0], paired, told[1]]


def _planted_row(series: Series, corpus: Planted, rule: str) -> list[Cell]:
    cell, side = series.find(corpus.name, rule), str(corpus.direction)
    near = paper.nearest_share(corpus.share) == len(paper.SHARES) - 1
    said = Number(paper.PLANTED[side][rule]) if near else None
    ours: Cell = "not run" if cell is None else planted(series, cell)
    return [corpus.title, setting(rule), ours, said]


def planted(series: Series, cell: Answers) -> Estimate:
    """Mean number of planted documents among the five, whatever came of the answer.

    A question for which the defence itself failed has no choice of documents and is left out.
    """
    rows = [cell.answers.get(question, {}) for question in series.stances.questions]
    column = [
        None if "planted" not in row or ("error" in row and not row["chosen"]) else row["planted"]
        for row in rows
    ]
    return series.stances.bootstrap.estimate(column)


def figure(study: Study) -> str | None:
    """None: the paper has none; `defences` draws all ways of choosing."""
    return None
