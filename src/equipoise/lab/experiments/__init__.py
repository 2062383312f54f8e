"""The experiments, one file each: a plan, tables and perhaps a figure, from files alone.

To add one: write its file, with NAME, TITLE, PLAN, `tables` and `figure`, and put it in the list.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, cast

from equipoise.errors import InputError
from equipoise.lab.experiments import (
    ablation,
    benefit,
    boundary,
    clean,
    defences,
    ebi,
    generators,
    human,
    judged,
    latency,
    leave_one_out,
    outcomes,
    properties,
    robustness,
    selection,
    sweep,
)
from equipoise.lab.experiments.base import Experiment, Plan, missing
from equipoise.lab.experiments.study import Study, read_study

ALL: Final = (
    sweep,
    ablation,
    generators,
    selection,
    robustness,
    clean,
    latency,
    properties,
    boundary,
    ebi,
    human,
    defences,
    benefit,
    leave_one_out,
    outcomes,
    judged,
)
"""In the order of the report."""

EXPERIMENTS: Final[Mapping[str, Experiment]] = MappingProxyType(
    {module.NAME: cast(Experiment, module) for module in ALL}
)


def experiment(name: str) -> Experiment:
    """The experiment of that name.

    Raises:
        InputError: there is none; the message lists them.
    """
    if name not in EXPERIMENTS:
        raise InputError(f"an experiment must be one of {', '.join(EXPERIMENTS)}; got {name!r}")
    return EXPERIMENTS[name]


__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "Plan",
    "Study",
    "experiment",
    "missing",
    "read_study",
]
