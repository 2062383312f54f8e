"""The axes that an attack aims along: one a topic, from the pack's own documents."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from equipoise.errors import InputError
from equipoise.lab.pack import Origin, Pack
from equipoise.lab.vectors import VectorCache
from equipoise.retrieval.base import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from equipoise.polarization.axis import PolarizationAxis

Kind = Literal["component", "means"]


class Remembering:
    """An embedder that embeds each text once: an attack asks for the same ones several times."""

    def __init__(self, embedder: Embedder) -> None:
        self._cache = VectorCache(embedder)
        self.name = embedder.name
        self.dimension = embedder.dimension

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Array (n, d), float32, rows of length 1."""
        return self._cache.texts(texts)

    def embed_question(self, question: str) -> "NDArray[np.float32]":
        """Array (d,), float32, length 1."""
        vector: NDArray[np.float32] = self._cache.questions([question])[0]
        return vector


def axes(
    pack: Pack, embedder: Embedder, *, kind: Kind = "component"
) -> "Callable[[str], PolarizationAxis | None]":
    """From a topic to its axis, positive toward pro; fitted on its genuine and neutral documents.

    None for a topic without a document on each side, with too few that differ, or whose pro
    documents do not lie to one end: an attacker could not tell which end to aim for. `kind` is
    the first principal component (the paper's) or the line through the two sides' means.

    Raises:
        InputError: another kind.

    Source: EBI, polarization axis.
    """
    if kind not in ("component", "means"):
        raise InputError(f'the axis must be "component" or "means", got {kind!r}')
    from equipoise.polarization.axis import PolarizationAxis

    fit = PolarizationAxis.fit if kind == "component" else PolarizationAxis.fit_means

    def axis_of(topic: str) -> PolarizationAxis | None:
        anchors = [
            document
            for document in pack.documents
            if document.topic == topic
            and document.origin in (Origin.GENUINE, Origin.NEUTRAL)
            and document.text.strip()
        ]
        stances = [str(document.stance) for document in anchors]
        if not {"pro", "con"} <= set(stances):
            return None
        try:
            axis = fit(embedder.embed([d.text for d in anchors]), stances=stances)
        except InputError:  # anchors that are all alike
            return None
        return axis if axis.sign_fixed else None

    return axis_of
