"""One client of Qdrant, of a folder or a server, with its errors in our own words."""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from equipoise._extras import require
from equipoise.errors import EquipoiseError, InputError, StoreError
from equipoise.retrieval.store_base import refused, unavailable

T = TypeVar("T")
_COLLECTION = re.compile(r"[A-Za-z0-9_-]{1,255}", re.ASCII)
_META = "meta.json"  # what the client keeps in a folder of its own
_PASSING = (408, 429)  # besides 5xx: statuses of a server that has no time just now
_NO_KEY = (401, 403)
_LONGEST = 300  # characters of an answer in a message


@dataclass(frozen=True, slots=True)
class QdrantAddress:
    """A folder, or the `uri` of a server with its key; `name` is for people and holds no secret."""

    name: str
    collection: str = "equipoise"
    folder: Path | None = None
    uri: str = ""
    api_key: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, url: str, *, environment: Mapping[str, str] | None = None) -> QdrantAddress:
        """The parts of `qdrant:FOLDER` or `qdrant+http://HOST:PORT/COLLECTION` (or https).

        A server's key is QDRANT_API_KEY of `environment` (default: the process's), unless the URL
        has one: `qdrant+https://KEY@HOST:PORT/COLLECTION`.

        Raises:
            InputError: it is neither.
        """
        kind, _, rest = url.partition(":")
        if kind == "qdrant":
            if not rest or rest.startswith("//"):
                raise InputError(
                    "a Qdrant store must be qdrant:FOLDER or qdrant+http://HOST:PORT/COLLECTION, "
                    f"got {'a server without +http or +https' if rest else 'no folder'}"
                )
            return cls(url, folder=Path(rest))
        parts = urlsplit(url.removeprefix("qdrant+"))
        collection = parts.path.strip("/")
        if parts.scheme not in ("http", "https") or not _COLLECTION.fullmatch(collection):
            raise InputError(
                "a Qdrant store must be qdrant:FOLDER or qdrant+http://HOST:PORT/COLLECTION with "
                f"a collection of letters, digits, _ and -, got the path {parts.path!r}"
            )
        user, _, place = parts.netloc.rpartition("@")
        uri = f"{parts.scheme}://{place}"
        # The key stays out of settings, as OPENAI_API_KEY does.
        values = os.environ if environment is None else environment
        key = unquote(user.rpartition(":")[2]) or values.get("QDRANT_API_KEY") or None
        return cls(f"qdrant+{uri}/{collection}", collection, uri=uri, api_key=key)


class QdrantConnection:
    """A client, made by the first call and again after `close`. Safe to share between threads.

    `timeout_s` >= 1 bounds every call to a server. A folder is used by one thread at a time.
    """

    def __init__(self, address: QdrantAddress, *, timeout_s: int = 30) -> None:
        self.address = address
        self._timeout_s = timeout_s
        self._lock = threading.RLock()
        self._client: Any = None

    def run(self, work: Callable[[Any], T]) -> T:
        """What `work` makes of the client.

        Raises:
            StoreUnavailableError: the server cannot be reached, does not answer in time, or says
                that it cannot serve now (5xx, 408, 429).
            StoreError: it refused, or the folder is open elsewhere or broken.
        """
        alone = nullcontext() if self.address.folder is None else self._lock
        with alone, _told(self.address.name):
            return work(self._connected())

    def close(self) -> None:
        """Lets the client go; the next call makes another."""
        with self._lock:
            if self._client is not None:
                self._client = None
                self._letting_go()

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._opened()
                # Subtle: left to the end of the process, the client of a folder fails to close.
                self._letting_go = weakref.finalize(self, self._client.close)
            return self._client

    def _opened(self) -> Any:
        client = require("qdrant_client", extra="qdrant").QdrantClient
        at = self.address
        if at.folder is None:
            return client(
                url=at.uri,
                api_key=at.api_key,
                timeout=self._timeout_s,
                check_compatibility=False,  # it would ask, and only warn
            )
        locked = require("portalocker", extra="qdrant").exceptions.LockException
        try:
            # Subtle: the client's own check of threads is off, for `run` lets in one at a time.
            return client(path=str(at.folder), force_disable_check_same_thread=True)
        except RuntimeError as error:
            if not isinstance(error.__context__, locked):
                raise
            raise StoreError(
                f"{at.name} must be open in one place at a time, and is open elsewhere. Close it "
                "there, or use a server: qdrant+http://HOST:6333/COLLECTION"
            ) from error


def is_qdrant_folder(folder: Path) -> bool:
    """True when Qdrant's client keeps its collections in `folder`.

    Raises:
        StoreError: something else is there.
    """
    if (folder / _META).is_file():
        return True
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StoreError(f"{folder} must be a folder of Qdrant's or not be there. Give another.")
    return False


@contextmanager
def _told(name: str) -> Iterator[None]:
    exceptions = require("qdrant_client.http.exceptions", extra="qdrant")
    limited = require("qdrant_client.common.client_exceptions", extra="qdrant")
    lost = require("httpx", extra="qdrant").TransportError
    try:
        yield
    except EquipoiseError:
        raise
    except limited.ResourceExhaustedResponse as error:
        raise unavailable(name, str(error)) from error
    except exceptions.UnexpectedResponse as error:
        status, reason = error.status_code, str(error)[:_LONGEST]
        if status >= 500 or status in _PASSING:
            raise unavailable(name, reason) from error
        hint = ". Look at the key in QDRANT_API_KEY." if status in _NO_KEY else ""
        raise refused(name, reason + hint) from error
    except exceptions.ResponseHandlingException as error:
        reason = str(error)[:_LONGEST]
        if isinstance(error.source, lost):
            raise unavailable(name, reason) from error
        raise refused(name, reason) from error
    except (OSError, RuntimeError, ValueError, sqlite3.Error) as error:
        # A folder that cannot be read or written, or an answer that is not Qdrant's.
        raise refused(name, str(error)[:_LONGEST]) from error
