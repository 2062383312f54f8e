"""A Haystack ranker that balances the stance of retrieved documents (extra `haystack`)."""

import dataclasses
from typing import Any

from equipoise._extras import require
from equipoise.balancer import Balancer, OnError
from equipoise.errors import DetectorError, InputError
from equipoise.integrations._documents import MARK, HostDocuments
from equipoise.prompt import DEFAULT
from equipoise.result import Selection
from equipoise.selection.gate import Gate, GateMode
from equipoise.types import Candidate, Quota, StanceDetector

require("haystack", extra="haystack")

from haystack import Document, component, default_from_dict, default_to_dict

__all__ = ["EquipoiseRanker"]


def _read(document: Document, rank: int) -> Candidate:
    text = document.content or ""  # a document without text is blank: it takes no seat
    return Candidate(document.id, text, document.score, document.meta)


def _mark(document: Document, mark: dict[str, Any]) -> Document:
    return dataclasses.replace(document, meta={**document.meta, MARK: mark})


DOCUMENTS: HostDocuments[Document] = HostDocuments(
    Document, _read, _mark, vector=lambda document: document.embedding
)


@component
class EquipoiseRanker:
    """The documents that balance a query, as copies with a stance under `meta["equipoise"]`.

    Set the retriever's `top_k` to 50. Two more outputs: `instruction`, for the prompt (empty where
    the query was not balanced), and `selection`, all as data for `equipoise.Selection.from_dict`.

    Args:
        top_k: how many documents to choose, >= 1; default: the quota's.
        quota: a `Quota`, or a dict of its fields.
        detector, gate, merge_duplicates, on_error, unsure_below: as in `equipoise.Balancer`; for a
            pipeline to be saved, as names and numbers.
        balancer: a Balancer in place of these options.

    Raises:
        InputError: an option is of a wrong kind or out of its range.

    >>> from equipoise.testing import FakeDetector
    >>> fake = FakeDetector({"For it.": "pro", "More for it.": "pro", "Against it.": "con"})
    >>> documents = [Document(content=t) for t in ("For it.", "More for it.", "Against it.")]
    >>> found = EquipoiseRanker(2, detector=fake).run("Should it be done?", documents)["documents"]
    >>> [(document.meta["equipoise"]["stance"], document.content) for document in found]
    [('pro', 'For it.'), ('con', 'Against it.')]
    """

    def __init__(
        self,
        top_k: int | None = None,
        *,
        detector: StanceDetector | str | None = None,
        quota: Quota | dict[str, int] | None = None,
        gate: GateMode | Gate = "auto",
        merge_duplicates: bool = True,
        on_error: OnError = "raise",
        unsure_below: float = 0.0,
        balancer: Balancer | None = None,
    ) -> None:
        options: dict[str, Any] = {
            "detector": detector,
            "gate": gate,
            "merge_duplicates": merge_duplicates,
            "on_error": on_error,
            "unsure_below": unsure_below,
        }
        self.top_k = top_k
        self.balancer = balancer or Balancer(quota=_quota(quota), **options)
        self._saved = {**options, "quota": dataclasses.asdict(self.balancer.quota)}
        plain = (isinstance(value, str | float | int | None) for value in options.values())
        self._plain = balancer is None and all(plain)
        if top_k is not None:
            self.balancer.quota.scaled(top_k)  # says now what a run would say

    def warm_up(self) -> None:
        """Loads the detector, where it is not loaded; a run does so too.

        Raises:
            DetectorError: it cannot be loaded, and `on_error` is "raise".
        """
        try:
            getattr(self.balancer.detector, "warm_up", lambda: None)()
        except DetectorError:
            if self.balancer.on_error == "raise":
                raise  # otherwise each run keeps the order of relevance and says why

    def to_dict(self) -> dict[str, Any]:
        """What a saved pipeline holds of this ranker.

        Raises:
            InputError: an option is an object that cannot be saved.
        """
        if not self._plain:
            got = "an object as its balancer, detector or gate"
            raise InputError(f"a ranker to be saved must have names and numbers only, got {got}")
        return default_to_dict(self, top_k=self.top_k, **self._saved)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "EquipoiseRanker":
        """The ranker that `to_dict` described."""
        return default_from_dict(cls, data)

    @component.output_types(documents=list[Document], instruction=str, selection=dict[str, Any])
    def run(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, Any]:
        """The chosen documents in retrieval order, the instruction and the selection.

        Raises:
            InputError: `query` is blank, `top_k` < 1, or an item is no Document.
            DetectorError: labelling failed, and `on_error` is "raise".
        """
        k = self.top_k if top_k is None else top_k
        return _outputs(*DOCUMENTS.balance(self.balancer, query, documents, k=k))

    @component.output_types(documents=list[Document], instruction=str, selection=dict[str, Any])
    async def run_async(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, Any]:
        """`run`, labelling in a worker thread."""
        k = self.top_k if top_k is None else top_k
        return _outputs(*await DOCUMENTS.abalance(self.balancer, query, documents, k=k))


def _outputs(chosen: list[Document], selection: Selection) -> dict[str, Any]:
    instruction = DEFAULT.instruction if selection.decision.balance else ""
    return {"documents": chosen, "instruction": instruction, "selection": selection.to_dict()}


def _quota(given: Quota | dict[str, int] | None) -> Quota | None:
    if not isinstance(given, dict):
        return given
    if not given.keys() <= set(Quota.__slots__):
        raise InputError(f"quota must have keys of {Quota.__slots__}, got {list(given)}")
    return Quota(**given)
