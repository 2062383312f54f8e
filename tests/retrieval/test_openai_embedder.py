import json
import threading
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from equipoise.errors import InputError
from equipoise.retrieval import Embedder, EmbedderError, OpenAIEmbedder, Retries, load_embedder

KEY = "sk-secret-0123456789"
QUICK = Retries(attempts=3, timeout_s=2.0, backoff_s=0.0)


class Server(ThreadingHTTPServer):
    """A loopback server that answers with `respond(request body)`: status, headers, body."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.respond: Callable[[Any], tuple[int, dict[str, str], Any]] = embeddings

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def answer(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "null")
        self.server.requests.append((self.path, dict(self.headers), body))
        status, headers, value = self.server.respond(body)
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status, headers.pop("Reason", None))
        for name, text in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = answer

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on standard error."""


def embeddings(body: Any) -> tuple[int, dict[str, str], Any]:
    """[length of the text, 1, 0...] for each text, in reversed order, as a server may."""
    size = body.get("dimensions") or 3
    rows = [
        {"index": i, "embedding": [float(len(text)), 1.0, *[0.0] * (size - 2)]}
        for i, text in enumerate(body["input"])
    ]
    return 200, {}, {"data": rows[::-1]}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_vectors_follow_the_texts_not_the_order_of_the_answer(server: Server) -> None:
    embedder: Embedder = OpenAIEmbedder("m", base_url=server.url, api_key=KEY)
    rows = embedder.embed(["a", "four", "seven77"])
    np.testing.assert_allclose(rows[:, 0] / rows[:, 1], [1, 4, 7], rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)
    path, headers, body = server.requests[0]
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {"model": "m", "input": ["a", "four", "seven77"], "encoding_format": "float"}


def test_texts_go_in_batches(server: Server) -> None:
    rows = OpenAIEmbedder("m", base_url=server.url, batch=2).embed(["x" * n for n in range(1, 6)])
    np.testing.assert_allclose(rows[:, 0] / rows[:, 1], [1, 2, 3, 4, 5], rtol=1e-6)
    assert [len(body["input"]) for _, _, body in server.requests] == [2, 2, 1]


def test_no_key_sends_no_header(server: Server) -> None:
    OpenAIEmbedder("m", base_url=server.url).embed(["a"])
    assert "Authorization" not in server.requests[0][1]


def test_the_dimension_is_learned_once_or_asked_for(server: Server) -> None:
    learned = OpenAIEmbedder("m", base_url=server.url)
    assert learned.embed([]).shape == (0, 3)
    assert learned.dimension == learned.dimension == 3
    assert len(server.requests) == 1
    asked = OpenAIEmbedder("m", base_url=server.url, dimensions=5)
    assert asked.dimension == 5
    assert len(server.requests) == 1
    assert asked.embed_question("a").shape == (5,)
    assert server.requests[-1][2]["dimensions"] == 5


def test_lone_surrogates_can_be_sent(server: Server) -> None:
    OpenAIEmbedder("m", base_url=server.url).embed(["a\ud800b"])
    assert server.requests[0][2]["input"] == ["a?b"]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again(server: Server, status: int) -> None:
    def respond(body: Any) -> tuple[int, dict[str, str], Any]:
        return embeddings(body) if len(server.requests) == 3 else (status, {"Retry-After": "0"}, {})

    server.respond = respond
    assert OpenAIEmbedder("m", base_url=server.url, retries=QUICK).embed(["a"]).shape == (1, 3)


def test_attempts_are_bounded(server: Server) -> None:
    server.respond = lambda body: (503, {}, {"error": "busy"})
    with pytest.raises(EmbedderError, match=r"failed after 3 of 3 attempts: HTTP 503.*busy"):
        OpenAIEmbedder("m", base_url=server.url, retries=QUICK).embed(["a"])
    assert len(server.requests) == 3


def test_a_refusal_is_not_tried_again(server: Server) -> None:
    server.respond = lambda body: (404, {}, {"error": "no such model"})
    with pytest.raises(EmbedderError, match=r"after 1 of 3 attempts: HTTP 404.*no such model"):
        OpenAIEmbedder("m", base_url=server.url, retries=QUICK).embed(["a"])


def test_a_server_that_hangs_is_given_up(server: Server) -> None:
    free = threading.Event()

    def respond(body: Any) -> tuple[int, dict[str, str], Any]:
        free.wait(10)
        return 500, {}, {}

    server.respond = respond
    server.handle_error = lambda *args: None  # type: ignore[method-assign]  # the client is gone
    once = Retries(attempts=1, timeout_s=0.2)
    with pytest.raises(EmbedderError, match="timed out"):
        OpenAIEmbedder("m", base_url=server.url, retries=once).embed(["a"])
    free.set()


