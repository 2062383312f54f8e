"""Passages and vectors in a collection of Qdrant: a folder of its client's, or a server."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise._extras import require
from equipoise.retrieval.base import Embedder
from equipoise.retrieval.exact import Hits, best, checked_question, checked_rows, is_id
from equipoise.retrieval.qdrant_connection import (
    QdrantAddress,
    QdrantConnection,
    is_qdrant_folder,
)
from equipoise.retrieval.store import Filter
from equipoise.retrieval.store_base import ConnectedStore, foreign, missing, require_batch
from equipoise.retrieval.where import Scalar, Where
from equipoise.types import Candidate, is_number

_MODEL = "equipoise.embedder"
_TERMS = "terms"
_IDS = uuid.uuid5(uuid.NAMESPACE_OID, "equipoise")
_BATCH = 128  # points a call: a server takes 32 MB, and a number has up to 20 bytes in JSON
_PAGE = 10_000  # ids a call
_MOST_HITS = 4_096


class QdrantStore(ConnectedStore[QdrantConnection]):
    """A `VectorStore` in one collection: id, text, metadata, terms (for filters) and a vector.

    The collection's metadata hold the model's name (a server of 1.16 or later). Searches are exact,
    O(n * d), and no graph is built. A scan holds all ids in memory. Point ids are UUIDs of
    version 5 from the passages' ids. `open` is the way to get one.
    """

    @classmethod
    def open(
        cls, url: str, *, embedder: Embedder | None = None, create: bool = False
    ) -> QdrantStore:
        """The store in the folder or the collection that `url` names; see `open_store`."""
        address = QdrantAddress.of(url)
        if address.folder is not None and not is_qdrant_folder(address.folder) and not create:
            raise missing(address.name)
        return cls._opened(QdrantConnection(address), embedder if create else None)

    def __len__(self) -> int:
        """Number of passages."""
        return int(self._run("count", exact=True).count)

    def upsert(self, passages: Sequence[Candidate], vectors: NDArray[np.float32]) -> None:
        """Stores passages by id; after an error some of them may be stored."""
        kept, rows = checked_rows(
            passages, vectors, dimension=self._dimension, made_by=self._embedder
        )
        point = require("qdrant_client.models", extra="qdrant").PointStruct
        for first in range(0, len(kept), _BATCH):
            some = slice(first, first + _BATCH)
            points = [
                point(id=_point_id(passage.id), vector=row.tolist(), payload=_payload(passage))
                for passage, row in zip(kept[some], rows[some], strict=True)
            ]
            self._run("upsert", points=points, wait=True)

    def get(self, ids: Sequence[str]) -> tuple[Candidate, ...]:
        """The passages of those ids that are there, by id."""
        keys = {key for key in ids if is_id(key)}
        return tuple(self._retrieved(sorted(keys))) if keys else ()

    def search(
        self,
        vector: NDArray[np.float32],
        k: int,
        *,
        where: Filter | None = None,
        embeddings: bool = False,
    ) -> tuple[Candidate, ...]:
        """At most `k` passages nearest to `vector` (d,), nearest first, ties by id."""
        question = checked_question(vector, k, dimension=self._dimension)
        wanted = Where.of(where)

        def nearest(count: int) -> Hits:
            points = self._run(
                "query_points",
                query=question.astype(np.float32).tolist(),
                query_filter=_filter(wanted),
                search_params=self._exactly(),
                limit=count,
                with_payload=True,
                with_vectors=True,
            ).points
            vectors = np.asarray([point.vector for point in points], dtype=np.float32)
            return [_passage(point) for point in points], vectors

        return best(
            question,
            k,
            wanted,
            nearest=nearest,
            scan=lambda: self.scan(where=wanted, embeddings=True),
            most=_MOST_HITS,
            embeddings=embeddings,
        )

    def scan(
        self, batch: int = 1000, *, where: Filter | None = None, embeddings: bool = False
    ) -> Iterator[Candidate]:
        """Every passage that is there at the start once, by id, read `batch` at a time."""
        require_batch(batch)
        wanted = Where.of(where)
        keys = sorted(self._ids(wanted))
        for first in range(0, len(keys), batch):
            page = self._retrieved(keys[first : first + batch], embeddings=embeddings)
            yield from (passage for passage in page if wanted.matches(passage.metadata))

    def flush(self) -> None:
        """Nothing: every call's work is kept at its end."""

    def _prepare(self, embedder: Embedder | None) -> None:
        at = self._connection.address
        if not self._run("collection_exists"):
            if embedder is None:
                raise missing(self.name)
            self._connection.run(lambda client: _create(client, at.collection, embedder))
        if embedder is not None and at.folder is None:
            self._run("create_payload_index", field_name=_TERMS, field_schema="keyword", wait=True)
        config = self._run("get_collection").config
        size = getattr(config.params.vectors, "size", None)
        if _MODEL not in (config.metadata or {}) or size is None:
            raise foreign(self.name, "collection")
        self._embedder = str(config.metadata[_MODEL])
        self._dimension = int(size)

    def _exactly(self) -> Any:
        """Parameters for a search of every vector; a folder knows no other, and warns of them."""
        if self._connection.address.folder is not None:
            return None
        return require("qdrant_client.models", extra="qdrant").SearchParams(exact=True)

    def _ids(self, wanted: Where) -> Iterator[str]:
        """The ids of what matches, in the order of Qdrant's own ids."""
        offset = None
        while True:
            points, offset = self._run(
                "scroll",
                scroll_filter=_filter(wanted),
                limit=_PAGE,
                offset=offset,
                with_payload=["id"],
                with_vectors=False,
            )
            yield from (point.payload["id"] for point in points)
            if offset is None:
                return

    def _retrieved(self, keys: Sequence[str], *, embeddings: bool = False) -> list[Candidate]:
        """The passages of those ids that are there, in the order of the ids."""
        points = self._run(
            "retrieve",
            ids=[_point_id(key) for key in keys],
            with_payload=True,
            with_vectors=embeddings,
        )
        found = {passage.id: passage for passage in map(_passage, points)}
        return [found[key] for key in keys if key in found]

    def _run(self, method: str, **values: Any) -> Any:
        """What the client's method gives for this collection."""
        collection = self._connection.address.collection
        return self._connection.run(
            lambda client: getattr(client, method)(collection_name=collection, **values)
        )


