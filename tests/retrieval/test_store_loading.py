"""Loading a corpus into a store: whole, resumed, and through servers and processes that are killed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from equipoise.errors import InputError, StoreError, StoreUnavailableError
from equipoise.retrieval import (
    Backoff,
    FaissStore,
    VectorStore,
    add_to_index,
    build_index,
    load_store,
    open_retriever,
    open_store,
)
from equipoise.types import Candidate

pytest.importorskip("faiss")
pytest.importorskip("bm25s")

QUICK = Backoff(attempts=12, first_s=0.1, most_s=2.0, seed=0)


def corpus(count: int) -> list[Candidate]:
    return [
        Candidate(f"d{i:04}", f"text {i} {'abcdefghij'[i % 10] * (i % 7 + 1)}", metadata={"i": i})
        for i in range(count)
    ]


def state(store: VectorStore) -> list[Candidate]:
    return list(store.scan(embeddings=True))


@pytest.fixture
def undisturbed(tmp_path: Path, letters: Any) -> Callable[[Sequence[Candidate]], list[Candidate]]:
    """What is in a store after a load that nothing disturbed."""

    def loaded(documents: Sequence[Candidate]) -> list[Candidate]:
        store = open_store(f"faiss:{tmp_path}/undisturbed", embedder=letters, create=True)
        load_store(store, documents, letters)
        return state(store)

    return loaded


@pytest.fixture
def store(tmp_path: Path, letters: Any) -> VectorStore:
    return open_store(f"faiss:{tmp_path}/ix", embedder=letters, create=True)


class Unsteady:
    """A store whose server is away when a call's number is in `away`; it may store half first."""

    def __init__(self, store: VectorStore, away: set[int]) -> None:
        self._store = store
        self._away = away
        self.calls = 0
        self.name, self.embedder, self.dimension = store.name, store.embedder, store.dimension

    def _call(self, before: Callable[[], object] = lambda: None) -> VectorStore:
        self.calls += 1
        if self.calls in self._away:
            before()
            raise StoreUnavailableError("away")
        return self._store

    def upsert(self, passages: Sequence[Candidate], vectors: NDArray[np.float32]) -> None:
        half = len(passages) // 2
        self._call(lambda: self._store.upsert(passages[:half], vectors[:half])).upsert(
            passages, vectors
        )

    def get(self, ids: Sequence[str]) -> tuple[Candidate, ...]:
        return self._call().get(ids)

    def flush(self) -> None:
        self._call().flush()

    def __len__(self) -> int:
        return len(self._call())


def test_a_load_puts_every_passage_in_and_sums_up(store: VectorStore, letters: Any) -> None:
    seen: list[tuple[int, int]] = []
    documents = [*corpus(10), Candidate("blank", " "), Candidate("long", "word " * 400)]
    summary = load_store(
        store, documents, letters, batch=4, progress=lambda done, total: seen.append((done, total))
    )
    assert (summary.documents, summary.blank, summary.kept, summary.repeats) == (11, 1, 0, 0)
    assert summary.passages == summary.stored == summary.total_passages == len(store) > 11
    assert seen[0] == (0, summary.passages)
    assert seen[-1] == (summary.passages, summary.passages)


def test_a_load_makes_the_index_that_building_makes(
    store: VectorStore, tmp_path: Path, letters: Any
) -> None:
    documents = [*corpus(30), Candidate("long", "word " * 400)]
    load_store(store, documents, letters, batch=7)
    build_index(documents, tmp_path / "built", embedder=letters, bm25=False)
    loaded, built = FaissStore.open(tmp_path / "ix"), FaissStore.open(tmp_path / "built")
    assert list(loaded.passages) == list(built.passages)
    assert loaded.manifest.files == built.manifest.files
    assert loaded.manifest.documents == built.manifest.documents == 31


def test_an_index_stays_an_index_with_its_words(tmp_path: Path, letters: Any) -> None:
    build_index(corpus(5), tmp_path / "ix", embedder=letters)
    store = open_store(f"faiss:{tmp_path}/ix", embedder=letters)
    load_store(store, [Candidate("new", "zebra zebra")], letters)
    assert open_retriever(tmp_path / "ix", mode="bm25").retrieve("zebra", 1)[0].id == "new"
    add_to_index([Candidate("more", "quagga")], tmp_path / "ix", embedder=letters)
    assert len(open_store(f"faiss:{tmp_path}/ix")) == 7


