"""The LlamaIndex postprocessor and prompt in a real query engine, with LlamaIndex's own mock LLM."""

from typing import Any

import pytest
from llama_index.core import PromptTemplate
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import ImageNode, MetadataMode, NodeWithScore, TextNode

from equipoise import Balancer, InputError
from equipoise.integrations.llama_index import EquipoisePostprocessor, text_qa_template
from equipoise.prompt import DEFAULT
from equipoise.testing import FakeDetector

from .adapters import QUESTION, STANCES, texts


class Bread(BaseRetriever):
    """The same nodes for each question, best first."""

    def _retrieve(self, query_bundle):
        return [
            NodeWithScore(
                node=TextNode(id_=f"id-{place}", text=text, metadata={"by": f"baker {place}"}),
                score=1 / place,
            )
            for place, text in enumerate(texts(), start=1)
        ]


def postprocessor(**options: Any) -> EquipoisePostprocessor:
    table = dict(zip(texts(), STANCES, strict=True))
    balancer = Balancer(detector=FakeDetector(table, default="neutral"))
    return EquipoisePostprocessor(balancer=balancer, **options)


def engine(**options: Any) -> RetrieverQueryEngine:
    # MockLLM without max_tokens answers with the prompt that it was sent.
    return RetrieverQueryEngine.from_args(
        Bread(),
        llm=MockLLM(),
        node_postprocessors=[postprocessor()],
        text_qa_template=text_qa_template(),
        **options,
    )


def shown(prompt: str) -> list[int]:
    return [place for place, text in enumerate(texts(), start=1) if text in prompt]


def test_a_query_engine_shows_the_model_the_balanced_texts_and_the_instruction():
    response = engine().query(QUESTION)
    prompt = str(response)
    assert shown(prompt) == [1, 2, 4, 5, 6]
    assert DEFAULT.instruction in prompt
    assert f"Question: {QUESTION}" in prompt
    assert [node.node_id for node in response.source_nodes] == [
        f"id-{place}" for place in (1, 2, 4, 5, 6)
    ]
    assert [node.score for node in response.source_nodes] == [1, 1 / 2, 1 / 4, 1 / 5, 1 / 6]


async def test_an_asynchronous_query_gives_the_same():
    assert str(await engine().aquery(QUESTION)) == str(engine().query(QUESTION))


def test_the_prompt_serves_a_tree_summary_too():
    prompt = str(
        engine(response_mode="tree_summarize", summary_template=text_qa_template()).query(QUESTION)
    )
    assert shown(prompt) == [1, 2, 4, 5, 6]
    assert DEFAULT.instruction in prompt


def test_neither_model_nor_embedder_is_shown_the_mark():
    (node, *_) = postprocessor().postprocess_nodes(Bread().retrieve(QUESTION), query_str=QUESTION)
    assert node.metadata["equipoise"]["stance"] == "pro"
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert node.node.get_content(mode) == f"by: baker 1\n\n{texts()[0]}"
    assert "retrieval_rank" not in str(engine().query(QUESTION))


def test_keys_excluded_before_stay_excluded_and_none_is_named_twice():
    node = TextNode(
        text=texts()[0],
        metadata={"by": "a baker"},
        excluded_llm_metadata_keys=["by"],
        excluded_embed_metadata_keys=["equipoise"],
    )
    (chosen,) = postprocessor().postprocess_nodes([NodeWithScore(node=node)], query_str=QUESTION)
    assert chosen.node.excluded_llm_metadata_keys == ["by", "equipoise"]
    assert chosen.node.excluded_embed_metadata_keys == ["equipoise"]
    assert node.excluded_llm_metadata_keys == ["by"]


def test_a_picture_without_text_takes_no_seat():
    nodes = [NodeWithScore(node=ImageNode(image="")), *Bread().retrieve(QUESTION)]
    chosen = postprocessor(top_n=99).postprocess_nodes(nodes, query_str=QUESTION)
    assert {type(node.node) for node in chosen} == {TextNode}


def test_nodes_without_their_question_are_refused():
    with pytest.raises(InputError, match="must come with their question"):
        postprocessor().postprocess_nodes([])


def test_braces_in_the_instruction_and_in_documents_are_text():
    prompt = text_qa_template("Be {fair} to {query_str}.")
    written = prompt.format(context_str="A {query_str} B {instruction}", query_str="Why?")
    assert "Be {fair} to {query_str}." in written
    assert "A {query_str} B {instruction}" in written


def test_the_prompt_is_llama_index_s_own_kind_and_has_a_version():
    prompt = text_qa_template()
    assert type(prompt) is PromptTemplate
    assert prompt.metadata["version"] == "equipoise-llama-index-1"


class KeepsUneven:
    """A filter that flags documents by their embedding."""

    name = "keeps-uneven"

    def flag(self, question, candidates):
        places = range(len(candidates))
        return frozenset(i for i in places if candidates[i].embedding[0] % 2 == 0)


def test_a_filter_reads_the_embeddings():
    nodes = Bread().retrieve(QUESTION)
    for place, node in enumerate(nodes, start=1):
        node.node.embedding = [float(place)]
    balancer = Balancer(detector=FakeDetector({}, default="pro"), filter=KeepsUneven())
    chosen = EquipoisePostprocessor(balancer=balancer).postprocess_nodes(nodes, query_str=QUESTION)
    assert [node.node_id for node in chosen] == ["id-1", "id-3", "id-5", "id-7"]


def test_an_embedding_that_nobody_reads_is_not_read():
    node = TextNode(text=texts()[0], embedding=[float("nan")])
    assert postprocessor().postprocess_nodes([NodeWithScore(node=node)], query_str=QUESTION)


async def test_the_selection_is_told_to_whoever_asks():
    told = []
    telling = postprocessor(on_selection=told.append)
    telling.postprocess_nodes(Bread().retrieve(QUESTION), query_str=QUESTION)
    await telling.apostprocess_nodes(Bread().retrieve(QUESTION), query_str=QUESTION)
    assert [selection.composition for selection in told] == [{"pro": 2, "con": 2, "neutral": 1}] * 2
