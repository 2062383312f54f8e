"""How the benefit grows with the accuracy of the labels. Source: ours."""

import re
from collections.abc import Sequence
from typing import Any, Final

from equipoise.lab.answers.store import Cell as Answers
from equipoise.lab.experiments import drawing
from equipoise.lab.experiments.base import NOTE, SIDES, Plan
from equipoise.lab.experiments.robustness import accuracy
from equipoise.lab.experiments.study import Planted, Series, Study
from equipoise.lab.report.blocks import Block, Cell, Number, table
from equipoise.lab.stats import Estimate

NAME: Final = "benefit"
TITLE: Final = "Benefit by accuracy of labels"
PLAN: Final = Plan(defences=("none", "quota"), together=True)
NAMED: Final = re.compile(r"^degraded:([0-9.]+)")


def named_accuracy(labels: str) -> float | None:
    """1 for `oracle`, x for `degraded:x`, None for a detector.

    >>> named_accuracy("degraded:0.8 (seed 20260905)"), named_accuracy("small@1")
    (0.8, None)
    """
    if labels == "oracle":
        return 1.0
    found = NAMED.match(labels)
    return float(found[1]) if found else None


def points(study: Study) -> list[tuple[Series, Planted, float, Answers, Answers]]:
    """Series, corpus, accuracy, the cell without defence and the quota's, by accuracy.

    The cell without defence reads no label: where a series has none, that of another series of
    the same pack, generator and judge stands in.
    """
    found = []
    for series in study.series:
        for corpus in series.largest():
            for letter in ("B", "C"):
                quota = series.find(corpus.name, letter)
                none = _undefended(study, series, corpus.name)
                if quota is None or none is None:
                    continue
                named = named_accuracy(str(series.about["labels"]))
                measured = accuracy([quota])
                at = named if named is not None else (None if measured is None else measured.value)
                if at is not None:
                    found.append((series, corpus, at, none, quota))
    return sorted(found, key=lambda p: (SIDES.index(str(p[1].direction)), p[4].defence, p[2]))


def _undefended(study: Study, series: Series, corpus: str) -> Answers | None:
    alike = ("pack", "pack_checksum", "generator", "template", "embedder", "depth", "judge")
    found = [series.find(corpus, "A")]
    found += [
        other.find(corpus, "A")
        for other in study.series
        if all(other.about[key] == series.about[key] for key in alike)
    ]
    return next((cell for cell in found if cell is not None), None)


def tables(study: Study) -> list[Block]:
    """A row a source of labels: its accuracy and what the quota takes off."""
    rows: list[list[Cell]] = [
        [
            str(corpus.direction),
            str(quota.setting),
            series.generator,
            str(series.about["labels"]).partition("@")[0],
            Number(at),
            accuracy([quota]),
            series.stances.shift(none, quota),
            series.stances.reduction(none, quota),
        ]
        for series, corpus, at, none, quota in points(study)
    ]
    if not rows:
        return []
    head = ("corpus", "setting", "generator", "labels", "accuracy", "right among the chosen",
            "s_A - s", "|s_A| - |s|")  # fmt: skip
    note = (
        f"{NOTE} Accuracy: as named for `oracle` and `degraded`, else the share of right labels "
        "among the chosen documents whose truth is known."
    )
    return [table("Benefit by accuracy of labels", head, rows, note)]


def figure(study: Study) -> str | None:
    """A panel a side: reduction by accuracy. None with fewer than two accuracies."""
    found = points(study)
    if len({at for _, _, at, *_ in found}) < 2:
        return None
    sides = [side for side in SIDES if any(p[1].direction == side for p in found)]

    def draw(panels: Sequence[Any]) -> None:
        for panel, side in zip(panels, sides, strict=True):
            for letter in ("B", "C"):
                here = [p for p in found if p[1].direction == side and p[4].setting == letter]
                values: list[Estimate] = [s.stances.reduction(a, q) for s, _, _, a, q in here]
                at = [p[2] for p in here]
                if here:
                    drawing.curve(panel, at, values, drawing.COLOURS[letter], letter)
            drawing.zero(panel)
            panel.set_title(f"{side} planted", fontsize=10, loc="left")
            panel.set_xlabel("accuracy of labels")
            panel.set_ylabel("|s_A| - |s|")
            drawing.legend(panel)

    return drawing.picture(NAME, len(sides), draw, size=(9, 3.6))
