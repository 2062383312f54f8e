"""`/v1/balance`, `/v1/answer`, health and metrics over a real socket."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import httpx
import pytest

from equipoise import Balancer, Quota, Selection
from equipoise.data import contested
from equipoise.prompt import DEFAULT
from equipoise.server import create_app
from equipoise.testing import EchoGenerator, FailingDetector, FakeDetector, ListRetriever

Serving = Callable[[Any], AbstractContextManager[str]]

QUESTION = "Should it be legal?"
TABLE = {"p1": "pro", "p2": "pro", "p3": "pro", "c1": "con", "c2": "con", "n1": "neutral"}
POOL = ["p1", "p2", "p3", "n1", "c1", "c2"]
BALANCED = ["p1", "p2", "n1", "c1", "c2"]


def balancer(**options: Any) -> Balancer:
    return Balancer(detector=FakeDetector(TABLE), **options)


@pytest.fixture
def client(serving: Serving) -> Iterator[httpx.Client]:
    app = create_app(
        balancer(),
        retrievers={"news": ListRetriever(POOL)},
        generator=EchoGenerator("Both sides."),
    )
    with serving(app) as url, httpx.Client(base_url=url, timeout=30) as made:
        yield made


def chosen(answer: httpx.Response) -> list[str]:
    answer.raise_for_status()
    selection = Selection.from_dict(answer.json()["selection"])
    return [choice.candidate.text for choice in selection.chosen]


def test_the_answer_is_what_the_library_says(client: httpx.Client) -> None:
    answer = client.post("/v1/balance", json={"question": QUESTION, "documents": POOL})
    told = answer.json()
    by_library = balancer().balance(QUESTION, POOL)
    assert chosen(answer) == BALANCED
    assert told["prompt"] == by_library.prompt()
    assert told["instruction"] == DEFAULT.instruction
    ours = by_library.to_dict()
    volatile = ("timings_ms", "settings")
    for key in ours.keys() - set(volatile):
        assert told["selection"][key] == ours[key], key
    assert "html" not in told


def test_documents_keep_their_ids_and_metadata(client: httpx.Client) -> None:
    document = {
        "id": "d-1",
        "text": "p1",
        "score": 0.5,
        "metadata": {"a": [1, {"b": None}]},
        "x": 1,
    }
    answer = client.post("/v1/balance", json={"question": QUESTION, "documents": [document, "c1"]})
    first, second = answer.json()["selection"]["documents"]
    assert (first["id"], first["score"]) == ("d-1", 0.5)
    assert first["metadata"] == {"a": [1, {"b": None}], "x": 1}
    assert second["id"] == "2"


def test_an_index_is_searched_in_place_of_documents(client: httpx.Client) -> None:
    answer = client.post("/v1/balance", json={"question": QUESTION, "index": "news"})
    assert chosen(answer) == BALANCED
    unknown = client.post("/v1/balance", json={"question": QUESTION, "index": "olds"})
    assert unknown.status_code == 404
    assert "no index is named 'olds'; known are: news" in unknown.json()["message"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"k": 2}, ["p1", "c1"]),
        ({"gate": "never"}, POOL[:5]),
        ({"quota": {"pro": 0, "con": 1, "neutral": 1}}, ["n1", "c1"]),
        ({"unsure_below": 0.95}, POOL[:5]),
    ],
)
def test_a_request_may_set_options(
    client: httpx.Client, options: dict[str, Any], expected: list[str]
) -> None:
    body = {"question": QUESTION, "documents": POOL, **options}
    assert chosen(client.post("/v1/balance", json=body)) == expected


def test_copies_are_merged_unless_a_request_says_otherwise(client: httpx.Client) -> None:
    body = {"question": QUESTION, "documents": ["p1", "p1", "p2", "c1", "n1"], "gate": "always"}
    assert chosen(client.post("/v1/balance", json=body)) == ["p1", "p2", "c1", "n1"]
    kept = client.post("/v1/balance", json={**body, "merge_duplicates": False})
    assert chosen(kept) == ["p1", "p1", "p2", "c1", "n1"]


def test_copies_are_merged_for_a_request_where_the_server_keeps_them(serving: Serving) -> None:
    body = {"question": QUESTION, "documents": ["p1", "p1", "c1"], "gate": "always"}
    with serving(create_app(balancer(merge_duplicates=False))) as url:
        assert chosen(httpx.post(f"{url}/v1/balance", json=body)) == ["p1", "p1", "c1"]
        merged = httpx.post(f"{url}/v1/balance", json={**body, "merge_duplicates": True})
    assert chosen(merged) == ["p1", "c1"]


def test_the_picture_and_the_plain_prompt_come_when_asked_for(client: httpx.Client) -> None:
    body = {"question": QUESTION, "documents": POOL, "html": True, "even_handed": False}
    told = client.post("/v1/balance", json=body).json()
    assert told["html"].startswith("<section class=")
    assert told["instruction"] == ""
    assert DEFAULT.instruction not in told["prompt"]


def test_answers_come_side_by_side(client: httpx.Client) -> None:
    body = {"question": QUESTION, "documents": POOL, "settings": ["A", "C"]}
    first, second = client.post("/v1/answer", json=body).json()["answers"]
    assert (first["setting"], second["setting"]) == ("A", "C")
    assert first["selection"]["composition"] == {"pro": 3, "con": 1, "neutral": 1}
    assert second["selection"]["composition"] == {"pro": 2, "con": 2, "neutral": 1}
    assert first["answer"]["text"] == "Both sides."


def test_answers_at_the_same_time_leave_the_count_right(
    client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    body = {"question": QUESTION, "documents": POOL}
    with ThreadPoolExecutor(6) as pool:
        told = list(pool.map(lambda _: client.post("/v1/answer", json=body).status_code, range(12)))
    assert told == [200] * 12
    text = client.get("/metrics").text.splitlines()
    assert "equipoise_requests_running 0.0" in text
    assert "equipoise_requests_waiting 0.0" in text
    assert client.post("/v1/balance", json=body).status_code == 200
    assert [record for record in caplog.records if record.name == "asyncio"] == []


def test_without_a_generator_answers_are_not_configured(serving: Serving) -> None:
    with serving(create_app(balancer())) as url:
        body = {"question": QUESTION, "documents": POOL}
        answer = httpx.post(f"{url}/v1/answer", json=body)
    assert answer.status_code == 501
    assert "--model" in answer.json()["message"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"question": " ", "documents": ["x"]}, "must not be blank"),
        ({"question": "q"}, "either documents or the name of an index"),
        ({"question": "q", "documents": ["x"], "index": "news"}, "either documents or"),
        ({"question": "q", "documents": [1]}, "documents.0"),
        ({"question": "q", "documents": ["x"], "k": 0}, "k: Input should be greater"),
        ({"question": "q", "documents": ["x"], "gates": "auto"}, "gates: Extra inputs"),
        ({"question": "q", "documents": ["x"], "quota": {"pool": 60}}, "1 <= pool <= depth"),
        ({"question": "q", "documents": [{"text": "x", "a": 1, "metadata": {"a": 2}}]}, "both"),
    ],
)
def test_a_body_that_does_not_hold_is_refused_in_words(
    client: httpx.Client, body: dict[str, Any], message: str
) -> None:
    answer = client.post("/v1/balance", json=body)
    assert answer.status_code == 422
    assert message in answer.json()["message"]


@pytest.mark.parametrize("body", [b"{", b"", b"\xff\xfe", b"[" * 100_000, b"nul"])
def test_what_is_no_json_is_refused(client: httpx.Client, body: bytes) -> None:
    answer = client.post("/v1/balance", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert set(answer.json()) >= {"message", "detail", "error", "error_type"}


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_body_of_another_kind_is_told_which_kind_is_wanted(
    client: httpx.Client, kind: str
) -> None:
    answer = client.post("/v1/balance", content=b"{}", headers={"content-type": kind})
    assert answer.status_code == 415
    assert "Content-Type: application/json" in answer.json()["message"]
    packed = {"content-type": "application/json", "content-encoding": "gzip"}
    assert client.post("/v2/rerank", content=b"x", headers=packed).status_code == 415


def test_messages_about_bodies_are_in_words_of_ours(client: httpx.Client) -> None:
    head = {"content-type": "application/json"}
    broken = client.post("/v1/balance", content=b'{"question": oops}', headers=head)
    assert broken.json()["message"] == "the body must be JSON: Expecting value at character 13"
    other = client.post("/v1/balance", json={"question": "q?", "documents": ["a", {"t": 1}]})
    told = "documents.1: must be a string or an object with a string 'text', got an object"
    assert other.json()["message"].startswith(told)


def test_lone_surrogates_and_odd_numbers_go_through(client: httpx.Client) -> None:
    body = rb'{"question":"Is \ud800 it?","documents":["p1",{"text":"c1","score":NaN}],"html":true}'
    answer = client.post("/v1/balance", content=body, headers={"content-type": "application/json"})
    assert chosen(answer) == ["p1", "c1"]
    assert answer.json()["selection"]["unscored"] == [2]


def test_a_detector_that_fails_is_503_and_names_no_text(serving: Serving) -> None:
    app = create_app(Balancer(detector=FailingDetector()))
    with serving(app) as url:
        answer = httpx.post(f"{url}/v1/balance", json={"question": QUESTION, "documents": POOL})
    assert answer.status_code == 503
    assert answer.headers["retry-after"]
    assert answer.json()["message"].startswith("DetectorError")


def test_health_tells_live_from_ready(client: httpx.Client, serving: Serving) -> None:
    assert client.get("/health/live").json() == {"status": "live"}
    assert client.get("/health/ready").status_code == 200
    waiting = create_app(balancer())
    waiting.state.service.warm_up = lambda: None
    with serving(waiting) as url:
        assert httpx.get(f"{url}/health/live").status_code == 200
        assert httpx.get(f"{url}/health/ready").status_code == 503


def test_metrics_count_what_happened(client: httpx.Client) -> None:
    client.post("/v1/balance", json={"question": QUESTION, "documents": ["p1", "p2", "p3"]})
    client.post("/v1/balance", json={"question": " ", "documents": ["p1"]})
    client.get("/nowhere")
    text = client.get("/metrics").text
    for line in [
        'equipoise_requests_total{route="/v1/balance",status="200"} 1.0',
        'equipoise_requests_total{route="/v1/balance",status="422"} 1.0',
        'equipoise_requests_total{route="unmatched",status="404"} 1.0',
        'equipoise_selections_total{verdict="one_sided"} 1.0',
        "equipoise_selections_one_sided_total 1.0",
        "equipoise_labels_total 3.0",
        "equipoise_requests_running 0.0",
        "equipoise_requests_waiting 0.0",
    ]:
        assert line in text.splitlines(), line


def test_the_servers_settings_hold_where_a_request_says_nothing(serving: Serving) -> None:
    app = create_app(balancer(quota=Quota(pro=1, con=1, neutral=0), gate="always"))
    with serving(app) as url:
        answer = httpx.post(f"{url}/v1/balance", json={"question": "Who?", "documents": POOL})
    assert chosen(answer) == ["p1", "c1"]


def test_openapi_describes_every_route(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {"/v1/balance", "/v1/answer", "/health/live", "/health/ready", "/metrics"} <= set(paths)
    assert client.get("/docs").status_code == 404  # its page would load scripts from elsewhere


@pytest.mark.slow
def test_the_bundled_model_balances_the_embedded_corpus(serving: Serving) -> None:
    topic = contested()[0]
    documents = [{"id": d.id, "text": d.text} for d in topic.documents]
    with serving(create_app()) as url:
        body = {"question": topic.question, "documents": documents}
        answer = httpx.post(f"{url}/v1/balance", json=body, timeout=60)
    by_library = Balancer().balance(topic.question, documents)
    assert chosen(answer) == [choice.candidate.text for choice in by_library.chosen]
