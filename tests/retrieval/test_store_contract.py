"""What every vector store owes its callers. A new one joins by one line in STORES."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from equipoise.errors import EmbedderError, InputError, StoreError
from equipoise.retrieval import StoreRetriever, VectorStore, Where, open_store
from equipoise.types import Candidate, Retriever

D = 8


class Model:
    """An embedder by name and dimension alone; its question is the first axis."""

    def __init__(self, name: str = "toy", dimension: int = D) -> None:
        self.name = name
        self.dimension = dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.tile(np.eye(self.dimension, dtype=np.float32)[0], (len(texts), 1))

    def embed_question(self, question: str) -> NDArray[np.float32]:
        return self.embed([question])[0]


def _new(request: pytest.FixtureRequest, server: str) -> str:
    return f"{request.getfixturevalue(server)}/t{uuid.uuid4().hex[:12]}"


def _lite(request: pytest.FixtureRequest) -> str:
    pytest.importorskip("milvus_lite", reason="milvus-lite is not installed: extra milvus")
    return f"milvus:{request.getfixturevalue('tmp_path')}/lite.db"


def _faiss(request: pytest.FixtureRequest) -> str:
    pytest.importorskip("faiss", reason="faiss-cpu is not installed: extra local")
    return f"faiss:{request.getfixturevalue('tmp_path')}/ix"


def _qdrant(request: pytest.FixtureRequest) -> str:
    pytest.importorskip("qdrant_client", reason="qdrant-client is not installed: extra qdrant")
    return f"qdrant:{request.getfixturevalue('tmp_path')}/qd"


# name -> the URL of a store that is not there yet
STORES: dict[str, Callable[[pytest.FixtureRequest], str]] = {
    "faiss": _faiss,
    "milvus file": _lite,
    "milvus server": lambda request: _new(request, "milvus"),
    "postgresql": lambda request: _new(request, "postgres"),
    "qdrant folder": _qdrant,
}


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest) -> str:
    return STORES[request.param](request)


@pytest.fixture
def store(url: str) -> Iterator[VectorStore]:
    made = open_store(url, embedder=Model(), create=True)
    yield made
    made.close()


def passage(name: str, **metadata: Any) -> Candidate:
    return Candidate(name, f"text of {name}", metadata=metadata)


def axes(*numbers: int) -> NDArray[np.float32]:
    return np.eye(D, dtype=np.float32)[list(numbers)]


def ids(found: Any) -> list[str]:
    return [candidate.id for candidate in found]


def by_hand(
    passages: Sequence[Candidate], vectors: NDArray[np.float32], question: Any, k: int
) -> list[str]:
    """The answer in double precision, by sorting everything."""
    rows = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    asked = (question / np.linalg.norm(question)).astype(np.float32).astype(np.float64)
    scores = [float((row.astype(np.float64) * asked).sum()) for row in rows]
    order = sorted(range(len(rows)), key=lambda i: (-scores[i], passages[i].id))
    return [passages[i].id for i in order[:k]]


def test_it_is_a_store(store: VectorStore) -> None:
    assert isinstance(store, VectorStore)
    assert (store.embedder, store.dimension, len(store)) == ("toy", D, 0)


def test_an_empty_store_gives_nothing(store: VectorStore) -> None:
    assert store.search(axes(0)[0], 3) == ()
    assert list(store.scan()) == []
    assert store.get(["a"]) == ()
    assert store.get([]) == ()


def test_what_was_stored_comes_back(store: VectorStore) -> None:
    deep = {"list": [1, None, "é"], "object": {"a": True}, "number": 1.5, "q\"u\\o'te": "x"}
    store.upsert([passage("b", **deep), passage("a")], axes(0, 1))
    assert store.get(["b", "none", "a"]) == (passage("a"), passage("b", **deep))
    assert list(store.scan()) == [passage("a"), passage("b", **deep)]
    (found,) = store.search(axes(0)[0], 1)
    assert (found.id, found.text, found.metadata) == ("b", "text of b", deep)
    assert found.score == 1.0
    assert found.embedding is None


def test_storing_twice_is_storing_once(store: VectorStore) -> None:
    for _ in range(2):
        store.upsert([passage("a"), passage("b")], axes(0, 1))
    assert len(store) == 2
    assert ids(store.scan()) == ["a", "b"]


def test_a_passage_of_the_same_id_takes_the_place(store: VectorStore) -> None:
    store.upsert([passage("a", old=1), passage("b")], axes(0, 1))
    store.flush()
    store.upsert([passage("a", new=2)], axes(2))
    assert len(store) == 2
    assert store.get(["a"])[0].metadata == {"new": 2}
    assert ids(store.search(axes(2)[0], 1)) == ["a"]
    assert store.search(axes(0)[0], 2)[0].score == 0.0


def test_the_order_is_score_then_id_and_all_stores_agree_with_sorting_by_hand(
    store: VectorStore,
) -> None:
    rng = np.random.default_rng(7)
    vectors = rng.normal(size=(300, D)).astype(np.float32)
    vectors[100:200] = vectors[5]  # a hundred copies: ties over every cut
    vectors[200:210] = vectors[5] * 3.0  # the same direction
    passages = [passage(f"p{(i * 37) % 300}") for i in range(300)]
    for start in range(0, 300, 70):
        store.upsert(passages[start : start + 70], vectors[start : start + 70])
    for question in (vectors[5], *rng.normal(size=(6, D)).astype(np.float32)):
        for k in (1, 5, 50, 105, 299, 1000):
            assert ids(store.search(question, k)) == by_hand(passages, vectors, question, k)


def test_scores_of_neighbours_one_bit_apart_are_told_apart_alike(store: VectorStore) -> None:
    row = np.full(D, 0.3, dtype=np.float32)
    vectors = np.stack([np.roll(np.nextafter(row, np.float32(i % 3)), i) for i in range(40)])
    vectors[::2, 0] += np.float32(1e-7) * np.arange(20, dtype=np.float32)
    passages = [passage(f"p{i}") for i in range(40)]
    store.upsert(passages, vectors)
    question = np.linspace(0.1, 1, D, dtype=np.float32)
    for k in (1, 7, 20):
        assert ids(store.search(question, k)) == by_hand(passages, vectors, question, k)


def test_embeddings_come_back_as_stored_bit_for_bit(store: VectorStore) -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(3, D)).astype(np.float32)
    kept = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    store.upsert([passage(name) for name in "abc"], rows)
    scanned = list(store.scan(embeddings=True))
    found = sorted(store.search(rows[0], 3, embeddings=True), key=lambda c: c.id)
    for candidates in (scanned, found):
        assert np.array_equal(np.float32([c.embedding for c in candidates]), kept)


METADATA: dict[str, dict[str, Any]] = {
    "a": {"source": "x", "language": "en", "year": 2024, "seen": True},
    "b": {"source": "x", "language": "de", "year": 2024.0, "seen": 1},
    "c": {"source": "y", "language": "fr", "year": "2024", "seen": False},
    "d": {"source": ["x"], "language": None, "year": 2025, "seen": "true"},
    "e": {"source": {"x": "x"}, "o\"d\\d' key": 'it\'s "so" \\ ü'},
    "f": {},
}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (None, "abcdef"),
        ({}, "abcdef"),
        ({"source": "x"}, "ab"),
        ({"language": ["en", "de"]}, "ab"),
        ({"language": ("fr",), "source": "y"}, "c"),
        ({"source": "x", "language": ["de", "fr"]}, "b"),
        ({"year": 2024}, "ab"),
        ({"year": 2024.0}, "ab"),
        ({"year": "2024"}, "c"),
        ({"year": [2025, "2024"]}, "cd"),
        ({"seen": True}, "a"),
        ({"seen": False}, "c"),
        ({"seen": 1}, "b"),
        ({"seen": "true"}, "d"),
        ({"o\"d\\d' key": 'it\'s "so" \\ ü'}, "e"),
        ({"none": "x"}, ""),
        ({"source": "x' OR 1 = 1 --"}, ""),
    ],
)
def test_a_filter_means_the_same_everywhere(
    store: VectorStore, where: dict[str, Any] | None, expected: str
) -> None:
    store.upsert([passage(key, **METADATA[key]) for key in METADATA], axes(*range(6)))
    assert "".join(ids(store.scan(2, where=where))) == expected
    assert "".join(sorted(ids(store.search(axes(0)[0], 10, where=where)))) == expected
    assert all(Where.of(where).matches(METADATA[key]) for key in expected)


def test_a_filter_finds_the_far_ones_behind_many_near_ones(store: VectorStore) -> None:
    near = [passage(f"near{i:03}", side="near") for i in range(200)]
    far = [passage(f"far{i}", side="far") for i in range(3)]
    store.upsert(near + far, axes(*[0] * 200, *[1] * 3))
    assert ids(store.search(axes(0)[0], 5, where={"side": "far"})) == ["far0", "far1", "far2"]


def test_a_scan_gives_every_passage_once_by_id_in_any_batch(store: VectorStore) -> None:
    names = [f"p{i}" for i in range(57)] + ["é", "Z", "z", "~", "\U0001f99c", "\uffef"]
    store.upsert([passage(name) for name in names], axes(*[0] * len(names)))
    for batch in (1, 7, 1000):
        assert ids(store.scan(batch)) == sorted(names)


def test_a_reader_that_opens_it_later_finds_all(store: VectorStore, url: str) -> None:
    store.upsert([passage("a")], axes(0))
    store.close()
    again = open_store(url, embedder=Model())
    try:
        assert ids(again.scan()) == ["a"]
        assert again.name == store.name
    finally:
        again.close()
    again.close()  # twice does no harm


def test_odd_text_is_stored_alike(store: VectorStore) -> None:
    odd = Candidate("odd", "a\x00b\ud800c\u2028🦜", metadata={"k\x00": ["\x00", float("nan")]})
    store.upsert([odd], axes(0))
    (found,) = store.get(["odd"])
    assert found.text == "a\ufffdb?c\u2028🦜"
    assert found.metadata == {"k\ufffd": ["\ufffd", "nan"]}


@pytest.mark.parametrize("name", ["", "x" * 513, "a\x00", "\ud800", "é" * 257])
def test_an_id_that_not_every_store_can_keep_is_refused(store: VectorStore, name: str) -> None:
    with pytest.raises(InputError, match="an id in a store must have 1 to 512 bytes"):
        store.upsert([Candidate(name, "text")], axes(0))
    assert len(store) == 0


def test_an_id_of_512_bytes_is_kept(store: VectorStore) -> None:
    store.upsert([passage("é" * 256)], axes(0))
    assert ids(store.scan()) == ["é" * 256]


AWKWARD = [
    "O'Brien",
    "x', 'victim",
    "victim",
    'say "no"',
    "back\\slash",
    "end\\",
    "two\nlines",
    "tab\t",
    "%s {x} $1 --;",
    " ",
    "a b",
    "A",
    "a",
    "🦜",
    "é",
    "e\u0301",
    "\u2028",
    "id == ''",
]


def test_any_id_is_a_name_and_nothing_else(store: VectorStore) -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(len(AWKWARD), D)).astype(np.float32)
    store.upsert([Candidate(name, f"text of {name!r}") for name in AWKWARD], vectors)
    store.upsert([Candidate(name, f"text of {name!r}") for name in AWKWARD[:3]], vectors[:3])
    assert len(store) == len(AWKWARD)
    for name in AWKWARD:
        (found,) = store.get([name])
        assert (found.id, found.text) == (name, f"text of {name!r}")
    assert ids(store.get(AWKWARD)) == sorted(AWKWARD)
    for batch in (1, 4, 100):
        assert ids(store.scan(batch)) == sorted(AWKWARD)
    assert sorted(ids(store.search(vectors[0], 50))) == sorted(AWKWARD)


def test_ids_that_no_store_can_keep_are_not_there(store: VectorStore) -> None:
    store.upsert([passage("a")], axes(0))
    assert ids(store.get(["", "\ud800", "a\x00", "x" * 600, "a"])) == ["a"]


@pytest.mark.parametrize("held", [2**60, float(2**60), 2**60 + 1])
def test_large_numbers_equal_the_equal_number_everywhere(
    store: VectorStore, held: int | float
) -> None:
    store.upsert([passage("a", n=held), passage("b", n=5)], axes(0, 1))
    for asked in (2**60, float(2**60), 2**60 + 1, 5.0):
        expected = [name for name, n in (("a", held), ("b", 5)) if n == asked]
        assert ids(store.scan(where={"n": asked})) == expected
        assert ids(store.search(axes(0)[0], 5, where={"n": asked})) == expected


def test_an_id_twice_in_a_call_is_refused(store: VectorStore) -> None:
    with pytest.raises(InputError, match="'a' is there twice"):
        store.upsert([passage("a"), passage("a")], axes(0, 1))


def test_each_passage_needs_a_vector_of_the_right_kind(store: VectorStore) -> None:
    with pytest.raises(InputError, match="one vector"):
        store.upsert([passage("a")], axes(0, 1))
    for bad in (np.zeros((1, D)), np.full((1, D), np.nan), np.ones((1, D + 1))):
        with pytest.raises(EmbedderError):
            store.upsert([passage("a")], bad)
    with pytest.raises(EmbedderError):
        store.search(np.ones(D + 1, dtype=np.float32), 1)
    assert len(store) == 0


@pytest.mark.parametrize("k", [0, -1, True, 2.0, None])
def test_a_k_below_one_is_an_input_error(store: VectorStore, k: Any) -> None:
    with pytest.raises(InputError, match="k must be an int >= 1"):
        store.search(axes(0)[0], k)


@pytest.mark.parametrize("where", [[], "x", {"a": []}, {"a": None}, {"a": [{}]}, {1: "x"}])
def test_a_filter_that_cannot_be_is_an_input_error(store: VectorStore, where: Any) -> None:
    with pytest.raises(InputError, match="filter"):
        store.search(axes(0)[0], 1, where=where)


def test_another_model_is_refused(store: VectorStore, url: str) -> None:
    store.upsert([passage("a")], axes(0))
    store.close()
    for model in (Model("other"), Model(dimension=D + 1)):
        for create in (False, True):
            with pytest.raises(StoreError, match="must be used with the model it was made with"):
                open_store(url, embedder=model, create=create)


def test_a_store_that_is_not_there_is_told(url: str) -> None:
    with pytest.raises(StoreError, match="equipoise store load"):
        open_store(url)


def test_a_retriever_on_it_ranks_by_cosine(store: VectorStore) -> None:
    store.upsert([passage("a", s="x"), passage("c", s="y"), passage("b", s="y")], axes(1, 0, 0))
    retriever = StoreRetriever(store, Model(), embeddings=True)
    assert isinstance(retriever, Retriever)
    assert ids(retriever.retrieve("?", 5)) == ["b", "c", "a"]
    assert retriever.retrieve("?", 1)[0].embedding == tuple(axes(0)[0].tolist())
    assert ids(StoreRetriever(store, Model(), where={"s": "x"}).retrieve("?", 5)) == ["a"]
    with pytest.raises(StoreError, match="must be used with the model"):
        StoreRetriever(store, Model("other"))


def test_threads_get_what_one_caller_gets(store: VectorStore) -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(60, D)).astype(np.float32)
    store.upsert([passage(f"p{i}") for i in range(60)], vectors)
    alone = [ids(store.search(vector, 4)) for vector in vectors]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(lambda vector: ids(store.search(vector, 4)), vectors)) == alone


def test_a_name_holds_no_password(store: VectorStore, url: str) -> None:
    assert "secret" not in store.name
    assert "secret" not in repr(store)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "redis://u:secret@h/x",
        "faiss:",
        "milvus:x",
        "milvus+ftp://h/c",
        "qdrant:",
        "qdrant://secret@h:6333/c",
        "qdrant+http://secret@h:6333",
        "qdrant+http://secret@h:6333/a b",
        "qdrant+ftp://secret@h/c",
    ],
)
def test_a_url_of_no_store_is_an_input_error(url: str) -> None:
    with pytest.raises(InputError) as told:
        open_store(url)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("table", ["", "t", "d/", "d/a-b", 'd/a"b', "d/a;b"])
def test_a_postgresql_url_needs_a_database_and_a_plain_table(table: str) -> None:
    with pytest.raises(InputError, match="DATABASE/TABLE"):
        open_store(f"postgresql://u:secret@127.0.0.1:1/{table}")