def _create(client: Any, collection: str, embedder: Embedder) -> None:
    models = require("qdrant_client.models", extra="qdrant")
    unexpected = require("qdrant_client.http.exceptions", extra="qdrant").UnexpectedResponse
    try:
        client.create_collection(
            collection,
            # Subtle: "Cosine" would scale the vectors again, and not give back what was stored.
            vectors_config=models.VectorParams(
                size=embedder.dimension, distance=models.Distance.DOT
            ),
            hnsw_config=models.HnswConfigDiff(m=0),
            metadata={_MODEL: embedder.name},
        )
    except unexpected as error:
        if error.status_code != 409:  # another made it meanwhile
            raise


def _point_id(key: str) -> str:
    """The UUID of a passage's id: the same for the same id, on every machine.

    >>> _point_id("a")
    '3ec3d5d2-8d2e-5918-ba5e-4cf3cc6e743a'
    """
    return str(uuid.uuid5(_IDS, key))


def _payload(passage: Candidate) -> dict[str, Any]:
    metadata = dict(passage.metadata)
    terms = [_term(key, value) for key, value in metadata.items() if _is_term(value)]
    return {"id": passage.id, "text": passage.text, "metadata": metadata, _TERMS: terms}


def _passage(point: Any) -> Candidate:
    held: Mapping[str, Any] = point.payload
    return Candidate(
        held["id"],
        held["text"],
        metadata=held["metadata"],
        embedding=getattr(point, "vector", None),
    )


def _filter(where: Where) -> Any:
    """Qdrant's filter for what `where` matches; None for everything."""
    models = require("qdrant_client.models", extra="qdrant")
    must = [
        models.FieldCondition(
            key=_TERMS,
            match=models.MatchAny(any=[_term(key, value) for value in values]),
        )
        for key, values in where.terms
    ]
    return models.Filter(must=must) if must else None


def _is_term(value: object) -> bool:
    return isinstance(value, str | int | float)  # bool is an int


def _term(key: str, value: Scalar) -> str:
    """A short text that is equal for equal keys and values, as `Where` takes "equal".

    Qdrant's own conditions tell 1 from 1.0, look into lists, and cannot name every key.
    """
    if is_number(value):
        value = int(value) if value == int(value) else float(value)
    return blake2b(json.dumps([key, value]).encode(), digest_size=16).hexdigest()
