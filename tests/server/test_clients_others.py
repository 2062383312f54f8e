"""Voyage's client, and replays of what hosts do that cannot be installed here."""

import httpx
import pytest

from equipoise.server.auth import Keys

from .world import FIVE, QUESTION, TEN, TEXTS, THREE, app


@pytest.mark.parametrize(("k", "balanced"), [(3, THREE), (5, FIVE), (10, TEN)])
def test_the_first_k_of_voyages_client_are_the_balanced_set_in_its_order(url, k, balanced):
    import voyageai

    client = voyageai.Client("key", base_url=f"{url}/voyage/v1")
    answer = client.rerank(QUESTION, TEXTS, model="any", top_k=k)
    assert [result.index for result in answer.results] == balanced
    assert [result.document for result in answer.results] == [TEXTS[i] for i in balanced]
    assert answer.total_tokens == 0


def open_webui(url, path, *, top_k, threshold):
    """What Open WebUI keeps: it asks for all, sorts by index, and zips scores with documents."""
    asked = {"model": "m", "query": QUESTION, "documents": TEXTS, "top_n": len(TEXTS)}
    results = httpx.post(url + path, json=asked).raise_for_status().json()["results"]
    scores = [
        result["relevance_score"] for result in sorted(results, key=lambda result: result["index"])
    ]
    pairs = [(place, score) for place, score in enumerate(scores) if score >= threshold]
    best = sorted(pairs, key=lambda pair: pair[1], reverse=True)
    return [place for place, _ in best[:top_k]]


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.5, 0.9])
def test_open_webui_keeps_the_balanced_set_whatever_its_threshold(url, path, threshold):
    assert open_webui(url, path, top_k=5, threshold=threshold) == FIVE


def test_a_threshold_alone_keeps_the_balanced_set(url):
    assert open_webui(url, "/v1/rerank", top_k=len(TEXTS), threshold=0.5) == FIVE


@pytest.mark.parametrize("adverse", [FIVE, [i for i in range(len(TEXTS)) if i not in FIVE]])
def test_a_blend_of_three_tenths_keeps_the_set_together(url, adverse):
    """RAGFlow mixes 0.3 of its own similarity, in [0, 1], with 0.7 of the reranker's score."""
    asked = {"query": QUESTION, "documents": TEXTS, "top_n": len(TEXTS)}
    results = httpx.post(f"{url}/v1/rerank", json=asked).json()["results"]
    blended = {
        result["index"]: 0.3 * (result["index"] in adverse) + 0.7 * result["relevance_score"]
        for result in results
    }
    best = sorted(blended, key=lambda index: -blended[index])[:5]
    assert sorted(best) == FIVE


@pytest.mark.parametrize(("k", "balanced"), [(3, THREE), (5, FIVE), (10, TEN)])
def test_dify_gets_the_balanced_documents_of_an_index(url, k, balanced):
    asked = {
        "knowledge_id": "trees",
        "query": QUESTION,
        "retrieval_setting": {"top_k": k, "score_threshold": 0.5},
    }
    records = httpx.post(f"{url}/retrieval", json=asked).raise_for_status().json()["records"]
    assert [record["content"] for record in records] == [TEXTS[index] for index in balanced]
    assert all(record["score"] > 0.9 for record in records)
    assert all(isinstance(record["metadata"], dict) and record["title"] for record in records)


def test_dify_is_told_its_own_codes(serving):
    asked = {"knowledge_id": "none", "query": QUESTION, "retrieval_setting": {"top_k": 3}}
    with serving(app(keys=Keys(["secret"]))) as url:
        codes = {}
        for header in ("", "secret", "Bearer wrong", "Bearer secret"):
            headers = {"Authorization": header} if header else {}
            answer = httpx.post(f"{url}/retrieval", json=asked, headers=headers)
            codes[header] = answer.status_code, answer.json()["error_code"]
            assert answer.json()["error_msg"]
    assert codes == {
        "": (401, 1001),
        "secret": (401, 1001),
        "Bearer wrong": (401, 1002),
        "Bearer secret": (404, 2001),
    }
