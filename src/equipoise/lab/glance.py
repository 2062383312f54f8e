"""One table for all corpora: what a reader wants first."""

from equipoise.lab.cells import cell, table
from equipoise.lab.frame import CLEAN, Frame
from equipoise.lab.measures import measure

SHOWN = (("planted", False), ("skew", True), ("ndcg5", True))
"""Measures, and whether they say something about a corpus in which nothing was planted."""


def glance(frame: Frame, where: str) -> str:
    """A row a defence, a column a measure and corpus; nDCG of the clean corpus alone."""
    columns = [
        (key, corpus)
        for key, clean_too in SHOWN
        for corpus in frame.corpora()
        if (corpus == CLEAN and clean_too) or (frame.planted(corpus) and key != "ndcg5")
    ]
    labels = list(dict.fromkeys(frame.shown(run) for run in frame.runs))
    rows = []
    for label in labels:
        runs = [(key, frame.find(corpus, label)) for key, corpus in columns]
        rows.append([label, *(cell(frame.estimate(r, k)) if r else "-" for k, r in runs)])
    head = ["defence", *(f"{measure(key).title}, {corpus}" for key, corpus in columns)]
    return f"### At a glance{where}\n\n" + table(head, rows)
