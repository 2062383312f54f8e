"""What the stores have alike: their name and model, how one is opened, and what goes wrong."""

from __future__ import annotations

from typing import Generic, Protocol, Self, TypeVar

from equipoise.errors import InputError, StoreError, StoreUnavailableError
from equipoise.retrieval.base import Embedder


class StoreBase:
    """A store's name and the model that its vectors come from, which do not change."""

    def __init__(self, name: str, *, embedder: str = "", dimension: int = 0) -> None:
        self._name = name
        self._embedder = embedder
        self._dimension = dimension

    @property
    def name(self) -> str:
        """Which store this is, as `open_store` takes it, without user and password."""
        return self._name

    @property
    def embedder(self) -> str:
        """The name of the model that the vectors come from."""
        return self._embedder

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._dimension


class _Address(Protocol):
    @property
    def name(self) -> str: ...


class Connection(Protocol):
    """What a `ConnectedStore` asks of its connection."""

    @property
    def address(self) -> _Address:
        """Where it leads; its `name` holds no secret."""
        ...

    def close(self) -> None:
        """Lets it go; closing twice does no harm."""
        ...


C = TypeVar("C", bound=Connection)


class ConnectedStore(StoreBase, Generic[C]):
    """A store behind a connection. A subclass says in `_prepare` what opening it takes."""

    def __init__(self, connection: C) -> None:
        super().__init__(connection.address.name)
        self._connection = connection

    @classmethod
    def _opened(cls, connection: C, embedder: Embedder | None) -> Self:
        """A store of this kind, made ready; the connection is closed where that fails."""
        store = cls(connection)
        try:
            store._prepare(embedder)
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Lets the connection go."""
        self._connection.close()

    def _prepare(self, embedder: Embedder | None) -> None:
        """Makes the store for `embedder`, if given and there is none; reads model and dimension."""
        raise NotImplementedError


def require_batch(batch: int) -> None:
    """Nothing, when a scan can read `batch` passages at a time.

    Raises:
        InputError: batch < 1.
    """
    if batch < 1:
        raise InputError(f"batch must be >= 1, got {batch}")


def missing(name: str) -> StoreError:
    """The error for a store that is not there."""
    return StoreError(
        f"{name} must be a store that was loaded, and there is none. "
        "Load one with: equipoise store load CORPUS --store URL"
    )


def foreign(name: str, kind: str) -> StoreError:
    """The error for a table or collection (`kind`) that somebody else made."""
    return StoreError(
        f"{name} must be a {kind} that equipoise made, and is another. Name a {kind} that is not "
        "there yet."
    )


def unavailable(name: str, reason: str) -> StoreUnavailableError:
    """The error for a server that cannot be reached now."""
    return StoreUnavailableError(
        f"{name} must be reachable, and its server is not: {' '.join(reason.split())}. Start it, "
        "or look at host, port, user and password."
    )


def refused(name: str, reason: str) -> StoreError:
    """The error for a store that answered, and did not do it."""
    return StoreError(f"{name} could not do what it was asked: {' '.join(reason.split())}")
