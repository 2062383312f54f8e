"""Order and scores that all reranker wires share: invariants, and a real model once."""

import httpx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from equipoise import Balancer
from equipoise.data import contested
from equipoise.server import create_app
from equipoise.server.wire._ranked import scores
from equipoise.testing import FakeDetector

TABLE = {"for it": "pro", "all for it": "pro", "against it": "con", "it began in 1956": "neutral"}


@given(st.integers(0, 1_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_scores_fall_strictly_and_leave_a_gap_after_the_chosen(sizes):
    chosen, total = sizes
    for kind in (np.float64, np.float32):
        made = np.array(scores(chosen, total), kind)
        assert len(made) == total
        assert np.all(np.diff(made) < 0)
        assert np.all((made > 0) & (made <= 1))
        assert np.all(made[:chosen] > 0.9)
        assert np.all(made[chosen:] <= kind(0.1))


@pytest.mark.parametrize("chosen", [0, 5, 1_000, 99_999, 100_000])
def test_scores_of_very_many_documents_stay_apart(chosen):
    assert np.all(np.diff(np.array(scores(chosen, 100_000), np.float32)) < 0)


@given(st.floats(0, 0.44), st.lists(st.floats(0, 1), min_size=12, max_size=12))
def test_a_blend_of_up_to_44_hundredths_keeps_the_chosen_before_the_rest(part, other):
    made = [part * o + (1 - part) * s for o, s in zip(other, scores(5, 12), strict=True)]
    assert min(made[:5]) > max(made[5:])


@pytest.fixture(scope="module")
def client():
    app = create_app(Balancer(detector=FakeDetector(TABLE, default="neutral")))
    with TestClient(app) as made:
        yield made


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([*TABLE, "", " \n", "\u200b"]), max_size=30),
    st.none() | st.integers(1, 40),
    st.sampled_from(["Should it be legal?", "When did it begin?"]),
)
def test_every_index_comes_once_the_chosen_first_blanks_last(client, texts, top_n, question):
    answer = client.post("/v1/rerank", json={"query": question, "documents": texts, "top_n": top_n})
    results = answer.json()["results"]
    indices = [result["index"] for result in results]
    size = len(texts) if top_n is None else min(top_n, len(texts))
    assert len(indices) == len(set(indices)) == size
    assert set(indices) <= set(range(len(texts)))
    assert [result["document"]["text"] for result in results] == [texts[i] for i in indices]
    flags = [result["chosen"] for result in results]
    assert flags == sorted(flags, reverse=True)
    chosen = [index for index, flag in zip(indices, flags, strict=True) if flag]
    assert chosen == sorted(chosen)
    blank = [not texts[index].strip(" \n\u200b") for index in indices]
    assert blank == sorted(blank)
    values = [result["relevance_score"] for result in results]
    assert values == sorted(set(values), reverse=True)


@pytest.mark.parametrize("k", [None, 5, 3])
def test_the_bundled_model_gives_the_order_of_the_library(serving, k):
    example = contested()[0]
    balancer = Balancer()
    expected = balancer.balance(example.question, example.documents, k=k)
    asked = {
        "query": example.question,
        "documents": [candidate.text for candidate in example.documents],
        "top_n": k,
    }
    with serving(create_app(balancer)) as url:
        answer = httpx.post(f"{url}/v2/rerank", json=asked, timeout=60).raise_for_status().json()
    assert answer["model"] == f"equipoise/{balancer.detector_name}"
    order = [example.documents[result["index"]].id for result in answer["results"]]
    assert order == [candidate.id for candidate in expected.ranking][:k]
    assert [r["stance"] for r in answer["results"] if r["chosen"]] == [
        choice.stance.value for choice in expected.chosen
    ]
