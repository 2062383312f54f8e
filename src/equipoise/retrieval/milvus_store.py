"""Passages and vectors in a collection of Milvus: a file (Milvus Lite) or a server, one code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise._extras import require
from equipoise.errors import InputError, StoreError
from equipoise.retrieval.base import Embedder
from equipoise.retrieval.exact import (
    MOST_ID_BYTES,
    Hits,
    best,
    checked_question,
    checked_rows,
    is_id,
)
from equipoise.retrieval.milvus_connection import MilvusAddress, MilvusConnection
from equipoise.retrieval.store import Filter
from equipoise.retrieval.store_base import ConnectedStore, foreign, missing, require_batch
from equipoise.retrieval.where import Where
from equipoise.types import Candidate

_MOST_BYTES = 65_535  # Milvus's own limit of a text, and of the metadata of a row
_MOST_HITS = 4_096
_MODEL = "equipoise.embedder"
_FIELDS = ["id", "text", "metadata"]


class MilvusStore(ConnectedStore[MilvusConnection]):
    """A `VectorStore` in one collection: id, text, metadata (JSON), embedding, with a FLAT index.

    The primary field `key` is the id's UTF-8 in hexadecimal: in the same order, and safe in the
    expressions that Milvus's client makes of keys by itself, where it does not escape a quote.
    The collection's property `equipoise.embedder` holds the model's name. Searches are exact, O(n
    * d), and read what was written before them (consistency "Strong"). Texts and metadata have at
    most 65,535 bytes a passage. `timeout_s` > 0 bounds every call, the client's own repetitions
    included. `open` is the way to get one.
    """

    @classmethod
    def open(
        cls, url: str, *, embedder: Embedder | None = None, create: bool = False
    ) -> MilvusStore:
        """The store in the file or the collection that `url` names; see `open_store`."""
        address = MilvusAddress.of(url)
        if address.is_file and not _is_lite(Path(address.uri)) and not create:
            raise missing(address.name)
        return cls._opened(MilvusConnection(address), embedder if create else None)

    def __len__(self) -> int:
        """Number of passages."""
        rows = self._run("query", output_fields=["count(*)"])
        return int(rows[0]["count(*)"])

    def upsert(self, passages: Sequence[Candidate], vectors: NDArray[np.float32]) -> None:
        """Stores passages by id; after an error some of them may be stored."""
        kept, rows = checked_rows(
            passages, vectors, dimension=self._dimension, made_by=self._embedder
        )
        data = [
            {
                "key": _key(passage.id),
                "id": passage.id,
                "text": passage.text,
                "metadata": dict(passage.metadata),
                "embedding": row,
            }
            for passage, row in zip(kept, rows, strict=True)
        ]
        for row in data:
            _require_room(row)
        if data:
            self._run("upsert", data=data)

    def get(self, ids: Sequence[str]) -> tuple[Candidate, ...]:
        """The passages of those ids that are there, by id."""
        keys = [_key(one) for one in set(ids) if is_id(one)]
        if not keys:
            return ()
        rows = self._run("get", ids=keys, output_fields=_FIELDS)
        found = {row["id"]: _passage(row) for row in rows}
        return tuple(found[key] for key in sorted(found))

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
            hits = self._run(
                "search",
                data=[question.astype(np.float32).tolist()],
                limit=count,
                filter=_expression(wanted),
                output_fields=[*_FIELDS, "embedding"],
            )[0]
            rows = [hit["entity"] for hit in hits]
            vectors = np.asarray([row["embedding"] for row in rows], dtype=np.float32)
            return [_passage(row) for row in rows], vectors

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
        """Every passage once, by id, read `batch` at a time.

        Raises:
            StoreError: the server gave passages out of order, so that some could be missed.
        """
        require_batch(batch)
        wanted = Where.of(where)
        fields = [*_FIELDS, "embedding"] if embeddings else _FIELDS
        pages = self._run(
            "query_iterator", batch_size=batch, filter=_expression(wanted), output_fields=fields
        )
        last = ""
        try:
            while True:
                rows = self._connection.run(lambda client: pages.next())
                if not rows:
                    return
                for row in rows:
                    if row["id"] <= last:
                        raise StoreError(
                            f"{self.name} must give passages by id, and gave {row['id']!r} after "
                            f"{last!r}. Do not trust this scan."
                        )
                    last = row["id"]
                    if wanted.matches(row["metadata"]):
                        yield _passage(row)
        finally:
            pages.close()

    def flush(self) -> None:
        """Has the server write what it holds in memory to its files."""
        self._run("flush")

    def _prepare(self, embedder: Embedder | None) -> None:
        self._connection.run(lambda client: self._load(client, embedder))

    def _load(self, client: Any, embedder: Embedder | None) -> None:
        """Makes the collection for `embedder` where there is none; reads what it says of itself."""
        at = self._connection.of_collection
        if not client.has_collection(**at):
            if embedder is None:
                raise missing(self.name)
            self._create(client, embedder)
        about = client.describe_collection(**at)
        vectors = [entry for entry in about["fields"] if entry["name"] == "embedding"]
        keyed = any(entry["name"] == "key" for entry in about["fields"])
        if _MODEL not in about["properties"] or not vectors or not keyed:
            raise foreign(self.name, "collection")
        self._embedder = about["properties"][_MODEL]
        self._dimension = int(vectors[0]["params"]["dim"])
        client.load_collection(**at)

    def _create(self, client: Any, embedder: Embedder) -> None:
        kind = require("pymilvus", extra="milvus").DataType
        schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("key", kind.VARCHAR, is_primary=True, max_length=2 * MOST_ID_BYTES)
        schema.add_field("id", kind.VARCHAR, max_length=MOST_ID_BYTES)
        schema.add_field("text", kind.VARCHAR, max_length=_MOST_BYTES)
        schema.add_field("metadata", kind.JSON)
        schema.add_field("embedding", kind.FLOAT_VECTOR, dim=embedder.dimension)
        index = client.prepare_index_params()
        index.add_index("embedding", index_type="FLAT", metric_type="IP")
        client.create_collection(
            **self._connection.of_collection,
            schema=schema,
            index_params=index,
            consistency_level="Strong",
            properties={_MODEL: embedder.name},
        )

    def _run(self, method: str, **values: Any) -> Any:
        """What the client's method gives for this collection."""
        call = {**self._connection.of_collection, **values}
        return self._connection.run(lambda client: getattr(client, method)(**call))


