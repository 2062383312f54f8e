"""What a study can and cannot show, worked out from the runs themselves."""

import re
import statistics
from collections.abc import Iterable
from typing import Any, Final

from equipoise.lab.answers.store import Judged
from equipoise.lab.experiments import EXPERIMENTS, missing, paper
from equipoise.lab.experiments.check import read_check
from equipoise.lab.experiments.robustness import accuracy
from equipoise.lab.experiments.study import Study
from equipoise.lab.report.blocks import Block, Points, Text
from equipoise.lab.stance_stats import excluded

SIZE: Final = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s?([MB])(?![A-Za-z])", re.IGNORECASE)
"""A model's size within its name: 135M, 1.7B."""
SMALL: Final = 3e9
"""Parameters below which a generator is not like those of the paper. Ours."""
FEW: Final = 10
"""Groups of topics below which a percentile interval is too narrow (`stats.TopicBootstrap`)."""


def size_of(name: str) -> float | None:
    """The parameters of a model as its name tells them; None where it does not.

    >>> size_of("hf/SmolLM2-135M-Instruct"), size_of("x/Llama-4-17B"), size_of("quote")
    (135000000.0, 17000000000.0, None)
    """
    found = SIZE.search(name)
    if found is None:
        return None
    return float(found[1]) * {"m": 1e6, "b": 1e9}[found[2].lower()]


def limits(study: Study) -> tuple[Block, ...]:
    """Sentences, each with the number that it rests on."""
    told = [
        *_generators(study),
        *_judges(study),
        *_topics(study),
        *_intervals(study),
        *_labels(study),
        *_shares(study),
        *_outcomes(study),
    ]
    not_run = [one.TITLE for one in EXPERIMENTS.values() if not one.tables(study)]
    partly = [
        one.TITLE
        for one in EXPERIMENTS.values()
        if one.TITLE not in not_run and missing(one.PLAN, study)
    ]
    if not_run:
        told.append(f"Not run at all: {', '.join(not_run)}.")
    if partly:
        told.append(f"Run in part (each section says what is missing): {', '.join(partly)}.")
    said = "Worked out from the result files, not written by hand."
    return (Text(said), Points(tuple(told)))


def _names(values: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(str(value) for value in values))


def _generators(study: Study) -> list[str]:
    told = []
    for name in _names(series.generator for series in study.series):
        size = size_of(name)
        if name.rpartition("/")[2].startswith("quote"):
            told.append(
                f"`{name}` is no language model: it reads sentences back from the documents and "
                "cannot follow an instruction. It shows what the choice of documents does to a "
                "text that repeats them, and nothing about how a model weighs or words them; "
                "settings with and without the instruction cannot differ by it."
            )
        elif size is None:
            told.append(f"`{name}`: its size is not in its name, and nothing here says it.")
        elif size < SMALL:
            told.append(
                f"`{name}` has {size / 1e6:,.0f} million parameters; the paper's generators are "
                f"much larger ({paper.GENERATOR}, and four others, two of them of 17 and 31 "
                "billion by their names). A model this small repeats its documents more than it "
                "weighs them and follows the instruction badly: that an effect of the instruction "
                "is not found here says little about larger models."
            )
        else:
            told.append(f"`{name}` has {size / 1e9:,.1f} billion parameters by its name.")
    return told


def _judges(study: Study) -> list[str]:
    told = []
    for name in _names(series.about["judge"] for series in study.series):
        if name == "None":
            told.append("Some answers have no judge: they have no stance, and no score here.")
            continue
        told.append(f"The judge is `{name}`; a stance is what this judge says it is.")
    if study.check is None:
        told.append(
            "No check of a judge against people's labels was given: its errors are in no interval."
        )
    else:
        told.append(read_check(study.check).said)
    return told


def _topics(study: Study) -> list[str]:
    packs = {str(s.about["pack"]): s for s in study.series}
    told = []
    for pack, series in packs.items():
        groups = len(set(series.stances.groups))
        few = " Percentile intervals from so few are too narrow." if groups < FEW else ""
        told.append(
            f"Pack `{pack}`: {len(series.stances.questions)} questions in {groups} groups of "
            f"topics (paper: 210 in 42). Intervals resample the groups.{few}"
        )
    return told


def _intervals(study: Study) -> list[str]:
    """Half of a reduction's interval is what the run could have seen at all."""
    halves = []
    for series in study.series:
        for corpus in series.corpora():
            pair = series.pair(corpus.name, "A", "C")
            found = None if pair is None else series.stances.reduction(*pair)
            if found is not None and found.low is not None and found.high is not None:
                halves.append((found.high - found.low) / 2)
    if not halves:
        return []
    return [
        f"The 95% interval of a reduction |s_A| - |s_C| reaches {statistics.median(halves):.3f} to "
        f"each side (median of {len(halves)}; paper about 0.11): a smaller effect would not stand "
        "out."
    ]


def _labels(study: Study) -> list[str]:
    told = []
    for labels in _names(series.about["labels"] for series in study.series):
        cells = [
            cell
            for series in study.series
            if str(series.about["labels"]) == labels
            for cell in series.cells
            if cell.setting in ("B", "C")
        ]
        right = accuracy(cells)
        where = "no chosen document has both a label and a known truth" if right is None else (
            f"{right.value:.1%} of the chosen documents with a known truth are labelled right by it"
        )  # fmt: skip
        told.append(f"Labels are from `{labels.partition('@')[0]}`: {where}.")
    seen = {
        question: row.get("seen")
        for (*_, question), row in study.files.get("choices", {}).items()
    }  # fmt: skip
    count = sum(value is True for value in seen.values())
    unseen = sum(value is False for value in seen.values())
    if count or unseen:
        told.append(
            f"The detector saw the topics of {count} questions in training and not those of "
            f"{unseen}; the paper held every topic out. Where topics were seen, the quota looks "
            "better than it would on new ones."
        )
    else:
        told.append("Which topics the detector saw in training is not on file.")
    return told


def _shares(study: Study) -> list[str]:
    ours = sorted({c.share for s in study.series for c in s.corpora()})
    if not ours:
        return ["No corpus of the paper's attack is here."]
    listed, theirs = (", ".join(f"{s:.1%}" for s in shares) for shares in (ours, paper.SHARES))
    return [f"Mean shares of planted documents: {listed} (paper: {theirs}, of another pack)."]


def _outcomes(study: Study) -> list[str]:
    """The share of asked questions that have no stance, over all cells."""
    left = asked = missing_now = 0
    for series in study.series:
        for counts in map(series.stances.counts, series.cells):
            left += excluded(counts)
            asked += excluded(counts) + counts[Judged.SCORED]
            missing_now += counts[Judged.MISSING]
    told = []
    if asked:
        told.append(
            f"{left} of {asked} answers ({left / asked:.1%}) have no stance (refused, filtered, "
            "empty, unparsed or failed) and are in no score; their counts stand under Counts of "
            "outcomes."
        )
    if missing_now:
        told.append(f"{missing_now} questions of these cells are not answered or judged yet.")
    return told
