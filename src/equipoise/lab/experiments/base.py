"""What an experiment is: a plan, tables, perhaps a figure; and what of its plan is not there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from equipoise.lab.answers.store import SETTINGS
from equipoise.lab.experiments.study import Planted, Series, Study
from equipoise.lab.report.blocks import Block, Number
from equipoise.lab.stance_stats import missing_answers

SIDES: Final = ("pro", "con")
NOTE: Final = "Score [95% interval] n."


@dataclass(frozen=True, slots=True)
class Plan:
    """The cells that an experiment asks for: what other code has to run.

    `attacks` and `directions` name the poisoned corpora, `sizes` the documents planted a topic as
    in the paper (one size is enough where it is empty: the largest there is counts), `clean`
    whether the corpus before the attack is needed too. `generators` is how many are compared at
    least, `files` what must lie beside the answers; `together` says that one figure shows all
    series, and not each its own.
    """

    defences: tuple[str, ...] = ("none", "quota_prompt")
    attacks: tuple[str, ...] = ("stance",)
    directions: tuple[str, ...] = SIDES
    sizes: tuple[int, ...] = ()
    clean: bool = False
    generators: int = 1
    files: tuple[str, ...] = ()
    together: bool = False


class Experiment(Protocol):
    """One file of this folder: constants and two functions."""

    NAME: str
    TITLE: str
    PLAN: Plan

    def tables(self, study: Study) -> Sequence[Block]:
        """Tables and remarks; empty where no cell is there."""
        ...

    def figure(self, study: Study) -> str | None:
        """An SVG, or None where the experiment has none or its cells are not there."""
        ...


def missing(plan: Plan, study: Study) -> tuple[str, ...]:
    """What the plan asks for and the study lacks, each as one plain sentence."""
    told: list[str] = []
    for series in study.series:
        name = series_title(series, study)
        told += [f"{name}: {what}" if name else what for what in _lacking(plan, series)]
    if len({series.generator for series in study.series}) < plan.generators:
        told.append(f"not run: fewer than {plan.generators} generators")
    told += [f"not on file: {name}" for name in plan.files if name not in study.files]
    return tuple(dict.fromkeys(told))


def _lacking(plan: Plan, series: Series) -> list[str]:
    told: list[str] = []
    wanted: list[Planted] = list(series.corpora(None)) if plan.clean else []
    if plan.clean and not wanted:
        told.append("not run: the clean corpus")
    for attack in plan.attacks:
        there = series.corpora(attack)
        for side in plan.directions:
            found = [corpus for corpus in there if corpus.direction == side]
            if not found:
                told.append(f"not run: a {side} corpus of the {attack} attack")
            elif len(found) < len(plan.sizes):
                shares = ", ".join(f"{corpus.share:.1%}" for corpus in found)
                told.append(f"not run: {side} shares other than {shares} (the plan has "
                            f"{len(plan.sizes)} sizes)")  # fmt: skip
            wanted += found if plan.sizes else found[-1:]
    for corpus in wanted:
        lacking = [name for name in plan.defences if series.find(corpus.name, name) is None]
        if lacking:
            told.append(f"not run on {corpus.title}: {', '.join(map(setting, lacking))}")
        for name in plan.defences:
            cell = series.find(corpus.name, name)
            left = missing_answers(series.stances, cell) if cell is not None else 0
            if left:
                told.append(f"not answered or not judged yet on {corpus.title}, {setting(name)}: "
                            f"{left} of {len(series.stances.questions)}")  # fmt: skip
    return told


def setting(defence: str) -> str:
    """`A: none` for the paper's four settings, else the name."""
    letter = SETTINGS.get(defence)
    return defence if letter is None else f"{letter}: {defence}"


def series_title(series: Series, study: Study) -> str:
    """What tells a series from the others of the study; "" where it is alone.

    The generator, and what differs between the series of one generator.
    """
    if len(study.series) == 1:
        return ""
    told = [series.generator]
    for key in ("pack", "generator_settings", "template", "labels", "embedder", "depth", "judge"):
        alike = [other for other in study.series if other.generator == series.generator]
        if len({str(other.about[key]) for other in alike}) > 1:
            told.append(f"{key} {str(series.about[key]).partition('@')[0]}")
    return ", ".join(told)


def titled(text: str, series: Series, study: Study) -> str:
    """A table's title, with the series where there are several."""
    name = series_title(series, study)
    return f"{text} ({name})" if name else text


def probability(p: float | None) -> Number | None:
    """A p-value as the paper prints it."""
    return None if p is None else Number(p, ".5f")
