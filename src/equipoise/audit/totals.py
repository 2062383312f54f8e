"""Stances by source, language and month over all questions of an audit."""

from collections.abc import Mapping
from dataclasses import dataclass

from equipoise.audit.chance import Mix
from equipoise.audit.records import Audit, mix_of


@dataclass(frozen=True, slots=True)
class Total:
    """The families of one group near any question: a passage near two questions counts twice.

    `questions` is how many questions it is near to; `most_of` how many sides of questions it
    supplies half of or more (of sides with two families or more).
    """

    mix: Mix
    questions: int
    most_of: int


def totals(audit: Audit) -> Mapping[str, Mapping[str, Total]]:
    """For "source", "language" and "month": group -> total, those of most families first."""
    return {name: _totals(audit, name) for name in ("source", "language", "month")}


def _totals(audit: Audit, name: str) -> dict[str, Total]:
    found: dict[str, Total] = {}
    for question in audit.questions:
        everything = question.mix()
        for key, passages in question.by(lambda p: str(getattr(p, name))).items():
            mix = mix_of(passages)
            sides = ((mix.pro, everything.pro), (mix.con, everything.con))
            most = sum(whole >= 2 and 2 * part >= whole for part, whole in sides)
            old = found.get(key, Total(Mix(), 0, 0))
            found[key] = Total(old.mix + mix, old.questions + 1, old.most_of + most)
    order = sorted(found, key=lambda key: (-found[key].mix.total, key))
    return {key: found[key] for key in order}
