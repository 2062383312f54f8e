"""The scores once more, with the judge's known errors undone. Source: ours (`judge/correct.py`)."""

from typing import TYPE_CHECKING, Final

from equipoise.lab.experiments.base import Plan, titled
from equipoise.lab.experiments.check import read_check
from equipoise.lab.experiments.study import Planted, Series, Study
from equipoise.lab.report.blocks import Block, Cell, Text, table
from equipoise.lab.stats import Estimate, distance_reduction

if TYPE_CHECKING:
    from equipoise.lab.judge.correct import Corrected, CorrectedBootstrap

NAME: Final = "judged"
TITLE: Final = "With the judge's errors carried into the intervals"
PLAN: Final = Plan()
LETTERS: Final = ("A", "B", "C", "D")


def tables(study: Study) -> list[Block]:
    """Plain and corrected, side by side; empty without a check of the judge."""
    if study.check is None:
        return []
    from equipoise.lab.judge.correct import CorrectedBootstrap

    check = read_check(study.check)
    blocks: list[Block] = [Text(check.said)]
    for series in study.series:
        judge = series.about["judge"]
        if judge is not None and judge != check.judge:
            blocks.append(Text(f"The check is of `{check.judge}`, not of `{judge}`: nothing here "
                               "is corrected for that judge."))  # fmt: skip
            continue
        groups = len(set(series.stances.groups))
        bootstrap = CorrectedBootstrap(check.confusion, groups)
        corpora = [c for attack in series.attacks() for c in series.corpora(attack)]
        scores = [
            row
            for corpus in (*series.corpora(None), *corpora)
            for row in _scores(series, corpus, bootstrap)
        ]
        head = ("corpus", "setting", "score", "score, corrected")
        note = (
            "Corrected: the shares of true stances that the counts of labels come from, by the "
            "matrix of the check. Its intervals hold both the draw of topics and how little the "
            "check says about the judge."
        )
        if scores:
            blocks.append(table(titled("Scores", series, study), head, scores, note))
        pairs = [row for corpus in corpora for row in _pair(series, corpus, bootstrap)]
        if pairs:
            head = ("corpus", "pair", "|s_A| - |s|", "|s_A| - |s|, corrected")
            title = titled("Reductions, strictly paired", series, study)
            blocks.append(table(title, head, pairs))
    return blocks


def _scores(series: Series, corpus: Planted, judge: "CorrectedBootstrap") -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for letter in LETTERS:
        cell = series.find(corpus.name, letter)
        if cell is not None:
            found = judge.estimate(*series.stances.tally(cell)[1])
            rows.append([corpus.title, letter, series.stances.score(cell), _estimate(found)])
    return rows


def _pair(series: Series, corpus: Planted, judge: "CorrectedBootstrap") -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for letter in LETTERS[1:]:
        pair = series.pair(corpus.name, "A", letter)
        if pair is not None:
            counts = series.stances.tally(*pair)[1]
            found = judge.estimate(*counts, effect=distance_reduction)
            plain = series.stances.reduction(*pair)
            rows.append([corpus.title, f"A, {letter}", plain, _estimate(found)])
    return rows


def _estimate(found: "Corrected") -> Cell:
    if found.value is None and found.low is not None:
        return f"not known [{found.low:+.3f}, {found.high:+.3f}] {found.n}"
    return Estimate(found.value, found.low, found.high, found.n, found.topics)


def figure(study: Study) -> str | None:
    """None."""
    return None