def test_an_index_that_another_changed_is_not_overwritten(
    store: VectorStore, tmp_path: Path, letters: Any
) -> None:
    load_store(store, corpus(3), letters)
    store.upsert([Candidate("mine", "mine")], letters.embed(["mine"]))
    add_to_index([Candidate("theirs", "x")], tmp_path / "ix", embedder=letters)
    with pytest.raises(StoreError, match="changed by another process"):
        store.flush()


def test_a_scan_of_a_folder_that_changes_is_an_error(store: VectorStore, letters: Any) -> None:
    load_store(store, corpus(10), letters)
    scan = store.scan(3)
    next(scan)
    store.upsert([Candidate("new", "new")], letters.embed(["new"]))
    with pytest.raises(StoreError, match="changed while it was read"):
        list(scan)


def test_a_second_load_embeds_only_what_is_new_or_has_changed(
    store: VectorStore, letters: Any
) -> None:
    load_store(store, corpus(10), letters)
    letters.embedded.clear()
    changed = [*corpus(10), Candidate("new", "new text")]
    changed[3] = Candidate("d0003", "another text", metadata={"i": 3})
    changed[4] = Candidate("d0004", changed[4].text, metadata={"i": "other"})
    summary = load_store(store, changed, letters, batch=3)
    assert letters.embedded == ["another text", changed[4].text, "new text"]
    assert (summary.stored, summary.kept, summary.total_passages) == (3, 8, 11)
    assert store.get(["d0003"])[0].text == "another text"
    assert load_store(store, changed, letters, resume=False).stored == 11


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40
)
@given(away=st.sets(st.integers(1, 40), max_size=12), batch=st.integers(1, 30))
def test_nothing_is_lost_or_doubled_whenever_the_server_is_away(
    tmp_path_factory: pytest.TempPathFactory,
    make_letters: Callable[..., Any],
    away: set[int],
    batch: int,
) -> None:
    letters = make_letters()
    url = f"faiss:{tmp_path_factory.mktemp('load')}/ix"
    inner = open_store(url, embedder=letters, create=True)
    unsteady: Any = Unsteady(inner, away)
    backoff = Backoff(attempts=20, first_s=0.0, most_s=0.0)
    summary = load_store(unsteady, corpus(30), letters, batch=batch, backoff=backoff)
    assert [(c.id, c.text) for c in inner.scan()] == [(c.id, c.text) for c in corpus(30)]
    assert summary.total_passages == 30
    assert summary.repeats == len({n for n in away if n <= unsteady.calls})


def test_a_server_that_stays_away_ends_the_load(store: VectorStore, letters: Any) -> None:
    unsteady: Any = Unsteady(store, set(range(3, 1000)))
    with pytest.raises(StoreUnavailableError):
        load_store(unsteady, corpus(9), letters, batch=3, backoff=Backoff(4, 0.0, 0.0))
    assert unsteady.calls == 6  # two that worked, four attempts


def test_waits_grow_to_a_bound_with_jitter_of_a_seed() -> None:
    waits = list(Backoff(attempts=10, first_s=1.0, most_s=8.0, seed=5).waits())
    assert waits == list(Backoff(attempts=10, first_s=1.0, most_s=8.0, seed=5).waits())
    assert waits != list(Backoff(attempts=10, first_s=1.0, most_s=8.0, seed=6).waits())
    for wait, whole in zip(waits, [1, 2, 4, 8, 8, 8, 8, 8, 8], strict=True):
        assert whole / 2 <= wait <= whole


@pytest.mark.parametrize("values", [(0, 1.0, 2.0), (1, 3.0, 2.0), (1, -1.0, 2.0)])
def test_a_backoff_that_cannot_be_is_an_input_error(values: tuple[int, float, float]) -> None:
    with pytest.raises(InputError, match="Backoff"):
        Backoff(*values)


def test_a_load_with_another_model_is_refused(
    store: VectorStore, make_letters: Callable[..., Any]
) -> None:
    with pytest.raises(StoreError, match="must be used with the model"):
        load_store(store, corpus(1), make_letters(name="other"))
    with pytest.raises(InputError, match="batch must be >= 1"):
        load_store(store, corpus(1), make_letters(), batch=0)


class Sabotage:
    """An embedder; before the batches `at` it does `harm`."""

    def __init__(self, inner: Any, at: set[int], harm: Callable[[], None]) -> None:
        self._inner, self._at, self._harm = inner, at, harm
        self.name, self.dimension, self.calls = inner.name, inner.dimension, 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        if self.calls in self._at:
            self._harm()
        rows: NDArray[np.float32] = self._inner.embed(texts)
        return rows

    def embed_question(self, question: str) -> NDArray[np.float32]:
        return self.embed([question])[0]


