"""Balancing alone, the instruction alone, both. Source: SP table 5; intervals are ours."""

from typing import Final

from equipoise.lab.experiments import paper
from equipoise.lab.experiments.base import NOTE, Plan, titled
from equipoise.lab.experiments.study import Planted, Series, Study
from equipoise.lab.report.blocks import Block, Cell, table

NAME: Final = "ablation"
TITLE: Final = "Ablation: balancing, instruction, both"
LETTERS: Final = ("A", "B", "C", "D")
PLAN: Final = Plan(defences=("none", "quota", "quota_prompt", "prompt_only"))


def tables(study: Study) -> list[Block]:
    """Scores under the four settings, and what each takes off the distance from 0."""
    blocks: list[Block] = []
    for series in study.series:
        corpora = [c for c in series.corpora() if series.find(c.name, "D") is not None]
        if not corpora:
            continue
        rows = [row for corpus in corpora for row in _rows(series, corpus)]
        blocks.append(
            table(
                titled("The four settings", series, study),
                ("corpus", "setting", "score, ours", "score, paper", "|s_A| - |s|, paired"),
                rows,
                f"{NOTE} A: top five. B: balanced. C: balanced and instructed. D: top five and "
                "instructed. The last column is strictly paired with A.",
            )
        )
    return blocks


def _rows(series: Series, corpus: Planted) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    first = series.find(corpus.name, "A")
    for letter in LETTERS:
        cell = series.find(corpus.name, letter)
        if cell is None:
            rows.append([corpus.title, letter, "not run", _paper(corpus, letter), None])
            continue
        paired = None if first is None or letter == "A" else series.stances.reduction(first, cell)
        score = series.stances.score(cell)
        rows.append([corpus.title, letter, score, _paper(corpus, letter), paired])
    return rows


def _paper(corpus: Planted, letter: str) -> str | None:
    side, place = str(corpus.direction), paper.nearest_share(corpus.share)
    if letter != "D":
        return paper.at(paper.SCORES[side][letter], corpus.share)
    share = None if place is None else paper.SHARES[place]
    found = paper.PROMPT_ONLY[side].get(share) if share is not None else None
    return None if found is None else f"{found:+.3f} at {share:.1%}"


def figure(study: Study) -> str | None:
    """None: the paper has none, and the sweep's shows the same."""
    return None
