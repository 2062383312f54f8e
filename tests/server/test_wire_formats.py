"""The shape of each reranker wire: what it takes, what it gives, what it refuses."""

import httpx
import pytest
from pydantic import TypeAdapter

from equipoise import Balancer, Candidate, Quota
from equipoise.selection import RandomRule
from equipoise.server import Limits, create_app
from equipoise.server.wire._ranked import NOTES, RerankOut
from equipoise.server.wire.dify import RetrievalOut
from equipoise.server.wire.tei import ScoreOut
from equipoise.server.wire.voyage import VoyageOut
from equipoise.testing import FailingDetector, FakeDetector, ListRetriever

from .world import FIVE, QUESTION, STANCES, TEXTS, THREE, app

# path, the name of the documents, of the number, of the list of results (None: bare), of the score
WIRES = {
    "cohere": ("/v2/rerank", "documents", "top_n", "results", "relevance_score"),
    "jina": ("/v1/rerank", "documents", "top_n", "results", "relevance_score"),
    "voyage": ("/voyage/v1/rerank", "documents", "top_k", "data", "relevance_score"),
    "tei": ("/rerank", "texts", "top_n", None, "score"),
    "vllm": ("/rerank", "documents", "top_n", "results", "relevance_score"),
}
SHAPES = {
    "cohere": RerankOut,
    "jina": RerankOut,
    "voyage": VoyageOut,
    "tei": list[ScoreOut],
    "vllm": RerankOut,
}
every_wire = pytest.mark.parametrize("wire", WIRES)


def ask(url, wire, documents, k=None, **more):
    path, name, number, _, _ = WIRES[wire]
    body = {"query": QUESTION, name: documents, **more}
    return httpx.post(url + path, json=body if k is None else {**body, number: k}, timeout=30)


def results(answer, wire):
    told = answer.raise_for_status().json()
    key = WIRES[wire][3]
    return told if key is None else told[key]


@every_wire
@pytest.mark.parametrize(("k", "first"), [(3, THREE), (5, FIVE)])
def test_fewer_than_there_are_come_back_balanced(url, wire, k, first):
    assert [result["index"] for result in results(ask(url, wire, TEXTS, k), wire)] == first


@every_wire
@pytest.mark.parametrize("k", [None, len(TEXTS), 1_000, 10**18])
def test_all_come_back_where_all_are_asked_for_and_the_servers_number_is_chosen(url, wire, k):
    told = results(ask(url, wire, TEXTS, k), wire)
    rest = [index for index in range(len(TEXTS)) if index not in FIVE]
    assert [result["index"] for result in told] == FIVE + rest
    assert [result["chosen"] for result in told] == [True] * 5 + [False] * 7
    assert [result["reason"] for result in told[:5]] == ["quota"] * 5
    assert [result["stance"] for result in told[:5]] == ["pro", "pro", "con", "neutral", "con"]
    values = [result[WIRES[wire][4]] for result in told]
    assert values == pytest.approx(
        [1 - 0.1 * r / 5 for r in range(5)] + [0.1 * (7 - r) / 7 for r in range(7)]
    )


@every_wire
def test_answers_have_the_shape_that_the_description_promises(url, wire):
    TypeAdapter(SHAPES[wire]).validate_python(ask(url, wire, TEXTS).json())
    path = WIRES[wire][0]
    described = httpx.get(f"{url}/openapi.json").json()["paths"][path]["post"]
    assert described["responses"]["200"]["content"]["application/json"]["schema"]
    assert described["requestBody"]["content"]["application/json"]["schema"]


@every_wire
def test_no_documents_give_no_results(url, wire):
    assert results(ask(url, wire, []), wire) == []
    assert results(ask(url, wire, [], 3), wire) == []


@every_wire
def test_documents_may_be_objects_with_a_text_and_other_fields_are_let_pass(url, wire):
    given = [{"text": text, "id": 7, "url": None} for text in TEXTS[:6]] + TEXTS[6:]
    # "true" as a string is what RAGFlow sends.
    more = {
        "model": 5,
        "return_documents": "true",
        "truncation": True,
        "raw_scores": False,
        "max_tokens_per_doc": 9,
        "x": [1],
    }
    assert [r["index"] for r in results(ask(url, wire, given, 5, **more), wire)] == FIVE


