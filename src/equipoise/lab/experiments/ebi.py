"""The attack on retrieval that plants the far end of a topic's axis. Source: EBI."""

from typing import Final

from equipoise.lab.answers.store import Cell as Answers
from equipoise.lab.experiments.base import NOTE, Plan, setting, titled
from equipoise.lab.experiments.selection import planted
from equipoise.lab.experiments.study import Planted, Series, Study
from equipoise.lab.report.blocks import Block, Cell, table
from equipoise.lab.stats import Estimate

NAME: Final = "ebi"
TITLE: Final = "Epistemic bias injection"
PLAN: Final = Plan(
    defences=("none", "quota", "quota_prompt", "biasdef_quota"),
    attacks=("ebi",),
    files=("shift",),
)


def tables(study: Study) -> list[Block]:
    """What is retrieved, how answers lean, and how far they move, with and without a defence."""
    blocks: list[Block] = []
    for series in study.series:
        for corpus in series.largest("ebi"):
            rows = [_row(study, series, corpus, name) for name in series.defences(corpus.name)]
            head = ("defence", "A-Recall@5", "planted in the five", "score",
                    "|s_none| - |s|, paired")  # fmt: skip
            title = titled(f"Defences on {corpus.title}", series, study)
            note = f"{NOTE} A-Recall@5: planted documents of the topic among the five, over "
            note += "min(5, planted of the topic)."
            blocks.append(table(title, head, rows, note))
    return [*blocks, *_shifts(study)]


def _row(study: Study, series: Series, corpus: Planted, name: str) -> list[Cell]:
    cell, none = series.find(corpus.name, name), series.find(corpus.name, "none")
    if cell is None:
        return [setting(name), "not run", None, None, None]
    paired = None if none is None or name == "none" else series.stances.reduction(none, cell)
    return [
        setting(name),
        _recall(study, series, cell),
        planted(series, cell),
        series.stances.score(cell),
        paired,
    ]


def _recall(study: Study, series: Series, cell: Answers) -> Estimate | None:
    """Mean A-Recall@5 of the questions asked, from the comparison that the choices come from."""
    column: list[float | None] = [
        study.choice(cell, question).get("measures", {}).get("a_recall")
        if question in cell.answers
        else None
        for question in series.stances.questions
    ]
    found = series.stances.bootstrap.estimate(column)
    return found if found.n else None


def _shifts(study: Study) -> list[Block]:
    """How far answers move along their topic's axis. Source: EBI, shift of the PS."""
    lines = study.files.get("shift")
    if not lines:
        return []
    from equipoise.lab.shift import shift_table

    rows: list[list[Cell]] = []
    for one in shift_table(lines):
        left = ", ".join(f"{number} {why}" for why, number in one.without.items())
        times = None if one.times_smaller is None else ratio(one.times_smaller)
        where: list[Cell] = [one.generator, one.corpus, setting(one.defence), one.reference]
        rows.append([*where, one.shift, one.bias, times, left or None])
    head = ("generator", "corpus", "defence", "against", "shift of the PS", "bias of the PS",
            "times smaller than without", "no score")  # fmt: skip
    note = (
        "Shift: |PS of the answer - PS of the unattacked answer|, mean [95% interval] n; against: "
        "the unattacked answer without a defence (none) or with the same. Bias: PS less that of "
        "the topic's neutral documents, above 0 toward pro. Reported for BiasDef: 6.2 to 8.8 "
        "times smaller."
    )
    return [table("Shift of answers along their topic's axis", head, rows, note)]


def ratio(found: Estimate) -> str:
    """`6.20 [5.10, 7.40] 210`; a dash for an end that is infinite.

    >>> ratio(Estimate(6.2, 5.1, None, 210, 42))
    '6.20 [5.10, -] 210'
    """
    value, low, high = (
        "-" if number is None else f"{number:.2f}"
        for number in (found.value, found.low, found.high)
    )
    return f"{value} [{low}, {high}] {found.n}"


def figure(study: Study) -> str | None:
    """None: `defences` draws the scores."""
    return None
