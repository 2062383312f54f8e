"""One picture of a comparison, drawn from result files alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from equipoise._extras import require
from equipoise.errors import InputError, StoreError
from equipoise.lab.frame import Frame
from equipoise.lab.measures import measure
from equipoise.lab.results import Run

PANELS = ("planted", "skew", "ndcg5")
INK, FAINT = "#222222", "#d0d0d0"
# Okabe and Ito's colours, dark ones first; the shape says the same for those who see no colour.
MARKS = (
    ("#000000", "o"),
    ("#0072B2", "s"),
    ("#D55E00", "^"),
    ("#009E73", "D"),
    ("#CC79A7", "v"),
    ("#E69F00", "P"),
    ("#56B4E9", "X"),
)
BAND = 0.7
"""Part of a defence's row that its corpora share, in (0, 1)."""


def draw(runs: Sequence[Run], path: Path) -> None:
    """An SVG of one group of runs (`read_results`): a row a defence, a mark a corpus.

    Panels: planted documents among the five, skew, nDCG@5, each with 95% intervals by topic. The
    background is white, so that it reads on a dark page too; the same results give the same file.

    Raises:
        InputError: there are more corpora than marks (7), or no runs.
        MissingExtraError: matplotlib is not installed.
        StoreError: the file cannot be written.
    """
    if not runs:
        raise InputError("a figure needs at least one run, got none")
    frame = Frame.of(runs, lambda row: True)
    corpora = frame.corpora()
    if len(corpora) > len(MARKS):
        raise InputError(f"a figure has at most {len(MARKS)} corpora, got {len(corpora)}")
    matplotlib = require("matplotlib", extra="lab")
    figure_of = require("matplotlib.figure", extra="lab").Figure
    defences = list(dict.fromkeys(frame.shown(run) for name in corpora for run in frame.on(name)))
    style = {
        "svg.fonttype": "none",  # letters stay letters: they can be searched and read aloud
        "svg.hashsalt": "equipoise",
        "font.family": "sans-serif",
        "font.size": 10,
    }
    with matplotlib.rc_context(style):
        height = 1.3 + max(0.42, 0.16 * len(corpora)) * len(defences)
        figure = figure_of(figsize=(11, height), facecolor="white", layout="constrained")
        panels = figure.subplots(1, len(PANELS), sharey=True)
        for panel, key in zip(panels, PANELS, strict=True):
            _panel(panel, frame, key, defences)
        _name_corpora(figure, corpora)
        said = runs[0].settings
        labels = str(said["labels"]).partition("@")[0]
        figure.supxlabel(
            f"pack {said['pack']}, labels {labels}", fontsize=8, color=INK, x=0.99, ha="right"
        )
        _save(figure, path)


def _panel(panel: Any, frame: Frame, key: str, defences: Sequence[str]) -> None:
    corpora = frame.corpora()
    for number, corpus in enumerate(corpora):
        colour, shape = MARKS[number]
        shift = BAND * ((number + 0.5) / len(corpora) - 0.5)
        for run in frame.on(corpus):
            found = frame.estimate(run, key)
            if found.value is None or (key == "planted" and not run.settings["planted"]):
                continue
            at = defences.index(frame.shown(run)) + shift
            ends = [found.value if end is None else end for end in (found.low, found.high)]
            panel.plot(ends, [at, at], color=colour, linewidth=1.4, clip_on=False)
            panel.plot([found.value], [at], shape, color=colour, markersize=5, clip_on=False)
            panel.annotate(
                f"{found.value:.2f}",
                (max(ends), at),
                xytext=(5, 0),  # points to the right of mark and interval
                textcoords="offset points",
                va="center",
                color=colour,
                fontsize=7,
            )
    better = {"low": "lower is better", "high": "higher is better"}[measure(key).better]
    panel.set_xlabel(f"{measure(key).title} ({better})", color=INK)
    panel.set_xlim(left=0, right=panel.get_xlim()[1] * 1.1)  # room for the last number
    panel.set_yticks(range(len(defences)), defences, color=INK)
    panel.set_ylim(len(defences) - 0.5, -0.5)
    panel.grid(axis="x", color=FAINT, linewidth=0.6)
    panel.set_axisbelow(True)
    for row in range(1, len(defences)):
        panel.axhline(row - 0.5, color=FAINT, linewidth=0.6)
    for edge in ("top", "right", "left"):
        panel.spines[edge].set_visible(False)
    panel.tick_params(axis="y", length=0)


def _name_corpora(figure: Any, corpora: Sequence[str]) -> None:
    """The corpora's names above, each beside its own mark and in its colour."""
    lines = require("matplotlib.lines", extra="lab")
    marks = [
        lines.Line2D([], [], color=colour, marker=shape, linewidth=1.4, markersize=5)
        for colour, shape in MARKS[: len(corpora)]
    ]
    legend = figure.legend(
        marks, corpora, loc="outside upper left", ncols=len(corpora), frameon=False
    )
    for text, (colour, _) in zip(legend.get_texts(), MARKS, strict=False):
        text.set_color(colour)


def _save(figure: Any, path: Path) -> None:
    try:
        # Without a date, so that the same results give the same file.
        figure.savefig(path, format="svg", metadata={"Date": None})
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error
