"""Runs over the same questions, side by side, with the draws of topics that they share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from equipoise.lab.results import Run
from equipoise.lab.stats import Estimate, TopicBootstrap

CLEAN = "clean"
NONE = "none"
"""The defence that others are measured against, where it is there."""


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