@every_wire
@pytest.mark.parametrize("bad", [7, None, ["a"], {"title": "a"}, {"text": 5}])
def test_a_document_of_another_kind_is_refused_by_its_place(url, wire, bad):
    answer = ask(url, wire, ["a", bad])
    assert answer.status_code == 422
    assert f"{WIRES[wire][1]}.1: must be a string or an object" in answer.json()["message"]


@every_wire
@pytest.mark.parametrize("k", [0, -1, 1.5, "many"])
def test_a_number_below_one_or_of_another_kind_is_refused(url, wire, k):
    answer = ask(url, wire, TEXTS, k)
    assert answer.status_code == 422
    assert WIRES[wire][2] in answer.json()["detail"]


@every_wire
def test_limits_hold_and_are_named(serving, wire):
    limits = Limits(documents=3, document_characters=60, question_characters=40)
    with serving(app(limits=limits)) as url:
        assert ask(url, wire, TEXTS[:3]).status_code == 200
        for documents, more, name in [
            (TEXTS[:4], {}, "(documents)"),
            (["a" * 61], {}, "(document_characters)"),
            (TEXTS[:1], {"query": "a" * 41}, "(question_characters)"),
            (TEXTS[:1], {"query": " "}, "must not be blank"),
        ]:
            answer = ask(url, wire, documents, **more)
            assert answer.status_code == 422
            assert name in answer.json()["message"]


@every_wire
def test_equal_and_blank_texts_keep_an_index_each(url, wire):
    given = ["", TEXTS[0], TEXTS[0], TEXTS[4], " ", TEXTS[0]]
    told = results(ask(url, wire, given), wire)
    assert [result["index"] for result in told] == [1, 3, 2, 5, 0, 4]
    reasons = [result["reason"] for result in told]
    assert reasons[2:] == ["duplicate", "duplicate", "blank", "blank"]


@every_wire
def test_a_failing_model_is_said_to_be_failing(serving, wire):
    with serving(create_app(Balancer(detector=FailingDetector()))) as url:
        answer = ask(url, wire, TEXTS)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


def test_warnings_tell_what_the_scores_are_and_what_came_of_the_question(serving):
    one_side = [text for text, stance in STANCES.items() if stance == "pro"]
    with serving(app()) as url:

        def warnings(query, documents):
            body = {"query": query, "documents": documents}
            return httpx.post(f"{url}/v2/rerank", json=body).json()["meta"]["warnings"]

        assert warnings(QUESTION, TEXTS) == list(NOTES)
        assert "the question asks for a fact" in warnings("When were trees planted?", TEXTS)[2]
        assert warnings(QUESTION, one_side)[2:] == ["one-sided: no con document was found"]
        voyage = ask(url, "voyage", TEXTS).json()
        tei = ask(url, "tei", TEXTS)
    assert voyage["warnings"] == list(NOTES)
    assert tei.headers["x-equipoise-warnings"] == "; ".join(NOTES)
    relevance = Balancer(detector=FailingDetector(), on_error="relevance")
    with serving(create_app(relevance)) as url:
        told = ask(url, "cohere", TEXTS).json()
    assert "the stance model failed" in told["meta"]["warnings"][2]
    assert [result["index"] for result in told["results"]] == list(range(len(TEXTS)))


def test_texts_come_back_as_each_wire_has_them(url):
    def first(wire, **more):
        return results(ask(url, wire, TEXTS, **more), wire)[0]

    assert "document" not in first("cohere")
    assert first("cohere", return_documents=True)["document"] == {"text": TEXTS[0]}
    assert first("jina")["document"] == {"text": TEXTS[0]}
    assert "document" not in first("jina", return_documents=False)
    assert first("vllm")["document"] == {"text": TEXTS[0]}
    assert "document" not in first("voyage")
    assert first("voyage", return_documents=True)["document"] == TEXTS[0]
    assert "text" not in first("tei")
    assert first("tei", return_text=True)["text"] == TEXTS[0]


