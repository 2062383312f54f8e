"""One connection to Milvus, made again when it was lost, with its errors in our own words."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from equipoise._extras import require
from equipoise.errors import InputError
from equipoise.retrieval.store_base import refused, unavailable

T = TypeVar("T")
_COLLECTION = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NOT_LOADED = 101  # Milvus's code for a collection that is on disk, not in memory


@dataclass(frozen=True, slots=True)
class MilvusAddress:
    """`uri` and `token` are for the client; `name` is for people and holds no secret."""

    uri: str
    collection: str
    name: str
    token: str = field(default="", repr=False)
    is_file: bool = False

    @classmethod
    def of(cls, url: str) -> MilvusAddress:
        """The parts of `milvus:FILE.db` or `milvus+http://USER:PASSWORD@HOST:PORT/COLLECTION`.

        Raises:
            InputError: it is neither.
        """
        kind, _, rest = url.partition(":")
        if kind == "milvus":
            if not rest.endswith(".db"):
                raise InputError(f"a Milvus Lite store must be milvus:FILE.db, got {url!r}")
            return cls(str(Path(rest)), "equipoise", url, is_file=True)
        parts = urlsplit(url.removeprefix("milvus+"))
        collection = parts.path.strip("/")
        if parts.scheme not in ("http", "https") or not _COLLECTION.fullmatch(collection):
            raise InputError(
                "a Milvus store must be milvus:FILE.db or milvus+http://HOST:PORT/COLLECTION with "
                f"a collection of letters, digits and _, got the path {parts.path!r}"
            )
        user, _, place = parts.netloc.rpartition("@")
        uri = f"{parts.scheme}://{place}"
        return cls(uri, collection, f"milvus+{uri}/{collection}", unquote(user))


class MilvusConnection:
    """A client, connected by the first call and again after the server was away.

    `timeout_s` > 0 bounds every call. Safe to share between threads.
    """

    def __init__(self, address: MilvusAddress, *, timeout_s: float = 30.0) -> None:
        self.address = address
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._client: Any = None

    @property
    def of_collection(self) -> dict[str, Any]:
        """The arguments that every call for the collection has."""
        return {"collection_name": self.address.collection, "timeout": self._timeout_s}

    def run(self, work: Callable[[Any], T]) -> T:
        """What `work` makes of the client.

        Raises:
            StoreUnavailableError: the server cannot be reached, or does not answer in time.
            StoreError: it refused.
        """
        pymilvus = require("pymilvus", extra="milvus")
        grpc = require("grpc", extra="milvus")
        try:
            client = self._connected(pymilvus)
            try:
                return work(client)
            except pymilvus.MilvusException as error:
                if error.code != _NOT_LOADED:
                    raise
                # Subtle: a server that was started again may not hold the collection in memory.
                client.load_collection(**self.of_collection)
                return work(client)
        except (pymilvus.MilvusException, grpc.RpcError) as error:
            name, reason = self.address.name, str(error)
            if _is_away(error, grpc):
                self.close()  # what the client makes of a lost connection is not to be relied on
                raise unavailable(name, reason) from error
            raise refused(name, reason) from error

    def close(self) -> None:
        """Lets the client go; the next call makes another."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _connected(self, pymilvus: Any) -> Any:
        with self._lock:
            if self._client is None:
                if self.address.is_file:
                    require("milvus_lite", extra="milvus")
                self._client = pymilvus.MilvusClient(
                    self.address.uri, token=self.address.token, timeout=self._timeout_s
                )
            return self._client


def _is_away(error: BaseException, grpc: Any) -> bool:
    """True when some cause of `error` says that the server could not be reached, or not in time."""
    away = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    chain: list[BaseException | None] = [error]
    seen: set[int] = set()
    while chain:
        one = chain.pop()
        # Subtle: pymilvus raises errors "from" themselves, so that the chain can be a ring.
        if one is None or id(one) in seen:
            continue
        if isinstance(one, grpc.RpcError) and one.code() in away:
            return True
        if getattr(one, "code", None) in away:
            return True
        seen.add(id(one))
        chain += [one.__cause__, one.__context__]
    return False
