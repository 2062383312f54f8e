"""Tables in Markdown, drawn from result files alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from equipoise.lab.measures import KEYS, measure
from equipoise.lab.results import Run
from equipoise.lab.stats import (
    Estimate,
    TopicBootstrap,
    difference,
    holm,
    randomisation_p,
)

CLEAN = "clean"
NONE = "none"
"""The defence that others are measured against, where it is there."""

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


@dataclass(frozen=True, slots=True)
class Frame:
    """Runs over the same questions, in one order, with the draws that all of them share.

    `topics` are the groups of the questions, which are resampled whole.
    """

    runs: tuple[Run, ...]
    questions: tuple[str, ...]
    topics: tuple[str, ...]
    bootstrap: TopicBootstrap

    @classmethod
    def of(cls, runs: Sequence[Run], keep: Callable[[Mapping[str, Any]], bool]) -> "Frame":
        """The questions whose row `keep` holds for."""
        groups = {
            question: str(row["group"])
            for run in runs
            for question, row in run.rows.items()
            if keep(row)
        }
        questions = tuple(sorted(groups))
        topics = tuple(groups[question] for question in questions)
        return cls(tuple(runs), questions, topics, TopicBootstrap(topics))

    def column(self, run: Run, key: str) -> list[float | None]:
        """One value a question; None where there is no row, it failed, or the measure says none."""
        return [
            run.rows.get(question, {}).get("measures", {}).get(key) for question in self.questions
        ]

    def estimate(self, run: Run, key: str) -> Estimate:
        """The mean of a measure."""
        return self.bootstrap.estimate(self.column(run, key))

    def corpora(self) -> tuple[str, ...]:
        """Names of the corpora, clean first."""
        names = dict.fromkeys(run.corpus for run in self.runs)
        return tuple(sorted(names, key=lambda name: name != CLEAN))

    def planted(self, corpus: str) -> int:
        """How many documents were planted in that corpus."""
        return int(self.on(corpus)[0].settings["planted"])

    def on(self, corpus: str) -> tuple[Run, ...]:
        """The runs on a corpus, no defence first."""
        found = [run for run in self.runs if run.corpus == corpus]
        return tuple(sorted(found, key=lambda run: run.label != NONE))

    def find(self, corpus: str, label: str) -> Run | None:
        """The run of that corpus and label, if it is there."""
        found = [r for r in self.runs if r.corpus == corpus and self.shown(r) == label]
        return found[0] if found else None

    def shown(self, run: Run) -> str:
        """The run's label; its whole name where two defences of one corpus share the label."""
        alike = {r.defence for r in self.runs if r.label == run.label}
        return run.label if len(alike) == 1 else run.defence


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
    parts = []
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


def cell(estimate: Estimate, *, sign: bool = False) -> str:
    """`1.74 [1.50, 1.98] 210`: value, interval, n.

    >>> cell(Estimate(0.5, 0.25, 0.75, 12, 3)), cell(Estimate(None, None, None, 0, 0))
    ('0.500 [0.250, 0.750] 12', '-')
    """
    if estimate.value is None:
        return "-"
    form = "+.3f" if sign else ".3f"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:{form}} [one topic] {estimate.n}"
    return f"{estimate.value:{form}} [{estimate.low:{form}}, {estimate.high:{form}}] {estimate.n}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; a bar within a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in lines
    )