@pytest.mark.slow
def test_a_load_survives_a_server_that_is_killed_and_started_again(
    killable: tuple[Any, str],
    letters: Any,
    undisturbed: Callable[[Sequence[Candidate]], list[Candidate]],
) -> None:
    server, url = killable
    threads: list[threading.Thread] = []

    def harm() -> None:
        def kill_and_start() -> None:
            time.sleep(0.004)  # so that it falls into the writing
            server.kill()
            time.sleep(1.0)
            server.start()

        threads.append(threading.Thread(target=kill_and_start))
        threads[-1].start()

    documents = corpus(2000)
    store = open_store(url, embedder=letters, create=True)
    try:
        model = Sabotage(letters, {3, 9}, harm)
        summary = load_store(store, documents, model, batch=100, backoff=QUICK)
        for thread in threads:
            thread.join()
        assert len(threads) == 2
        assert summary.repeats >= 1
        assert summary.total_passages == 2000
        assert state(store) == undisturbed(documents)
    finally:
        store.close()


@pytest.mark.slow
def test_a_server_that_is_away_is_told_as_such_and_the_store_lives_on(
    killable: tuple[Any, str], letters: Any
) -> None:
    server, url = killable
    store = open_store(url, embedder=letters, create=True)
    try:
        load_store(store, corpus(5), letters)
        server.kill()
        for call in (
            lambda: len(store),
            lambda: store.get(["d0001"]),
            lambda: store.search(letters.embed(["a"])[0], 1),
            lambda: list(store.scan()),
            lambda: store.upsert(corpus(1), letters.embed(["a"])),
        ):
            with pytest.raises(StoreUnavailableError, match="must be reachable"):
                call()
        with pytest.raises(StoreUnavailableError) as told:
            open_store(url)
        assert "secret" not in str(told.value)
        server.start()
        load_store(store, corpus(6), letters, backoff=QUICK)  # it waits until the store answers
        assert [c.id for c in store.scan()] == [c.id for c in corpus(6)]
    finally:
        store.close()


CHILD = """
import importlib.util, json, sys, time
from pathlib import Path
from equipoise.retrieval import Corpus, load_store, open_store
spec = importlib.util.spec_from_file_location("fakes", sys.argv[1])
fakes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fakes)
letters = fakes.LetterEmbedder()
store = open_store(sys.argv[2], embedder=letters, create=True)
def told(done, total):
    print(done, flush=True)
    time.sleep(0.02)
load_store(store, Corpus(sys.argv[3]), letters, batch=50, progress=told)
"""

TO_KILL: dict[str, Callable[[pytest.FixtureRequest], str]] = {
    "faiss": lambda request: f"faiss:{request.getfixturevalue('tmp_path')}/ix",
    "milvus file": lambda request: f"milvus:{request.getfixturevalue('tmp_path')}/lite.db",
    "milvus server": lambda request: f"{request.getfixturevalue('milvus')}/k{uuid.uuid4().hex[:9]}",
    "postgresql": lambda request: f"{request.getfixturevalue('postgres')}/k{uuid.uuid4().hex[:9]}",
    "qdrant folder": lambda request: f"qdrant:{request.getfixturevalue('tmp_path')}/qd",
}

LIBRARIES = {"milvus file": "milvus_lite", "qdrant folder": "qdrant_client"}


@pytest.fixture(params=TO_KILL)
def url(request: pytest.FixtureRequest) -> str:
    if request.param in LIBRARIES:
        pytest.importorskip(LIBRARIES[request.param])
    return TO_KILL[request.param](request)


@pytest.mark.slow
def test_a_load_whose_process_is_killed_goes_on_where_it_was(
    url: str,
    tmp_path: Path,
    letters: Any,
    undisturbed: Callable[[Sequence[Candidate]], list[Candidate]],
) -> None:
    documents = corpus(1000)
    file = tmp_path / "corpus.jsonl"
    rows = ({"id": d.id, "text": d.text, **d.metadata} for d in documents)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fakes = str(Path(__file__).with_name("conftest.py"))
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, fakes, url, str(file)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},  # what a killed process leaves behind
    )
    assert child.stdout is not None
    for line in child.stdout:
        if int(line) >= 400:
            child.kill()
            break
    child.stdout.close()
    assert child.wait() == -signal.SIGKILL
    store = open_store(url, embedder=letters, create=True)
    try:
        summary = load_store(store, documents, letters, batch=50)
        assert state(store) == undisturbed(documents)
        if not url.startswith("faiss"):  # the folder is written at the end
            assert 400 <= summary.kept < 1000
    finally:
        store.close()
