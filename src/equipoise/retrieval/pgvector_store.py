"""Passages and vectors in a table of PostgreSQL with the pgvector extension."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise._extras import require
from equipoise.retrieval.base import Embedder
from equipoise.retrieval.exact import Hits, best, checked_question, checked_rows, is_id
from equipoise.retrieval.pgvector_connection import PostgresAddress, PostgresConnection
from equipoise.retrieval.store import Filter
from equipoise.retrieval.store_base import ConnectedStore, foreign, missing, require_batch
from equipoise.retrieval.where import Where
from equipoise.types import Candidate

_EXACT = 2**53  # numbers from here on are not told apart as floats


class PgvectorStore(ConnectedStore[PostgresConnection]):
    """A `VectorStore` in one table: id, text, metadata (jsonb), embedding (vector).

    The table's comment holds the model's name. Every search reads all vectors and is exact, O(n *
    d), unless an index of pgvector's is made on the table, which then answers approximately. One
    connection, used by one thread at a time; lost, it is made again by the next call. `open` is
    the way to get one.
    """

    def __init__(self, connection: PostgresConnection) -> None:
        super().__init__(connection)
        self._table = connection.address.table.split(".")

    @classmethod
    def open(
        cls, url: str, *, embedder: Embedder | None = None, create: bool = False
    ) -> PgvectorStore:
        """The store in the table that `url` names; see `open_store`."""
        connection = PostgresConnection(PostgresAddress.of(url))
        return cls._opened(connection, embedder if create else None)

    def __len__(self) -> int:
        """Number of passages."""
        return int(self._rows("SELECT count(*) FROM {table}")[0][0])

    def upsert(self, passages: Sequence[Candidate], vectors: NDArray[np.float32]) -> None:
        """Stores passages by id, all of a call or none."""
        kept, rows = checked_rows(
            passages, vectors, dimension=self._dimension, made_by=self._embedder
        )
        jsonb = require("psycopg.types.json", extra="pgvector").Jsonb
        values = [
            (passage.id, passage.text, jsonb(dict(passage.metadata)), row)
            for passage, row in zip(kept, rows, strict=True)
        ]
        statement = self._sql(
            "INSERT INTO {table} (id, text, metadata, embedding) VALUES (%s, %s, %s, %s) "
            "ON CONFLICT (id) DO UPDATE SET text = EXCLUDED.text, metadata = EXCLUDED.metadata, "
            "embedding = EXCLUDED.embedding"
        )

        def write(connection: Any) -> None:
            with connection.transaction(), connection.cursor() as cursor:
                cursor.executemany(statement, values)

        self._connection.run(write)

    def get(self, ids: Sequence[str]) -> tuple[Candidate, ...]:
        """The passages of those ids that are there, by id."""
        query = "SELECT id, text, metadata FROM {table} WHERE id = ANY(%s) ORDER BY id"
        keys = [key for key in ids if is_id(key)]
        return tuple(Candidate(i, text, metadata=m) for i, text, m in self._rows(query, keys))

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
        condition, values = _condition(wanted)
        query = (
            f"SELECT id, text, metadata, embedding FROM {{table}} WHERE {condition} "
            "ORDER BY embedding <#> %s LIMIT %s"
        )

        def nearest(count: int) -> Hits:
            rows = self._rows(query, *values, question.astype(np.float32), count)
            return _hits(rows, self._dimension)

        return best(
            question,
            k,
            wanted,
            nearest=nearest,
            scan=lambda: self.scan(where=wanted, embeddings=True),
            most=20_000,
            embeddings=embeddings,
        )

    def scan(
        self, batch: int = 1000, *, where: Filter | None = None, embeddings: bool = False
    ) -> Iterator[Candidate]:
        """Every passage once, by id, read `batch` at a time."""
        require_batch(batch)
        wanted = Where.of(where)
        condition, values = _condition(wanted)
        columns = "id, text, metadata" + (", embedding" if embeddings else "")
        query = (
            f"SELECT {columns} FROM {{table}} WHERE id > %s AND {condition} ORDER BY id LIMIT %s"
        )
        last = ""
        while rows := self._rows(query, last, *values, batch):
            last = rows[-1][0]
            for i, text, metadata, *vector in rows:
                passage = Candidate(
                    i,
                    text,
                    metadata=metadata,
                    embedding=vector[0].to_list() if embeddings else None,
                )
                if wanted.matches(metadata):
                    yield passage

    def flush(self) -> None:
        """Nothing: every call's work is committed at its end."""

    def _create(self, embedder: Embedder) -> None:
        about = json.dumps({"equipoise": 1, "embedder": embedder.name})
        psycopg = require("psycopg", extra="pgvector")
        statements = (
            'CREATE TABLE IF NOT EXISTS {table} (id text COLLATE "C" PRIMARY KEY, '
            "text text NOT NULL, metadata jsonb NOT NULL, "
            f"embedding vector({int(embedder.dimension)}) NOT NULL)",
            "CREATE INDEX ON {table} USING gin (metadata jsonb_path_ops)",
        )

        def make(connection: Any) -> None:
            with connection.transaction():
                # Subtle: of two that create at once the second waits here, and finds it made.
                connection.execute("SELECT pg_advisory_xact_lock(hashtext('equipoise'))")
                if self._comment(connection) is not None:
                    return
                for statement in statements:
                    connection.execute(self._sql(statement))
                comment = psycopg.sql.Literal(about)
                connection.execute(self._sql("COMMENT ON TABLE {table} IS {about}", about=comment))

        self._connection.run(make)

    def _comment(self, connection: Any) -> str | None:
        """The table's comment, "" for a table without one, None for no table."""
        row = connection.execute(
            "SELECT coalesce(obj_description(to_regclass(%s), 'pg_class'), '') "
            "WHERE to_regclass(%s) IS NOT NULL",
            [self._quoted, self._quoted],
        ).fetchone()
        return None if row is None else str(row[0])

    def _prepare(self, embedder: Embedder | None) -> None:
        if embedder is not None:
            self._create(embedder)
        comment = self._connection.run(self._comment)
        if comment is None:
            raise missing(self.name)
        try:
            self._embedder = str(json.loads(comment)["embedder"])
        except (ValueError, KeyError, TypeError) as error:
            raise foreign(self.name, "table") from error
        rows = self._rows(
            "SELECT atttypmod FROM pg_attribute WHERE attrelid = to_regclass(%s) "
            "AND attname = 'embedding'",
            self._quoted,
        )
        self._dimension = int(rows[0][0])

    @property
    def _quoted(self) -> str:
        return ".".join(f'"{part}"' for part in self._table)

    def _sql(self, text: str, **parts: Any) -> Any:
        sql = require("psycopg.sql", extra="pgvector")
        table = sql.Identifier(*self._table)
        return sql.SQL(text).format(table=table, **parts)

    def _rows(self, query: str, *values: Any) -> list[Any]:
        """The rows of a query, whose placeholders stand for `values`."""
        statement = self._sql(query)

        def read(connection: Any) -> list[Any]:
            with connection.cursor(binary=True) as cursor:
                rows: list[Any] = cursor.execute(statement, values).fetchall()
                return rows

        return self._connection.run(read)


def _condition(where: Where) -> tuple[str, list[Any]]:
    """SQL that is true for at least what `where` matches, and its values."""
    jsonb = require("psycopg.types.json", extra="pgvector").Jsonb
    terms, values = ["true"], []
    for key, allowed in where.terms:
        # Subtle: jsonb compares decimals, and a large float stands there in its shortest form.
        if any(isinstance(value, int | float) and abs(value) >= _EXACT for value in allowed):
            continue
        terms.append("(" + " OR ".join("metadata @> %s" for _ in allowed) + ")")
        values += [jsonb({key: value}) for value in allowed]
    return " AND ".join(terms), values


def _hits(rows: list[Any], dimension: int) -> Hits:
    vectors = np.empty((len(rows), dimension), dtype=np.float32)
    for place, row in enumerate(rows):
        vectors[place] = row[3].to_numpy()
    return [Candidate(i, text, metadata=m) for i, text, m, _ in rows], vectors
