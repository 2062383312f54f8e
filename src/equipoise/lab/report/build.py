"""The sections of a report, from a study: every experiment, the settings, and what it can show."""

from collections.abc import Sequence
from typing import Any, Final

from equipoise.lab.experiments import EXPERIMENTS, Experiment, missing
from equipoise.lab.experiments.base import series_title
from equipoise.lab.experiments.drawing import named
from equipoise.lab.experiments.study import Study
from equipoise.lab.report.blocks import Block, Picture, Points, Section, Text, table
from equipoise.lab.report.limits import limits

SHOWN: Final = (
    "format",
    "pack",
    "pack_checksum",
    "corpus",
    "planted",
    "planted_checksum",
    "attack",
    "defence",
    "generator",
    "generator_settings",
    "template",
    "labels",
    "embedder",
    "depth",
    "code",
)


def sections(study: Study) -> tuple[Section, ...]:
    """What it can show, a section an experiment, settings and checksums."""
    return (
        Section("limits", "What this can and cannot show", limits(study)),
        *(section(one, study) for one in EXPERIMENTS.values()),
        Section("settings", "Settings, versions, checksums", _settings(study)),
    )


def section(experiment: Experiment, study: Study) -> Section:
    """Tables, the figure, and what was not run; that is said and not left out."""
    blocks: list[Block] = list(experiment.tables(study))
    blocks += _pictures(experiment, study)
    if not blocks:
        blocks.append(Text("Not run: there are no results to show here."))
    left = missing(experiment.PLAN, study)
    if left:
        blocks.append(Text("Of the plan of this experiment:"))
        blocks.append(Points(left))
    return Section(experiment.NAME, experiment.TITLE, tuple(blocks))


def _pictures(experiment: Experiment, study: Study) -> list[Picture]:
    """A picture a series, or one for all where the plan says so."""
    about = (experiment.figure.__doc__ or experiment.TITLE).splitlines()[0]
    pictures = []
    for number, one in enumerate((study,) if experiment.PLAN.together else study.each()):
        drawn = experiment.figure(one)
        if drawn is not None:
            name = "" if one is study else series_title(one.series[0], study)
            caption = f"{about} {name}." if name else about
            pictures.append(Picture(experiment.NAME, named(drawn, f"s{number}"), caption))
    return pictures


def _settings(study: Study) -> tuple[Block, ...]:
    """Settings that all cells share as a list, the others as a table; then the judges."""
    import equipoise

    cells = study.cells
    names = [name for name in SHOWN if any(name in cell.settings for cell in cells)]
    values = {name: [_said(cell.settings.get(name)) for cell in cells] for name in names}
    alike = [name for name in names if len(set(values[name])) == 1]
    others = [name for name in names if name not in alike]
    rows = list(zip(*(values[name] for name in others), strict=True))
    judges = dict.fromkeys(
        ", ".join(f"{key} `{_said(value)}`" for key, value in cell.judge.items()) or "none"
        for cell in cells
    )
    blocks: list[Block] = [
        Points(tuple(f"{name}: `{values[name][0]}`" for name in alike)),
        Points(tuple(f"judge: {judge}" for judge in judges)),
        Text(f"Drawn by equipoise {equipoise.__version__} from {', '.join(study.folders)}."),
    ]
    if others:
        blocks.insert(1, table("What differs between the cells", others, rows))
    return tuple(blocks)


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_said(inside)}" for key, inside in value.items()) or "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_said, value))
    return str(value)


def summary(study: Study) -> str:
    """One line on what lies behind a report: answers, cells, generators, judges."""
    cells = study.cells
    generators = len({cell.generator for cell in cells})
    judges = len({str(cell.judge.get("judge")) for cell in cells if cell.judge})
    answers = sum(len(cell.answers) for cell in cells)
    return (
        f"{_count(answers, 'answer')} in {_count(len(cells), 'cell')} (a corpus under a defence), "
        f"{_count(generators, 'generator')}, {_count(judges, 'judge')}. Drawn from result files "
        "alone."
    )


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"