def test_nothing_is_billed_and_the_id_is_that_of_the_log(url):
    body = {"query": QUESTION, "documents": TEXTS}
    answer = httpx.post(f"{url}/v1/rerank", json=body, headers={"X-Request-Id": "mine-7"})
    told = answer.json()
    assert told["id"] == answer.headers["x-request-id"] == "mine-7"
    assert told["usage"] == {"total_tokens": 0, "prompt_tokens": 0}
    assert told["meta"]["billed_units"] == {"search_units": 0}
    assert 5 <= told["meta"]["labelled"] <= len(TEXTS)


def test_texts_and_documents_together_or_neither_are_refused(url):
    for body in ({}, {"texts": ["a"], "documents": ["a"]}):
        answer = httpx.post(f"{url}/rerank", json={"query": QUESTION, **body})
        assert (answer.status_code, answer.json()["error_type"]) == (422, "validation")


def test_info_says_what_is_served(serving):
    with serving(app(limits=Limits(documents=77, workers=2, queue=5))) as url:
        told = httpx.get(f"{url}/info").json()
    assert told["model_id"].startswith("equipoise/fake:")
    assert "reranker" in told["model_type"]
    assert (told["max_client_batch_size"], told["max_concurrent_requests"]) == (77, 7)


def test_a_rule_with_a_number_of_its_own_keeps_it(serving):
    rule = RandomRule(k=2, seed=1)
    balancer = Balancer(detector=FakeDetector(STANCES), rule=rule)
    index = {"trees": ListRetriever(TEXTS)}
    with serving(create_app(balancer, retrievers=index)) as url:
        told = results(ask(url, "jina", TEXTS, 4), "jina")
        body = {"knowledge_id": "trees", "query": QUESTION, "retrieval_setting": {"top_k": 4}}
        records = httpx.post(f"{url}/retrieval", json=body).json()["records"]
    assert [result["chosen"] for result in told] == [True, True, False, False]
    assert len(records) == 2


def retrieval(url, **more):
    body = {"knowledge_id": "trees", "query": QUESTION, **more}
    return httpx.post(f"{url}/retrieval", json=body, timeout=30)


def test_dify_gets_the_shape_it_wants_from_any_metadata(serving):
    documents = [
        Candidate("a", TEXTS[0], 0.71, {"title": "Oaks", "pages": (1, 2), "equipoise": "old"}),
        Candidate("b", TEXTS[4], float("nan"), {"title": None}),
        Candidate("c", TEXTS[6], None, {}),
    ]
    with serving(app(retrievers={"trees": ListRetriever(documents)})) as url:
        told = retrieval(url).json()
    RetrievalOut.model_validate(told)
    assert [record["title"] for record in told["records"]] == ["Oaks", "b", "c"]
    first = told["records"][0]["metadata"]
    assert first["pages"] == [1, 2]
    assert (first["equipoise"]["stance"], first["equipoise"]["retrieval_score"]) == ("pro", 0.71)
    assert told["records"][1]["metadata"]["equipoise"]["retrieval_score"] is None


@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.0])
def test_difys_threshold_takes_nothing_from_the_balance(url, threshold):
    setting = {"top_k": 5, "score_threshold": threshold}
    records = retrieval(url, retrieval_setting=setting).json()["records"]
    assert [record["content"] for record in records] == [TEXTS[index] for index in FIVE]


def test_dify_is_refused_filters_that_nobody_applies(url):
    condition = {"logical_operator": "and", "conditions": [{"name": "year", "value": "2020"}]}
    answer = retrieval(url, metadata_condition=condition)
    assert answer.status_code == 422
    assert "metadata_condition" in answer.json()["error_msg"]
    assert retrieval(url, metadata_condition={"conditions": []}).status_code == 200
    assert retrieval(url, metadata_condition=None).status_code == 200


def test_an_index_is_asked_for_the_whole_depth(serving):
    class Asked(ListRetriever):
        def retrieve(self, question, k):
            asked.append(k)
            return super().retrieve(question, k)

    asked: list[int] = []
    quota = Quota(pool=20, depth=33)
    balancer = Balancer(detector=FakeDetector(STANCES), quota=quota)
    with serving(create_app(balancer, retrievers={"trees": Asked(TEXTS)})) as url:
        retrieval(url, retrieval_setting={"top_k": 3, "score_threshold": 0})
    assert asked == [33]
