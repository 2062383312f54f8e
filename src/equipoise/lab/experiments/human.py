"""Injections written by people, chosen in two ways: the paper's attack and EBI's. Source: ours.

The paper plants texts that a language model wrote. A pack built from data sets plants what people
wrote; the embedded pack plants passages of this project, and the table says so.
"""

from typing import Final

from equipoise.lab.experiments.base import NOTE, Plan, titled
from equipoise.lab.experiments.study import Planted, Series, Study
from equipoise.lab.report.blocks import Block, Cell, Text, table

NAME: Final = "human"
TITLE: Final = "Injections written by people"
PLAN: Final = Plan(defences=("none", "quota", "quota_prompt"), attacks=("stance", "ebi"))
EMBEDDED: Final = "embedded"
"""How the names of packs begin whose passages this project wrote (`lab.embedded`)."""


def tables(study: Study) -> list[Block]:
    """The same effects for each attack, at its largest share."""
    blocks: list[Block] = []
    for series in study.series:
        rows = [
            _row(series, corpus)
            for attack in series.attacks()
            for corpus in series.largest(attack)
        ]  # fmt: skip
        if rows:
            head = ("attack", "corpus", "share", "planted", "A", "B", "C", "s_A - s_C",
                    "|s_A| - |s_C|")  # fmt: skip
            title = titled("Effects by attack", series, study)
            blocks.append(table(title, head, rows, NOTE))
    if blocks:
        blocks.insert(0, Text(_said(study)))
    return blocks


def _said(study: Study) -> str:
    """Where the planted documents come from, by pack, and what tells the attacks apart."""
    packs = dict.fromkeys(str(series.about["pack"]) for series in study.series)
    told = [
        f"Pack `{pack}` plants passages written for this project: it says nothing about texts that "
        "people wrote for their own purposes."
        if pack.startswith(EMBEDDED)
        else f"What is planted in pack `{pack}` comes from data sets of arguments and passages "
        "(its manifest names them), not from a rewriting model as in the paper."
        for pack in packs
    ]
    return " ".join(told) + (
        " `stance` plants a side's documents in a drawn order, `ebi` those that lie furthest out "
        "on a topic's axis and near the question."
    )


def _row(series: Series, corpus: Planted) -> list[Cell]:
    cells = [series.find(corpus.name, letter) for letter in "ABC"]
    pair = series.pair(corpus.name, "A", "C")
    first = next(cell for cell in series.cells if cell.corpus == corpus.name)
    return [
        corpus.attack,
        str(corpus.direction),
        f"{corpus.share:.1%}",
        int(first.settings["planted"]),
        *("not run" if cell is None else series.stances.score(cell) for cell in cells),
        None if pair is None else series.stances.shift(*pair),
        None if pair is None else series.stances.reduction(*pair),
    ]


def figure(study: Study) -> str | None:
    """None: `defences` draws both attacks."""
    return None
