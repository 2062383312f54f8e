"""LangChain: a document compressor and a retriever (extra `langchain`)."""

from collections.abc import Callable, Sequence
from typing import Any

from equipoise._extras import require
from equipoise.balancer import Balancer
from equipoise.integrations._documents import MARK, HostDocuments
from equipoise.result import Selection
from equipoise.types import Candidate

require("langchain_core", extra="langchain")

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
    Callbacks,
)
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever, RetrieverLike
from pydantic import ConfigDict, Field

__all__ = ["DOCUMENTS", "EquipoiseCompressor", "EquipoiseRetriever"]


def _read(document: Document, rank: int) -> Candidate:
    own_id = str(rank) if document.id is None else document.id
    return Candidate(own_id, document.page_content, metadata=document.metadata)


def _mark(document: Document, mark: dict[str, Any]) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, MARK: mark}})


DOCUMENTS: HostDocuments[Document] = HostDocuments(Document, _read, _mark)


class EquipoiseCompressor(BaseDocumentCompressor):
    """The documents that balance a question, from those retrieved for it.

    Each comes out as a copy of its own class, with stance, retrieval rank and reason under
    `metadata["equipoise"]`. Give it many documents (50), best first.

    Fields: `balancer`, default `Balancer()`; `k`, how many to choose (>= 1, default: its quota);
    `on_selection` is called with each `Selection`, which tells what was left out and why.

    >>> from equipoise.testing import FakeDetector
    >>> fake = FakeDetector({"For it.": "pro", "More for it.": "pro", "Against it.": "con"})
    >>> compressor = EquipoiseCompressor(balancer=Balancer(detector=fake), k=2)
    >>> documents = [Document(t) for t in ("For it.", "More for it.", "Against it.")]
    >>> for document in compressor.compress_documents(documents, "Should it be done?"):
    ...     print(document.metadata["equipoise"]["stance"], document.page_content)
    pro For it.
    con Against it.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    balancer: Balancer = Field(default_factory=Balancer)
    k: int | None = None
    on_selection: Callable[[Selection], object] | None = None

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """The chosen documents, in retrieval order.

        Raises:
            InputError: `query` is blank, k < 1, or an item is no Document.
            DetectorError: labelling failed, and the balancer's `on_error` is "raise".
        """
        chosen, selection = DOCUMENTS.balance(self.balancer, query, documents, k=self.k)
        if self.on_selection:
            self.on_selection(selection)
        return chosen

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """`compress_documents`, labelling in a worker thread."""
        chosen, selection = await DOCUMENTS.abalance(self.balancer, query, documents, k=self.k)
        if self.on_selection:
            self.on_selection(selection)
        return chosen


class EquipoiseRetriever(BaseRetriever):
    """A retriever that asks `base` for many documents and returns the balanced few.

    `base` is asked for as many as the balancer's quota looks at (`depth`, 50), whatever number it
    was set to: through its `search_kwargs`, as vector stores have them, or its field `k`. A base
    with neither (a chain, an ensemble) is asked as it is: set it to 50 yourself.

    The other fields are those of `EquipoiseCompressor`; `invoke(query, k=3)` asks for another
    number once.
    """

    base: RetrieverLike
    balancer: Balancer = Field(default_factory=Balancer)
    k: int | None = None
    on_selection: Callable[[Selection], object] | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        base, compressor = self._parts(query, k)
        found = base.invoke(query, config={"callbacks": run_manager.get_child()})
        return list(compressor.compress_documents(found, query))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        base, compressor = self._parts(query, k)
        found = await base.ainvoke(query, config={"callbacks": run_manager.get_child()})
        return list(await compressor.acompress_documents(found, query))

    def _parts(self, query: str, k: int | None) -> tuple[RetrieverLike, EquipoiseCompressor]:
        k = self.k if k is None else k
        self.balancer.balance(query, (), k=k)  # what does not hold is told before `base` is asked
        depth = max(self.balancer.quota.depth, k or 0)
        compressor = EquipoiseCompressor(
            balancer=self.balancer, k=k, on_selection=self.on_selection
        )
        return _deepened(self.base, depth), compressor


def _deepened(base: RetrieverLike, depth: int) -> RetrieverLike:
    """A copy of `base` set to return `depth` documents, or `base` where it has no such setting."""
    fields = type(base).model_fields if isinstance(base, BaseRetriever) else {}
    if "search_kwargs" in fields:
        wanted = {**base.search_kwargs, "k": depth}
        if base.search_type == "mmr":  # it chooses its k from its own first fetch_k (20)
            wanted["fetch_k"] = max(depth, wanted.get("fetch_k", 0))
        return base.model_copy(update={"search_kwargs": wanted})
    return base.model_copy(update={"k": depth}) if "k" in fields else base
