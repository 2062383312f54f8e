"""Tables in Markdown, drawn from result files alone."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from equipoise.lab.cells import cell, table
from equipoise.lab.frame import CLEAN, NONE, Frame
from equipoise.lab.glance import glance
from equipoise.lab.measures import KEYS, measure
from equipoise.lab.results import Run
from equipoise.lab.stats import difference, holm, randomisation_p

THROWN = "What a defence throws away"
PARTS = {
    "What goes to the generator": (
        "planted",
        "a_recall",
        "planted_share",
        "skew",
        "signed_skew",
        "both_sides",
        "exact",
    ),
    "Relevance and composition": (
        "ndcg5",
        "recall5",
        "precision5",
        "chosen_pro",
        "chosen_con",
        "chosen_neutral",
        "chosen_other",
        "chosen",
    ),
    THROWN: (
        "flagged_planted",
        "flagged_pro",
        "flagged_con",
        "flagged_neutral",
        "flagged_other",
    ),
}
TESTED = ("planted", "skew", "ndcg5")
"""Measures that are tested against no defence; Holm covers all tests of one measure."""

NOTE = (
    "Means over questions [95% interval] n. Intervals: percentile bootstrap of whole topic groups "
    "(5,000 samples, seed 20260905). n counts the questions that a number is about: A-Recall needs "
    "planted documents of the topic, skew a chosen document that takes a side, exactly 2+2+1 "
    "candidates that allow it. `-`: about no question."
)


def markdown(groups: Sequence[Sequence[Run]]) -> str:
    """All tables of a result file (`read_results`), as one Markdown document.

    Where the manifest says which topics a detector has seen in training, the topics that it has
    not seen come a second time, apart.
    """
    parts = ["# Defences compared", NOTE]
    for runs in groups:
        parts.append(_said_of_settings(runs))
        parts.append("\n".join(f"- {name}" for name in dict.fromkeys(r.defence for r in runs)))
        frame = Frame.of(runs, lambda row: True)
        parts += _frame(frame, "")
        seen = _seen(runs)
        parts.append(_said_of_training(seen))
        if seen[False] and (seen[True] or seen[None]):
            unseen = Frame.of(runs, lambda row: row["seen"] is False)
            parts += _frame(unseen, ", topics not seen in training")
    return "\n\n".join(part for part in parts if part) + "\n"


def means(groups: Sequence[Sequence[Run]]) -> list[dict[str, Any]]:
    """The same numbers for machines: one object a run, with an `Estimate` as JSON a measure."""
    found = []
    for runs in groups:
        frame = Frame.of(runs, lambda row: True)
        for run in runs:
            names = ("pack", "corpus", "labels", "defence")
            measures = {key: asdict(frame.estimate(run, key)) for key in KEYS}
            found.append({name: run.settings[name] for name in names} | {"measures": measures})
    return found


def _frame(frame: Frame, where: str) -> list[str]:
    parts = [glance(frame, where)]
    for corpus in frame.corpora():
        parts.append(f"### Corpus {corpus}{where}")
        if frame.planted(corpus):
            parts.append(_said_of_attack(frame.on(corpus)[0].settings))
        parts += [_table(frame, corpus, title, keys) for title, keys in PARTS.items()]
        parts.append(_failures(frame, corpus))
    parts.append(_against_none(frame, where))
    parts.append(_shifts(frame, where))
    return parts


def _table(frame: Frame, corpus: str, title: str, keys: Sequence[str]) -> str:
    """One corpus. Left out: columns about no question, and defences that throw nothing away."""
    runs = frame.on(corpus)
    cells = [{key: frame.estimate(run, key) for key in keys} for run in runs]
    pairs = list(zip(runs, cells, strict=True))
    if title == THROWN:
        pairs = [(run, row) for run, row in pairs if any(found.value for found in row.values())]
    told = [key for key in keys if any(row[key].value is not None for _, row in pairs)]
    if not frame.planted(corpus):
        told = [key for key in told if "planted" not in key]
    if not told:
        return ""
    head = ["defence", *(measure(key).title + _arrow(key) for key in told)]
    rows = [[frame.shown(run), *(cell(row[key]) for key in told)] for run, row in pairs]
    return f"**{title}**\n\n" + table(head, rows)


def _arrow(key: str) -> str:
    return {"low": " ↓", "high": " ↑", "": ""}[measure(key).better]


def _against_none(frame: Frame, where: str) -> str:
    """Paired differences to no defence, tested; Holm covers all corpora and defences."""
    rows: list[list[str]] = []
    for key in TESTED:
        found = []
        for corpus in frame.corpora():
            base = frame.find(corpus, NONE)
            if base is None or (key == "planted" and not frame.planted(corpus)):
                continue
            for run in frame.on(corpus):
                columns = (frame.column(run, key), frame.column(base, key))
                p = None if run is base else randomisation_p(*columns, frame.topics)
                if p is not None:
                    effect = frame.bootstrap.estimate(*columns, effect=difference)
                    found.append((corpus, frame.shown(run), effect, p))
        adjusted = holm([p for *_, p in found])
        rows += [
            [measure(key).title, corpus, name, cell(effect, sign=True), f"{p:.4f}", f"{q:.4f}"]
            for (corpus, name, effect, p), q in zip(found, adjusted, strict=True)
        ]
    if not rows:
        return ""
    head = ["measure", "corpus", "defence", f"difference to `{NONE}`", "p", "Holm p"]
    return (
        f"### Against no defence{where}\n\nPaired by question, in the questions valid in both; "
        "whole topic groups swapped (5,000 randomisations, two-sided); Holm over all tests of one "
        "measure in this table.\n\n" + table(head, rows)
    )


def _shifts(frame: Frame, where: str) -> str:
    """What each attack changed behind each defence: attacked less clean, paired by question."""
    keys = ("signed_skew", "skew", "ndcg5")
    rows = []
    for corpus in frame.corpora():
        for run in frame.on(corpus):
            clean = frame.find(CLEAN, frame.shown(run))
            if corpus == CLEAN or clean is None:
                continue
            pairs = [(frame.column(run, key), frame.column(clean, key)) for key in keys]
            shifts = [frame.bootstrap.estimate(*pair, effect=difference) for pair in pairs]
            rows.append([corpus, frame.shown(run), *(cell(shift, sign=True) for shift in shifts)])
    if not rows:
        return ""
    head = ["corpus", "defence", *(f"change of {measure(key).title}" for key in keys)]
    return f"### What the attack changed{where}\n\nAttacked less clean.\n\n" + table(head, rows)


def _failures(frame: Frame, corpus: str) -> str:
    told = []
    for run in frame.on(corpus):
        missing = sum(question not in run.rows for question in frame.questions)
        errors = sum("error" in run.rows.get(question, {}) for question in frame.questions)
        if missing or errors:
            told.append(f"{frame.shown(run)}: {errors} errors, {missing} not run yet")
    return f"Not judged, and left out above: {'; '.join(told)}." if told else ""


def _said_of_settings(runs: Sequence[Run]) -> str:
    said = runs[0].settings
    codes = sorted({str(run.settings["code"]) for run in runs})
    mixed = " Runs of several versions stand together here." if len(codes) > 1 else ""
    return (
        f"## Pack {said['pack']}, labels {said['labels']}\n\nEmbedder {said['embedder']}, depth "
        f"{said['depth']}, code {', '.join(codes)}.{mixed}"
    )


def _seen(runs: Sequence[Run]) -> dict[bool | None, int]:
    rows = {question: row["seen"] for run in runs for question, row in run.rows.items()}
    return {answer: list(rows.values()).count(answer) for answer in (True, False, None)}


def _said_of_training(seen: Mapping[bool | None, int]) -> str:
    if not seen[True] and not seen[False]:
        return "Which topics a detector has seen in training is not said, or there is no detector."
    return (
        f"The detector has seen the topics of {seen[True]} questions in training, not those of "
        f"{seen[False]}; of {seen[None]} it is not known."
    )


def _said_of_attack(settings: Mapping[str, Any]) -> str:
    attack = settings["attack"]
    share = attack.get("mean_share")
    words = [f"{settings['planted']} planted documents"]
    words += [f"{attack['attack']} attack"] if "attack" in attack else []
    words += [f"direction {attack['direction']}"] if "direction" in attack else []
    words += [f"mean share of a topic {share:.1%}"] if share is not None else []
    return ", ".join(words) + "."
