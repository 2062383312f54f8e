"""What `equipoise serve` opens before it serves."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.errors import InputError

if TYPE_CHECKING:
    from equipoise.prompt import Template
    from equipoise.settings import Settings
    from equipoise.types import Generator, Retriever


_NAME = re.compile(r"[\w.-]+")


def named_indexes(given: Sequence[str]) -> "dict[str, Retriever]":
    """Retrievers by name: of NAME=FOLDER the name, of a folder alone its last part.

    In place of a folder there may be the URL of a store.

    Raises:
        InputError: two have one name.
        StoreError: a folder holds no index.
    """
    from equipoise.retrieval import open_retriever

    opened: dict[str, Retriever] = {}
    for entry in given:
        name, equals, where = entry.partition("=")
        if not (equals and _NAME.fullmatch(name)):
            name, where = Path(entry).resolve().name, entry
        if name in opened:
            raise InputError(f"two indexes are named {name!r}: give names with NAME=FOLDER")
        opened[name] = open_retriever(where)
    return opened


def serving_generator(settings: "Settings") -> "tuple[Generator | None, Template | None]":
    """The generator and the template that suits it; (None, None) for the model "none".

    Raises:
        InputError, GenerationError, MissingExtraError: the model cannot be had.
    """
    from equipoise.cli._io import generator_or_note, prompt_template

    server_given = settings.base_url is not None and settings.model != "none"
    generator = generator_or_note(settings, asked_for=True, server_given=server_given)
    return generator, prompt_template(None, generator) if generator else None


LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def answered_hosts(bound: str, allowed: Sequence[str]) -> list[str] | None:
    """The names a server answers to: localhost's and `allowed` when bound there; None for any.

    >>> answered_hosts("0.0.0.0", []), answered_hosts("127.0.0.1", ["me.example"])[-1]
    (None, 'me.example')
    """
    local = bound in ("127.0.0.1", "localhost", "::1")
    if "*" in allowed or not (local or allowed):
        return None
    return [*(LOOPBACK if local else ()), *allowed]


def check_free(port: int) -> None:
    """Nothing, when `port` of this machine can be bound.

    Raises:
        InputError: something else has it.
    """
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise InputError(f"cannot bind 127.0.0.1:{port}: {error.strerror}") from error
