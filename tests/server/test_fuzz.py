"""More than 5,000 made-up requests, from the API's own description and beyond it: never a 500.

schemathesis makes requests that fit the OpenAPI description, and requests that do not; hypothesis
makes bodies that look like an honest one with something odd in it, and bytes that are no JSON.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from equipoise import Balancer
from equipoise.server import Limits, create_app
from equipoise.testing import EchoGenerator, FakeDetector, ListRetriever

pytestmark = [
    pytest.mark.slow,
    # From inside schemathesis, where a description has many branches.
    pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning"),
]

EACH = 240
FIELDS = [
    "question", "query", "documents", "texts", "index", "knowledge_id", "k", "top_n", "top_k",
    "return_documents", "return_text", "model", "gate", "quota", "retrieval_setting", "settings",
    "html", "even_handed", "unsure_below", "metadata_condition", "raw_scores", "truncate",
]  # fmt: skip
BODIES = [
    {"question": "Should it?", "documents": ["a", "b", "c"]},
    {"query": "Should it?", "documents": ["a", {"text": "b"}], "top_n": 1},
    {"query": "Should it?", "texts": ["a", "b"]},
    {
        "query": "Should it?",
        "knowledge_id": "news",
        "retrieval_setting": {"top_k": 2, "score_threshold": 0.5},
    },
]
QUIET = settings(
    max_examples=EACH,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def app() -> Any:
    table = {"a": "pro", "b": "con"}
    return create_app(
        Balancer(detector=FakeDetector(table, default="neutral")),
        retrievers={"news": ListRetriever(["a", "b", "c"])},
        generator=EchoGenerator("Both."),
        limits=Limits(documents=50, document_characters=5_000, body_bytes=200_000),
    )


@pytest.fixture(scope="module")
def url(app: Any) -> Iterator[str]:
    from tests.server.conftest import serve

    with serve(app) as made:
        yield made


@pytest.fixture(scope="module")
def seen() -> Counter[int]:
    return Counter()


def posts(url: str) -> list[str]:
    paths = httpx.get(f"{url}/openapi.json").json()["paths"]
    return sorted(path for path, methods in paths.items() if "post" in methods)


def holds(answer: Any, told: str) -> None:
    assert answer.status_code < 500, (answer.status_code, answer.text, told)
    assert "Traceback" not in answer.text
    json.loads(answer.text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_requests_from_the_description(url: str, seen: Counter[int], mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    session = requests.Session()
    for path in posts(url):

        @seed(7)
        @QUIET
        @given(case=schema[path]["post"].as_strategy(generation_mode=mode))
        def run(case: Any) -> None:
            answer = case.call(base_url=url, session=session)
            seen[answer.status_code] += 1
            holds(answer, case.as_curl_command())

        run()
    session.close()


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


@st.composite
def odd_bodies(draw: st.DrawFn) -> bytes:
    """An honest body with a field or two replaced, and sometimes a byte or two as well."""
    body: dict[str, Any] = dict(draw(st.sampled_from(BODIES)))
    for field in draw(st.lists(st.sampled_from(FIELDS), max_size=2)):
        body[field] = draw(ANYTHING)
    if draw(st.booleans()):
        body["documents"] = draw(st.lists(ANYTHING, max_size=6))
    raw = bytearray(json.dumps(body).encode())
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 3]))):
        raw[draw(st.integers(0, len(raw) - 1))] = draw(st.integers(0, 255))
    return bytes(raw)


def test_honest_bodies_with_something_odd(url: str, seen: Counter[int]) -> None:
    with httpx.Client(base_url=url, timeout=30) as client:
        paths = posts(url)

        @seed(11)
        @settings(QUIET, max_examples=1_500)
        @given(path=st.sampled_from(paths), body=odd_bodies())
        def run(path: str, body: bytes) -> None:
            headers = {"content-type": "application/json"}
            answer = client.post(path, content=body, headers=headers)
            seen[answer.status_code] += 1
            holds(answer, f"{path} {body!r}")

        run()


def test_bytes_that_are_no_request(url: str, seen: Counter[int]) -> None:
    kinds = ["application/json", "text/plain", "multipart/form-data; boundary=x", "a/b", ""]
    with httpx.Client(base_url=url, timeout=30) as client:
        paths = posts(url)

        @seed(13)
        @settings(QUIET, max_examples=500)
        @given(
            path=st.sampled_from(paths), body=st.binary(max_size=300), kind=st.sampled_from(kinds)
        )
        def run(path: str, body: bytes, kind: str) -> None:
            answer = client.post(path, content=body, headers={"content-type": kind})
            seen[answer.status_code] += 1
            holds(answer, f"{path} {kind} {body!r}")

        run()


def test_so_many_were_sent_and_some_of_every_kind_came_back(seen: Counter[int]) -> None:
    """The last of this file: what the others counted."""
    if sum(seen.values()) < 100:
        pytest.skip("the other tests of this file did not run")
    assert sum(seen.values()) >= 5_000, seen
    assert min(seen[status] for status in (200, 400, 404, 422)) >= 20, seen
