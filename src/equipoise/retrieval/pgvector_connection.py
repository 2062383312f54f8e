"""One connection to PostgreSQL, made again when it was lost, with its errors in our own words."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

from equipoise._extras import require
from equipoise.errors import InputError
from equipoise.retrieval.store_base import refused, unavailable

T = TypeVar("T")
_TABLE = re.compile(r"([A-Za-z_]\w*\.)?[A-Za-z_]\w*", re.ASCII)
_CONNECT_S = 10
# Classes of SQLSTATE for a server that goes down, comes up, or has no room just now.
# A connection that a server turns away has no state in psycopg, only the server's words.
_TURNED_AWAY = (
    "authentication failed",
    "no password supplied",
    "no pg_hba.conf entry",
    "does not exist",
    "permission denied",
)
_PASSING = ("08", "53", "57P")


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """`conninfo` is for libpq and may hold a password; `name` is for people and does not."""

    conninfo: str = field(repr=False)
    table: str
    name: str

    @classmethod
    def of(cls, url: str) -> PostgresAddress:
        """The parts of `postgresql://USER:PASSWORD@HOST:PORT/DATABASE/TABLE`.

        Raises:
            InputError: database or table is missing, or the table has other characters.
        """
        parts = urlsplit(url)
        database, _, table = parts.path.strip("/").rpartition("/")
        if not database or not _TABLE.fullmatch(table):
            raise InputError(
                "a PostgreSQL store must be postgresql://HOST:PORT/DATABASE/TABLE with a table of "
                f"letters, digits and _, got the path {parts.path!r}"
            )
        place = parts.netloc.rpartition("@")[2]
        conninfo = urlunsplit(("postgresql", parts.netloc, f"/{database}", parts.query, ""))
        return cls(conninfo, table, f"postgresql://{place}/{unquote(database)}/{table}")


class PostgresConnection:
    """A connection, made by the first call and again after it was lost.

    One thread uses it at a time; others wait.
    """

    def __init__(self, address: PostgresAddress) -> None:
        self.address = address
        self._lock = threading.RLock()
        self._connection: Any = None

    def run(self, work: Callable[[Any], T]) -> T:
        """What `work` makes of a live psycopg connection, which commits each statement by itself.

        Raises:
            StoreUnavailableError: the server cannot be reached, or went away.
            StoreError: it refused.
        """
        with self._lock, _told(self.address.name):
            if self._connection is None or self._connection.closed:
                self._connection = _connected(self.address)
            return work(self._connection)

    def close(self) -> None:
        """Closes the connection; the next call makes another."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def _connected(address: PostgresAddress) -> Any:
    psycopg = require("psycopg", extra="pgvector")
    pgvector = require("pgvector.psycopg", extra="pgvector")
    connection = psycopg.connect(address.conninfo, autocommit=True, connect_timeout=_CONNECT_S)
    try:
        if connection.execute("SELECT to_regtype('vector')").fetchone()[0] is None:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        pgvector.register_vector(connection)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _told(name: str) -> Iterator[None]:
    psycopg = require("psycopg", extra="pgvector")
    try:
        yield
    except psycopg.Error as error:
        state = error.sqlstate or ""
        lost = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        if not state and any(words in str(error) for words in _TURNED_AWAY):
            raise refused(name, str(error)) from error
        if state.startswith(_PASSING) or (lost and not state):
            raise unavailable(name, str(error)) from error
        raise refused(name, str(error)) from error
