"""The engine that a Qdrant server runs, in this process: it takes what the store sends it as meant.

The server's network face is not here, and not tested.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from equipoise.retrieval import Where
from equipoise.retrieval.exact import Hits, best, checked_question, checked_rows
from equipoise.retrieval.qdrant_store import _filter, _passage, _payload, _point_id
from equipoise.types import Candidate

edge = pytest.importorskip("qdrant_edge", reason="pip install qdrant-edge-py")
pytest.importorskip("qdrant_client", reason="extra qdrant")

D, N = 16, 400
KEYS = ("a", 'o"d\\[]. key', "metadata.a")
SCALARS = ["x", "y", "1", "é\"'\\", True, False, 0, 1, 2, 1.0, 2.5, 0.1, -0.0, 1e300]
SCALARS += [2**53, 2**53 + 1, float(2**53), 2**60]
VALUES: list[Any] = [*SCALARS, None, ["x"], {"a": "x"}, [1, 2]]


def documents() -> list[Candidate]:
    draw = Random(1)
    return [
        Candidate(
            f"p{i}",
            f"t\u2028🦜{i}",
            metadata={key: draw.choice(VALUES) for key in KEYS if draw.random() < 0.8},
        )
        for i in range(N)
    ]


@pytest.fixture(scope="module")
def held() -> tuple[Any, Any]:
    """Passages and vectors; a hundred of them are copies, which tie."""
    vectors = np.random.default_rng(0).normal(size=(N, D)).astype(np.float32)
    vectors[100:200] = vectors[5]
    return checked_rows(documents(), vectors, dimension=D, made_by="toy")


@pytest.fixture(scope="module")
def shard(held: tuple[Any, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder: Path = tmp_path_factory.mktemp("edge")
    dense = edge.EdgeVectorParams(size=D, distance=edge.Distance.Dot)
    made = edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors=dense))
    operation = edge.UpdateOperation
    made.update(operation.create_field_index("terms", edge.PayloadSchemaType.Keyword))
    points = [
        edge.Point(_point_id(passage.id), row.tolist(), _payload(passage))
        for passage, row in zip(*held, strict=True)
    ]
    made.update(operation.upsert_points(points))
    yield made
    made.close()


def engine_filter(where: Where) -> Any:
    """The store's filter in the engine's classes."""
    given = _filter(where)
    conditions = given.must if given else []
    return edge.Filter(
        must=[edge.FieldCondition(c.key, match=edge.MatchAny(c.match.any)) for c in conditions]
    )


def passage(point: Any) -> Candidate:
    return _passage(SimpleNamespace(payload=point.payload, vector=point.vector))


def test_text_metadata_and_vectors_come_back_as_they_went_in(shard: Any, held: Any) -> None:
    passages, vectors = held
    ids = [_point_id(one.id) for one in passages]
    found = {one.id: one for one in map(passage, shard.retrieve(ids, True, True))}
    for one, row in zip(passages, vectors, strict=True):
        assert found[one.id].text == one.text
        assert found[one.id].metadata == one.metadata
        assert np.array_equal(np.float32(found[one.id].embedding), row)


@pytest.mark.parametrize("key", KEYS)
def test_a_filter_is_exact_in_the_engine(shard: Any, held: Any, key: str) -> None:
    for where in (*({key: value} for value in SCALARS), {key: ["x", 1, True], KEYS[0]: [2, "y"]}):
        wanted = Where.of(where)
        request = edge.ScrollRequest(limit=N, filter=engine_filter(wanted), with_payload=["id"])
        points, _ = shard.scroll(request)
        expected = {one.id for one in held[0] if wanted.matches(one.metadata)}
        assert {point.payload["id"] for point in points} == expected


@pytest.mark.parametrize("where", [None, {"a": ["x", 1]}])
def test_the_order_is_that_of_sorting_by_hand(shard: Any, held: Any, where: Any) -> None:
    wanted = Where.of(where)
    for vector in (held[1][5], *np.random.default_rng(2).normal(size=(5, D))):
        question = checked_question(vector, 1, dimension=D)

        def nearest(count: int, question: Any = question) -> Hits:
            points = shard.query(
                edge.QueryRequest(
                    limit=count,
                    query=edge.Query.Nearest(question.astype(np.float32).tolist()),
                    with_vector=True,
                    with_payload=True,
                    filter=engine_filter(wanted),
                    params=edge.SearchParams(exact=True),
                )
            )
            vectors = np.asarray([point.vector for point in points], dtype=np.float32)
            return [passage(point) for point in points], vectors

        by_hand = sorted(
            (-float((row.astype(np.float64) * question).sum()), one.id)
            for one, row in zip(*held, strict=True)
            if wanted.matches(one.metadata)
        )
        for k in (1, 5, 50, 105, N):
            found = best(question, k, wanted, nearest=nearest, scan=list, most=4 * N)
            assert [one.id for one in found] == [key for _, key in by_hand[:k]]
