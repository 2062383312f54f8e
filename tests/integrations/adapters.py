"""Each adapter behind one face, for the contract suite. A new one joins by one line in ADAPTERS."""

from collections.abc import Sequence
from typing import Any, Protocol

from haystack import Document as HaystackDocument
from haystack.dataclasses import SparseEmbedding
from langchain.agents.middleware import ToolCallRequest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import ToolMessage
from langchain_core.retrievers import BaseRetriever
from llama_index.core.schema import IndexNode, NodeWithScore, QueryBundle

from equipoise import Balancer
from equipoise.integrations.langchain import EquipoiseCompressor, EquipoiseRetriever
from equipoise.integrations.langchain_agents import EquipoiseMiddleware
from equipoise.integrations.llama_index import EquipoisePostprocessor
from haystack_integrations.components.rankers.equipoise import EquipoiseRanker


class Adapter(Protocol):
    """One adapter: how its host's documents are made and read, and how it is run."""

    def make(self, id: str, text: str, metadata: dict[str, Any]) -> Any: ...
    def read(self, document: Any) -> tuple[str, str, dict[str, Any]]: ...
    def run(self, balancer: Balancer, question: Any, documents: Any, k: int | None) -> Any: ...
    async def arun(
        self, balancer: Balancer, question: Any, documents: Any, k: int | None
    ) -> Any: ...


class CitedDocument(LangChainDocument):
    """A host's document of a class of one's own, with a field of its own."""

    page: int = 7


class LangChain:
    def make(self, id, text, metadata):
        return CitedDocument(id=id, page_content=text, metadata=metadata)

    def read(self, document):
        assert type(document) is CitedDocument
        assert document.page == 7
        return document.id, document.page_content, document.metadata


class Compressor(LangChain):
    def run(self, balancer, question, documents, k):
        compressor = EquipoiseCompressor(balancer=balancer, k=k)
        return compressor.compress_documents(documents, question)

    async def arun(self, balancer, question, documents, k):
        compressor = EquipoiseCompressor(balancer=balancer, k=k)
        return await compressor.acompress_documents(documents, question)


class ListRetriever(BaseRetriever):
    """Gives back its documents, at most k of them where it has a k."""

    documents: Any

    def _get_relevant_documents(self, query, *, run_manager):
        return self.documents


class Retriever(LangChain):
    def run(self, balancer, question, documents, k):
        base = ListRetriever(documents=documents)
        return EquipoiseRetriever(base=base, balancer=balancer).invoke(question, k=k)

    async def arun(self, balancer, question, documents, k):
        base = ListRetriever(documents=documents)
        return await EquipoiseRetriever(base=base, balancer=balancer, k=k).ainvoke(question)


class Middleware(LangChain):
    def run(self, balancer, question, documents, k):
        middleware = EquipoiseMiddleware(["search"], balancer=balancer, k=k)
        return middleware.wrap_tool_call(self._request(question), self._tool(documents)).artifact

    async def arun(self, balancer, question, documents, k):
        async def tool(request):
            return self._tool(documents)(request)

        middleware = EquipoiseMiddleware(["search"], balancer=balancer, k=k)
        return (await middleware.awrap_tool_call(self._request(question), tool)).artifact

    def _request(self, question):
        call = {"name": "search", "args": {"query": question}, "id": "1", "type": "tool_call"}
        return ToolCallRequest(tool_call=call, tool=None, state={}, runtime=None)

    def _tool(self, documents):
        return lambda request: ToolMessage("found", artifact=documents, tool_call_id="1")


class LlamaIndex:
    def make(self, id, text, metadata):
        return NodeWithScore(
            node=IndexNode(id_=id, text=text, metadata=metadata, index_id="parent"), score=0.25
        )

    def read(self, document):
        assert type(document) is NodeWithScore
        assert type(document.node) is IndexNode
        assert (document.score, document.node.index_id) == (0.25, "parent")
        return document.node_id, document.text, document.metadata

    def run(self, balancer, question, documents, k):
        postprocessor = EquipoisePostprocessor(balancer=balancer, top_n=k)
        return postprocessor.postprocess_nodes(documents, self._bundle(question))

    async def arun(self, balancer, question, documents, k):
        postprocessor = EquipoisePostprocessor(balancer=balancer, top_n=k)
        return await postprocessor.apostprocess_nodes(documents, self._bundle(question))

    def _bundle(self, question):
        return None if question is None else QueryBundle(question)


SPARSE = SparseEmbedding(indices=[3], values=[0.5])


class Haystack:
    def make(self, id, text, metadata):
        return HaystackDocument(
            id=id, content=text, meta=metadata, score=0.25, sparse_embedding=SPARSE
        )

    def read(self, document):
        assert type(document) is HaystackDocument
        assert (document.score, document.sparse_embedding) == (0.25, SPARSE)
        return document.id, document.content, document.meta

    def run(self, balancer, question, documents, k):
        return EquipoiseRanker(balancer=balancer).run(question, documents, k)["documents"]

    async def arun(self, balancer, question, documents, k):
        ranker = EquipoiseRanker(k, balancer=balancer)
        return (await ranker.run_async(question, documents))["documents"]


ADAPTERS: dict[str, Adapter] = {
    "langchain-compressor": Compressor(),
    "langchain-retriever": Retriever(),
    "langchain-middleware": Middleware(),
    "llama-index": LlamaIndex(),
    "haystack": Haystack(),
}

QUESTION = "Should bread be free?"
STANCES = ("pro", "pro", "pro", "con", "neutral", "con", "pro", "con")


def texts(count: int = len(STANCES)) -> Sequence[str]:
    """Texts of which each says its place; `STANCES` has what they are, over and over."""
    return [f"Text {place} about bread and bakers." for place in range(1, count + 1)]
