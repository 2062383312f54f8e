"""The LangChain retriever: the standard suite of `langchain_tests`, and how it asks its base."""

from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import Field

from equipoise import Balancer, Quota
from equipoise.errors import InputError
from equipoise.integrations.langchain import EquipoiseCompressor, EquipoiseRetriever
from equipoise.testing import FakeDetector

from .adapters import QUESTION, texts

STANCES = dict(zip(texts(60), ["pro", "pro", "con", "neutral"] * 15, strict=True))


def balancer(**options: Any) -> Balancer:
    return Balancer(detector=FakeDetector(STANCES), **options)


def store(count: int = 60) -> InMemoryVectorStore:
    made = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    made.add_documents([Document(text, id=f"id-{text}") for text in texts(count)])
    return made


class TestStandardSuite(RetrieversIntegrationTests):
    """Unmodified, as LangChain publishes it."""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return EquipoiseRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"base": store().as_retriever(), "balancer": balancer()}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION


class CountingRetriever(BaseRetriever):
    """Gives its first k documents; `asked` has every k it was set to when asked."""

    k: int = 4
    asked: list[int] = Field(default_factory=list)

    def _get_relevant_documents(self, query, *, run_manager):
        self.asked.append(self.k)
        return [Document(text) for text in texts(60)[: self.k]]


class RecordingStore(InMemoryVectorStore):
    """Keeps the arguments of every search."""

    def similarity_search(self, query, k=4, **kwargs):
        self.searches = [*getattr(self, "searches", []), {"k": k, **kwargs}]
        return super().similarity_search(query, k=k, **kwargs)

    def max_marginal_relevance_search(self, query, k=4, fetch_k=20, **kwargs):
        self.searches = [*getattr(self, "searches", []), {"k": k, "fetch_k": fetch_k}]
        return super().max_marginal_relevance_search(query, k=k, fetch_k=fetch_k, **kwargs)


def recording() -> RecordingStore:
    made = RecordingStore(DeterministicFakeEmbedding(size=16))
    made.add_documents([Document(text) for text in texts(60)])
    return made


def test_a_vector_store_is_asked_for_depth_documents_whatever_it_was_set_to():
    asked = recording()
    base = asked.as_retriever(search_kwargs={"k": 3, "filter": None})
    chosen = EquipoiseRetriever(base=base, balancer=balancer()).invoke(QUESTION)
    assert asked.searches == [{"k": 50, "filter": None}]
    assert len(chosen) == 5
    assert base.search_kwargs == {"k": 3, "filter": None}


@pytest.mark.parametrize(
    ("query", "k", "message"),
    [
        (None, None, "the question must be a str"),
        (" ", None, "not blank"),
        (QUESTION, "3", "k must be"),
        (QUESTION, 0, "k must be an int >= 1"),
    ],
)
async def test_what_does_not_hold_is_told_before_the_base_is_asked(query, k, message):
    asked = recording()
    retriever = EquipoiseRetriever(base=asked.as_retriever(), balancer=balancer())
    with pytest.raises(InputError, match=message):
        retriever.invoke(query, k=k)
    with pytest.raises(InputError, match=message):
        await retriever.ainvoke(query, k=k)
    assert not hasattr(asked, "searches")


def test_a_vector_store_that_diversifies_fetches_as_many_as_it_is_asked_for():
    asked = recording()
    base = asked.as_retriever(search_type="mmr")
    EquipoiseRetriever(base=base, balancer=balancer()).invoke(QUESTION)
    assert asked.searches == [{"k": 50, "fetch_k": 50}]


def test_a_base_with_a_field_k_is_asked_for_depth_documents_and_stays_as_it_is():
    base = CountingRetriever(asked=[])
    quota = Quota(depth=30)
    EquipoiseRetriever(base=base, balancer=balancer(quota=quota)).invoke(QUESTION)
    assert base.asked == [30]
    assert base.k == 4


def test_more_documents_than_depth_are_asked_for_where_k_is_greater():
    base = CountingRetriever(asked=[])
    chosen = EquipoiseRetriever(base=base, balancer=balancer()).invoke(QUESTION, k=55)
    assert base.asked == [55]
    assert len(chosen) == 55


async def test_a_base_without_a_number_is_asked_as_it_is():
    base = RunnableLambda(lambda query: [Document(text) for text in texts(7)])
    retriever = EquipoiseRetriever(base=base, balancer=balancer(), k=99)
    assert len(retriever.invoke(QUESTION)) == 7
    assert len(await retriever.ainvoke(QUESTION)) == 7


async def test_the_call_s_k_goes_before_the_field_s_in_both_forms():
    retriever = EquipoiseRetriever(base=store().as_retriever(), balancer=balancer(), k=4)
    assert len(retriever.invoke(QUESTION)) == 4
    assert len(retriever.invoke(QUESTION, k=2)) == 2
    assert len(await retriever.ainvoke(QUESTION, k=2)) == 2


class Runs(BaseCallbackHandler):
    """The names of the retrievers that ran, each with whether it ran inside another."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, bool]] = []

    def on_retriever_start(self, serialized, query, *, parent_run_id=None, **kwargs):
        self.seen.append((kwargs["name"], parent_run_id is not None))


async def test_the_base_runs_inside_the_retriever_for_whoever_traces_it():
    retriever = EquipoiseRetriever(base=CountingRetriever(asked=[]), balancer=balancer())
    for ask in (retriever.invoke, retriever.ainvoke):
        runs = Runs()
        answer = ask(QUESTION, config={"callbacks": [runs]})
        if ask == retriever.ainvoke:
            await answer
        assert runs.seen == [("EquipoiseRetriever", False), ("CountingRetriever", True)]


async def test_the_selection_is_told_to_whoever_asks():
    told = []
    compressor = EquipoiseCompressor(balancer=balancer(), on_selection=told.append)
    documents = [Document(text) for text in texts(9)]
    compressor.compress_documents(documents, QUESTION)
    await compressor.acompress_documents(documents, QUESTION)
    retriever = EquipoiseRetriever(
        base=CountingRetriever(asked=[]), balancer=balancer(), on_selection=told.append
    )
    retriever.invoke(QUESTION)
    assert [selection.composition["con"] for selection in told] == [2, 2, 2]


def test_a_document_without_id_has_its_rank_as_id_and_comes_out_without_one():
    told = []
    compressor = EquipoiseCompressor(balancer=balancer(), on_selection=told.append)
    chosen = compressor.compress_documents([Document(texts(1)[0])], QUESTION)
    assert [choice.candidate.id for choice in told[0].chosen] == ["1"]
    assert chosen[0].id is None


def test_the_retriever_goes_into_a_chain():
    chain = EquipoiseRetriever(base=store().as_retriever(), balancer=balancer(), k=2) | len
    assert chain.invoke(QUESTION) == 2


def test_a_balancer_of_another_kind_is_refused_when_it_is_given():
    with pytest.raises(ValueError, match="instance of Balancer"):
        EquipoiseCompressor(balancer="default")
