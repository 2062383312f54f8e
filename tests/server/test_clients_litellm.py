"""LiteLLM's rerank in each of its forms, over a real socket."""

import os

import pytest

from .world import FIVE, QUESTION, TEN, TEXTS, THREE

# Read when it is first imported; without it, the import fetches a list of prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

pytestmark = [
    pytest.mark.usefixtures("leaves_sockets"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    # From LiteLLM's own types, when they are first used.
    pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class:UserWarning"),
]

BASES = {
    "cohere": "",
    "hosted_vllm": "",
    "jina_ai": "",
    "huggingface": "",
    "infinity": "",
    "voyage": "/voyage/v1",
}


@pytest.mark.parametrize("prefix", BASES)
@pytest.mark.parametrize(("k", "balanced"), [(3, THREE), (5, FIVE), (10, TEN)])
def test_the_first_k_of_every_prefix_are_the_balanced_set_in_its_order(url, prefix, k, balanced):
    import litellm

    answer = litellm.rerank(
        model=f"{prefix}/any",
        query=QUESTION,
        documents=TEXTS,
        top_n=k,
        # Subtle: Infinity and vLLM share a path, and differ in what a document is. vLLM's form is
        # served; LiteLLM's `infinity/` fails on it unless it asks for no documents.
        return_documents=prefix != "infinity",
        api_base=url + BASES[prefix],
        api_key="key",
    )
    assert [result["index"] for result in answer.results] == balanced
    texts = [result["document"]["text"] for result in answer.results if result.get("document")]
    assert texts == ([] if prefix == "infinity" else [TEXTS[index] for index in balanced])


def test_without_top_n_all_come_back_the_balanced_set_first(url):
    import litellm

    answer = litellm.rerank(
        model="hosted_vllm/any", query=QUESTION, documents=TEXTS, api_base=url, api_key="key"
    )
    assert [result["index"] for result in answer.results[:5]] == FIVE
    assert len(answer.results) == len(TEXTS)