def _is_lite(folder: Path) -> bool:
    """True when Milvus Lite keeps its collections in `folder`, which is named like a file.

    Raises:
        StoreError: something else is there.
    """
    if (folder / "collections").is_dir():
        return True
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StoreError(
            f"{folder} must be a folder of Milvus Lite's or not be there, and is another thing. "
            "Give another name"
        )
    return False


def _key(id_: str) -> str:
    """The primary key of a passage, of two characters a byte of its id.

    >>> _key("O'B")
    '4f2742'
    """
    return id_.encode("utf-8").hex()


def _passage(row: Any) -> Candidate:
    return Candidate(
        row["id"], row["text"], metadata=row["metadata"], embedding=row.get("embedding")
    )


def _require_room(row: dict[str, Any]) -> None:
    for name in ("text", "metadata"):
        value = row[name] if name == "text" else json.dumps(row[name], ensure_ascii=False)
        size = len(value.encode("utf-8"))
        if size > _MOST_BYTES:
            raise InputError(
                f"Milvus keeps at most {_MOST_BYTES} bytes of {name} for a passage, and "
                f"{row['id']!r} has {size}. Cut it into smaller passages, or use another store."
            )


def _expression(where: Where) -> str:
    """Milvus's filter for at least what `where` matches; "" for everything."""
    # Equalities joined by "or", for Milvus Lite has no "in" on what is inside a JSON field.
    terms = (
        " or ".join(f"metadata[{_literal(key)}] == {_literal(value)}" for value in values)
        for key, values in where.terms
    )
    return " and ".join(f"({term})" for term in terms)


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