def test_a_server_that_is_not_there_is_an_embedder_error(server: Server) -> None:
    url = server.url
    server.shutdown()
    server.server_close()
    with pytest.raises(EmbedderError, match=r"failed after 3 of 3 attempts.*refused"):
        OpenAIEmbedder("m", base_url=url, retries=QUICK).embed(["a"])


@pytest.mark.parametrize("status", [200, 401])
def test_a_key_that_the_server_echoes_is_not_in_the_message(server: Server, status: int) -> None:
    echo = {"error": f"bad key {KEY}", "data": [{"index": KEY}]}
    server.respond = lambda body: (status, {"Reason": f"no {KEY}"}, echo)
    embedder = OpenAIEmbedder("m", base_url=server.url, api_key=KEY, retries=QUICK)
    with pytest.raises(EmbedderError) as caught:
        embedder.embed(["a"])
    shown = "".join(traceback.format_exception(caught.value)) + repr(embedder)
    assert KEY not in shown
    if status == 401:
        assert "bad key ***" in shown


def test_a_redirect_does_not_carry_the_key_away(server: Server) -> None:
    with Server() as other:
        thread = threading.Thread(target=other.serve_forever, args=(0.01,))
        thread.start()
        other.respond = lambda body: (200, {}, {"data": []})
        server.respond = lambda body: (302, {"Location": f"{other.url}/elsewhere"}, {})
        with pytest.raises(EmbedderError):
            OpenAIEmbedder("m", base_url=server.url, api_key=KEY, retries=QUICK).embed(["a"])
        other.shutdown()
        thread.join()
    assert [path for path, _, _ in other.requests] == ["/v1/elsewhere"]
    assert all(KEY not in str(headers) for _, headers, _ in other.requests)


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>",
        {"nothing": 1},
        {"data": []},
        {"data": [{"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": "text"}]},
        {"data": [{"index": 0, "embedding": [1.0]}] * 2},
        {"data": [{"index": 0, "embedding": [0.0, 0.0]}]},
        {"data": [{"index": 0, "embedding": [float("nan"), 1.0]}]},
        [],
    ],
)
def test_an_answer_out_of_form_is_an_embedder_error(server: Server, answer: Any) -> None:
    server.respond = lambda body: (200, {}, answer)
    with pytest.raises(EmbedderError, match=r"must (answer|give)"):
        OpenAIEmbedder("m", base_url=server.url, retries=QUICK).embed(["a"])


def test_a_dimension_that_changes_is_an_embedder_error(server: Server) -> None:
    embedder = OpenAIEmbedder("m", base_url=server.url, dimensions=4)
    server.respond = lambda body: (200, {}, {"data": [{"index": 0, "embedding": [1.0, 2.0]}]})
    with pytest.raises(EmbedderError, match=r"shape \(n, 4\), got \(1, 2\)"):
        embedder.embed(["a"])


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "localhost:80", "http://", "https://me:hunter2@host/v1"]
)
def test_an_address_that_is_not_plain_http_is_an_input_error(url: str) -> None:
    with pytest.raises(InputError, match="base_url must be like") as caught:
        OpenAIEmbedder("m", base_url=url)
    assert "hunter2" not in str(caught.value)


def test_a_key_that_cannot_stand_in_a_header_is_not_quoted() -> None:
    with pytest.raises(InputError, match="printable ASCII") as caught:
        OpenAIEmbedder("m", base_url="http://localhost/v1", api_key=f"{KEY}\nX-Other: 1")
    assert KEY not in str(caught.value)


def test_the_vendor_needs_a_key() -> None:
    with pytest.raises(InputError, match="set OPENAI_API_KEY"):
        load_embedder("openai:text-embedding-3-small", environment={})


def test_numbers_out_of_range_are_input_errors() -> None:
    for embedder in (
        lambda: OpenAIEmbedder("m", base_url="http://h/v1", batch=0),
        lambda: OpenAIEmbedder("m", base_url="http://h/v1", dimensions=0),
        lambda: OpenAIEmbedder("m", base_url="http://h/v1", retries=Retries(attempts=0)),
    ):
        with pytest.raises(InputError, match="must be >= 1"):
            embedder()


def test_a_spec_reads_address_and_key_from_the_environment(server: Server) -> None:
    environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY}
    embedder = load_embedder("openai:@cf/baai/bge:x?dimensions=4", environment=environment)
    assert embedder.name == "openai:@cf/baai/bge:x?dimensions=4"
    assert embedder.embed(["a"]).shape == (1, 4)
    assert server.requests[0][1]["Authorization"] == f"Bearer {KEY}"
    assert server.requests[0][2]["model"] == "@cf/baai/bge:x"


@pytest.mark.parametrize("spec", ["", "maxilm", "openai:", "onnx:", "sentence-transformers", "x:y"])
def test_an_unknown_spec_is_an_input_error(spec: str) -> None:
    with pytest.raises(InputError, match="an embedder must be 'minilm'"):
        load_embedder(spec)
