"""The axes that answers are scored on: one a topic, from the pack's own documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from equipoise.errors import InputError
from equipoise.lab.pack import Document, Origin, Pack
from equipoise.lab.vectors import VectorCache
from equipoise.polarization.axis import PolarizationAxis
from equipoise.types import Stance

Kind = Literal["component", "means"]


@dataclass(frozen=True, slots=True, eq=False)
class TopicAxis:
    """A topic's axis, and what is known about it.

    `axis` is None where none could be fitted, and `why` says so. `neutral` holds the vectors of
    the topic's neutral documents, (r, d): the reference of a bias. `why` is short: published files
    hold no long texts.
    """

    axis: PolarizationAxis | None
    neutral: Any
    anchors: int
    why: str = ""

    @property
    def signed(self) -> bool:
        """True where the positive end is known to be the pro end."""
        return self.axis is not None and self.axis.sign_fixed

    def about(self) -> dict[str, Any]:
        """Plain values for the file."""
        explained = None if self.axis is None else round(self.axis.explained[0], 6)
        return {
            "anchors": self.anchors,
            "neutral": len(self.neutral),
            "explained": explained,
            "signed": self.signed,
            "why": self.why,
        }


def fit_axes(pack: Pack, vectors: VectorCache, *, kind: Kind = "component") -> dict[str, TopicAxis]:
    """Topic -> its axis, fitted on its genuine and neutral documents.

    Unlike the axes that an attack aims along, one whose sign is not known is kept: the size of a
    shift does not need the sign, a bias does.

    Raises:
        InputError: another kind.
        EmbedderError: a document could not be embedded.

    Source: EBI, polarization axis; which documents are anchors is ours.
    """
    if kind not in ("component", "means"):
        raise InputError(f'the axis must be "component" or "means", got {kind!r}')
    anchors: dict[str, list[Document]] = {topic.id: [] for topic in pack.topics}
    for document in pack.documents:
        if document.origin in (Origin.GENUINE, Origin.NEUTRAL) and document.text.strip():
            anchors[str(document.topic)].append(document)
    return {topic: _axis(found, vectors, kind) for topic, found in anchors.items()}


def _axis(anchors: Sequence[Document], vectors: VectorCache, kind: Kind) -> TopicAxis:
    rows = vectors.texts([document.text for document in anchors])
    marks = [str(document.stance) for document in anchors]
    neutral = rows[[at for at, mark in enumerate(marks) if mark == Stance.NEUTRAL]]
    fit = PolarizationAxis.fit if kind == "component" else PolarizationAxis.fit_means
    try:
        axis = fit(rows, stances=marks)
    except InputError:
        return TopicAxis(None, neutral, len(anchors), "anchors too few, alike, or one-sided")
    why = "" if axis.sign_fixed else "which end is pro is not known"
    return TopicAxis(axis, neutral, len(anchors), why)
