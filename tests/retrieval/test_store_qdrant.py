"""What is Qdrant's alone: ids and filters of its own, a folder for one process, a server's errors."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import StoreError, StoreUnavailableError
from equipoise.retrieval import VectorStore, Where, load_store, open_store
from equipoise.types import Candidate

qdrant_client = pytest.importorskip("qdrant_client", reason="extra qdrant")
from equipoise.retrieval import qdrant_store  # noqa: E402
from equipoise.retrieval.qdrant_connection import (  # noqa: E402
    QdrantAddress,
    QdrantConnection,
)
from equipoise.retrieval.qdrant_store import (  # noqa: E402
    QdrantStore,
    _filter,
    _point_id,
    _term,
)

# The client's own word on a key that goes over http, which is what these tests do on loopback.
pytestmark = pytest.mark.filterwarnings("ignore:Api key is used with an insecure:UserWarning")

VALUES = st.one_of(
    st.text(max_size=3),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(2**53 - 2, 2**53 + 2),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, 1e16, float(2**53), 1e300, -2.0]),
)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"qdrant:{tmp_path}/qd"


@pytest.fixture
def store(url: str, letters: Any) -> Iterator[VectorStore]:
    made = open_store(url, embedder=letters, create=True)
    yield made
    made.close()


@given(ids=st.sets(st.text(min_size=1, max_size=5), min_size=2, max_size=30))
def test_different_ids_are_different_points(ids: set[str]) -> None:
    assert len({_point_id(key) for key in ids}) == len(ids)


def test_an_id_is_the_same_point_on_every_machine() -> None:
    assert _point_id("doc-1#0") == "db1765f8-ab8a-562f-a62e-89d077629cec"


@given(held=VALUES, value=VALUES)
def test_a_term_is_equal_where_a_filter_takes_the_values_as_equal(held: Any, value: Any) -> None:
    same = Where.of({"key": value}).matches({"key": held})
    assert (_term("key", held) == _term("key", value)) is same
    assert _term("key", held) != _term("other", held)


def test_ids_that_look_alike_stay_apart(store: VectorStore, letters: Any) -> None:
    names = ["é", "e\u0301", "a", "A", " a", "a ", _point_id("a"), "1", "01"]
    store.upsert([Candidate(name, f"text {name}") for name in names], letters.embed(names))
    assert [passage.id for passage in store.scan()] == sorted(names)
    for name in names:
        assert store.get([name]) == (Candidate(name, f"text {name}"),)


def test_a_filter_is_done_by_the_engine_alone(url: str, letters: Any) -> None:
    store = QdrantStore.open(url, embedder=letters, create=True)
    rows = [Candidate(f"p{i}", "x", metadata={"n": i % 10, "s": ["3"]}) for i in range(100)]
    store.upsert(rows, letters.embed([row.text for row in rows]))
    where = Where.of({"n": [3.0, "4"]})
    counted = store._run("count", count_filter=_filter(where), exact=True).count
    assert counted == len(list(store.scan(where=where))) == 10
    store.close()


def test_a_folder_that_is_open_elsewhere_is_told_and_free_again_after_closing(
    url: str, store: VectorStore, letters: Any
) -> None:
    store.upsert([Candidate("a", "a")], letters.embed(["a"]))
    # Kept by a module, as a server keeps it: Python clears those last.
    code = f"from equipoise import retrieval as r; r.s = r.open_store({url!r}); print(len(r.s))"
    command = [sys.executable, "-c", code]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    refused = subprocess.run(command, capture_output=True, text=True, env=env)
    assert "must be open in one place at a time" in refused.stderr
    assert refused.stdout == ""
    store.close()
    again = subprocess.run(command, capture_output=True, text=True, env=env)
    assert (again.stdout, again.stderr) == ("1\n", "")  # it ends without closing, and in peace


def test_a_store_works_on_after_it_was_closed(store: VectorStore, letters: Any) -> None:
    store.upsert([Candidate("a", "a")], letters.embed(["a"]))
    store.close()
    assert len(store) == 1


def test_a_folder_that_is_not_qdrants_is_refused_and_left_alone(
    tmp_path: Path, letters: Any
) -> None:
    (tmp_path / "note.txt").write_text("mine")
    for create in (False, True):
        with pytest.raises(StoreError, match="must be a folder of Qdrant's"):
            open_store(f"qdrant:{tmp_path}", embedder=letters, create=create)
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


def test_looking_for_a_store_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="equipoise store load"):
        open_store(f"qdrant:{tmp_path}/none")
    assert not list(tmp_path.iterdir())


def test_a_collection_that_equipoise_did_not_make_is_refused(tmp_path: Path, letters: Any) -> None:
    models = qdrant_client.models
    client = qdrant_client.QdrantClient(path=str(tmp_path / "qd"))
    client.create_collection(
        "equipoise", vectors_config=models.VectorParams(size=26, distance=models.Distance.DOT)
    )
    client.close()
    for create in (False, True):
        with pytest.raises(StoreError, match="a collection that equipoise made"):
            open_store(f"qdrant:{tmp_path}/qd", embedder=letters, create=create)


def test_a_damaged_folder_is_a_store_error(tmp_path: Path, url: str, store: VectorStore) -> None:
    store.close()
    (tmp_path / "qd" / "meta.json").write_text("{")
    with pytest.raises(StoreError, match="could not do what it was asked"):
        open_store(url)


def test_many_passages_go_in_and_come_out_of_one_call(store: VectorStore) -> None:
    vectors = np.random.default_rng(0).normal(size=(150, 26)).astype(np.float32)
    rows = [Candidate(f"p{i:03}", f"t{i}") for i in range(150)]
    store.upsert(rows, vectors)
    assert store.get([row.id for row in rows]) == tuple(rows)
    kept = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert np.array_equal(np.float32([c.embedding for c in store.scan(embeddings=True)]), kept)


def test_pages_of_ids_and_searches_past_the_limit_give_the_same(
    store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = np.random.default_rng(1).normal(size=(60, 26)).astype(np.float32)
    store.upsert([Candidate(f"p{i}", f"t{i}") for i in range(60)], vectors)
    scanned, found = list(store.scan()), store.search(vectors[0], 50)
    monkeypatch.setattr(qdrant_store, "_PAGE", 7)
    monkeypatch.setattr(qdrant_store, "_MOST_HITS", 10)
    assert list(store.scan(8)) == scanned
    assert store.search(vectors[0], 50) == found


def test_a_second_load_of_a_folder_embeds_nothing(store: VectorStore, letters: Any) -> None:
    rows = [Candidate(f"d{i}", f"text {i}", metadata={"i": i, "f": 1.0}) for i in range(9)]
    load_store(store, rows, letters, batch=4)
    summary = load_store(store, rows, letters, batch=4)
    assert (summary.stored, summary.kept, summary.total_passages) == (0, 9, 9)


# The rest speaks to a server over TCP, or to none. It is not Qdrant's: only statuses are tested.


class Answering(ThreadingHTTPServer):
    """Gives every request one status and body, after `wait_s`, and keeps the keys that came."""

    def __init__(self, status: int, body: bytes, free: threading.Event | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.body, self.free = status, body, free
        self.keys: list[str | None] = []

    @property
    def url(self) -> str:
        return f"127.0.0.1:{self.server_port}/c"


class _Handler(BaseHTTPRequestHandler):
    server: Answering

    def do_GET(self) -> None:
        self.server.keys.append(self.headers["api-key"])
        if self.server.free is not None:
            self.server.free.wait(20)
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.body)))
        if self.server.status == 429:
            self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *arguments: object) -> None:
        """Says nothing."""


@pytest.fixture
def answering() -> Iterator[Callable[..., Answering]]:
    servers: list[Answering] = []

    def started(status: int, body: bytes = b"{}", free: threading.Event | None = None) -> Answering:
        servers.append(Answering(status, body, free))
        threading.Thread(target=servers[-1].serve_forever, args=(0.05,)).start()
        return servers[-1]

    yield started
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("status", [500, 502, 503, 408, 429])
def test_a_server_that_cannot_serve_now_is_away(
    answering: Callable[..., Answering], status: int
) -> None:
    with pytest.raises(StoreUnavailableError, match="must be reachable"):
        open_store(f"qdrant+http://{answering(status).url}")


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (401, b"{}", "QDRANT_API_KEY"),
        (403, b"{}", "QDRANT_API_KEY"),
        (404, b"{}", "404"),
        (400, b"x" * 100_000, "400"),
        (200, b"<html>", "could not do"),
        (200, b'{"result": 3}', "could not do"),
    ],
)
def test_a_server_that_refuses_or_is_no_qdrant_is_an_error_that_waiting_does_not_mend(
    answering: Callable[..., Answering], status: int, body: bytes, message: str
) -> None:
    with pytest.raises(StoreError, match=message) as told:
        open_store(f"qdrant+http://{answering(status, body).url}")
    assert not isinstance(told.value, StoreUnavailableError)
    assert len(str(told.value)) < 600


def test_a_server_that_is_not_there_is_away_and_the_message_holds_no_key(letters: Any) -> None:
    with pytest.raises(StoreUnavailableError, match="must be reachable") as told:
        open_store("qdrant+http://secret@127.0.0.1:1/c", embedder=letters, create=True)
    assert "qdrant+http://127.0.0.1:1/c" in str(told.value)
    assert "secret" not in str(told.value)


def test_a_server_that_does_not_answer_in_time_is_away(
    answering: Callable[..., Answering],
) -> None:
    free = threading.Event()
    address = QdrantAddress.of(f"qdrant+http://{answering(200, free=free).url}")
    connection = QdrantConnection(address, timeout_s=1)
    try:
        with pytest.raises(StoreUnavailableError, match="timed out") as told:
            connection.run(lambda client: client.get_collection("c"))
        asked = told.value.__cause__.source.request  # type: ignore[union-attr]
        assert asked.extensions["timeout"]["read"] == 1
    finally:
        free.set()
        connection.close()


def test_the_key_of_the_url_goes_before_that_of_the_environment(
    answering: Callable[..., Answering], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = answering(503)
    for variable, user in ((None, ""), ("from-env", ""), ("from-env", "from%2Durl@")):
        if variable:
            monkeypatch.setenv("QDRANT_API_KEY", variable)
        else:
            monkeypatch.delenv("QDRANT_API_KEY", raising=False)
        with pytest.raises(StoreUnavailableError):
            open_store(f"qdrant+http://{user}{server.url}")
    assert server.keys == [None, "from-env", "from-url"]


def test_an_address_shows_no_key() -> None:
    address = QdrantAddress.of("qdrant+https://me:se%40cret@h:6333/c", environment={})
    assert address.api_key == "se@cret"
    assert (address.name, address.uri) == ("qdrant+https://h:6333/c", "https://h:6333")
    assert "cret" not in repr(address)
