"""Cohere's clients, and what LangChain and LlamaIndex build on them, over a real socket."""

import cohere
import pytest

from .world import FIVE, QUESTION, TEN, TEXTS, THREE

pytestmark = [
    pytest.mark.usefixtures("leaves_sockets"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

BALANCED = [(3, THREE), (5, FIVE), (10, TEN)]


@pytest.mark.parametrize("client", [cohere.ClientV2, cohere.Client], ids=["v2", "v1"])
@pytest.mark.parametrize(("k", "balanced"), BALANCED)
def test_the_first_k_of_coheres_clients_are_the_balanced_set_in_its_order(url, client, k, balanced):
    answer = client("key", base_url=url).rerank(
        model="any", query=QUESTION, documents=TEXTS, top_n=k
    )
    assert [result.index for result in answer.results] == balanced


def test_the_client_of_version_2_keeps_what_explains_a_result_and_the_warnings(url):
    answer = cohere.ClientV2("key", base_url=url).rerank(
        model="any", query=QUESTION, documents=TEXTS
    )
    assert [result.index for result in answer.results[:5]] == FIVE
    assert len(answer.results) == len(TEXTS)
    first = answer.results[0]
    assert (first.stance, first.chosen, first.retrieval_rank, first.reason) == (
        "pro",
        True,
        1,
        "quota",
    )
    assert first.probabilities["pro"] == pytest.approx(0.9)
    assert "not relevance" in answer.meta.warnings[0]
    assert "instruction cannot travel" in answer.meta.warnings[1]
    assert answer.meta.billed_units.search_units == 0
    assert answer.model.startswith("equipoise/fake:")


@pytest.mark.parametrize("given", [True, False])
def test_the_client_of_version_1_gets_the_texts_it_asks_for(url, given):
    answer = cohere.Client("key", base_url=url).rerank(
        query=QUESTION, documents=[{"text": text} for text in TEXTS], return_documents=given
    )
    texts = [result.document.text if result.document else None for result in answer.results[:5]]
    assert texts == [TEXTS[index] if given else None for index in FIVE]


async def test_the_async_client_gets_the_same(url):
    async with cohere.AsyncClientV2("key", base_url=url) as client:
        answer = await client.rerank(model="any", query=QUESTION, documents=TEXTS, top_n=5)
    assert [result.index for result in answer.results] == FIVE


def test_a_refusal_reaches_the_client_with_its_reason(url):
    client = cohere.ClientV2("key", base_url=url)
    with pytest.raises(cohere.errors.UnprocessableEntityError, match="top_n"):
        client.rerank(model="any", query=QUESTION, documents=TEXTS, top_n=0)


@pytest.mark.parametrize(("k", "balanced"), BALANCED)
def test_langchains_compressor_keeps_the_balanced_set(url, k, balanced):
    from langchain_cohere import CohereRerank
    from langchain_core.documents import Document

    compressor = CohereRerank(model="any", cohere_api_key="key", base_url=url, top_n=k)
    documents = [Document(text, metadata={"place": place}) for place, text in enumerate(TEXTS)]
    kept = compressor.compress_documents(documents, QUESTION)
    assert [document.metadata["place"] for document in kept] == balanced


@pytest.mark.parametrize(("k", "balanced"), BALANCED)
def test_llama_indexs_postprocessor_keeps_the_balanced_set(url, k, balanced):
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.postprocessor.cohere_rerank import CohereRerank

    reranker = CohereRerank(model="any", api_key="key", base_url=url, top_n=k)
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in TEXTS]
    kept = reranker.postprocess_nodes(nodes, QueryBundle(QUESTION))
    assert [TEXTS.index(node.node.text) for node in kept] == balanced
