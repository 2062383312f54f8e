"""What the documents measure. Source: SP table 14; the numbers are `lab properties --json`."""

from collections.abc import Mapping
from typing import Any, Final

from equipoise.lab.experiments import paper
from equipoise.lab.experiments.base import Plan
from equipoise.lab.experiments.study import Study
from equipoise.lab.report.blocks import Block, Cell, Number, table

NAME: Final = "properties"
TITLE: Final = "What the documents measure"
PLAN: Final = Plan(defences=(), attacks=(), files=("properties",))


def tables(study: Study) -> list[Block]:
    """Words and nearest neighbours by group of documents."""
    said = study.files.get("properties")
    if said is None:
        return []
    rows = [_row(row) for row in said["rows"] if row["documents"]]
    rows += [
        [
            f"paper: {name}",
            number,
            Number(median, "g"),
            Number(sd, ".1f"),
            f"{least} to {most}",
            Number(near),
            copies,
        ]
        for name, (number, median, sd, least, most, near, copies) in paper.PROPERTIES.items()
    ]
    head = ("documents", "n", "words, median", "sd", "range", "nearest cosine, median",
            "near-duplicates")  # fmt: skip
    note = (
        f"Pack {said['pack']}, embedder {said['embedder']}; the paper's cosines are of another "
        "embedder and are no yardstick for ours. Near-duplicates: cosine above 0.95 within a "
        "topic, side and origin."
    )
    return [table("Words and nearest neighbours", head, rows, note)]


def _row(row: Mapping[str, Any]) -> list[Cell]:
    near: Cell = None
    if row.get("near") is not None and row.get("near_share") is not None:
        near = f"{row['near']} ({row['near_share']:.3%}, {row['near_pairs']} pairs)"
    return [
        row["group"],
        row["documents"],
        _number(row["words_median"], "g"),
        _number(row["words_sd"], ".1f"),
        None if row["words_least"] is None else f"{row['words_least']} to {row['words_most']}",
        _number(row.get("nearest_median"), ".3f"),
        near,
    ]


def _number(value: float | None, form: str) -> Number | None:
    return None if value is None else Number(value, form)


def figure(study: Study) -> str | None:
    """None."""
    return None
