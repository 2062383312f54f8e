"""Applications served over a real socket."""

import gc
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import pytest
import uvicorn


@contextmanager
def serve(app: Any) -> Iterator[str]:
    """The address (http://127.0.0.1:PORT) of the application, served in a thread until the end."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.bind(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=10)
    )

    def run() -> None:
        with suppress(SystemExit):  # how uvicorn says that the application did not start
            server.run(sockets=[bound])

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        until = time.monotonic() + 60
        while not server.started:
            assert thread.is_alive(), "the application did not start"
            assert time.monotonic() < until, "the application did not start within 60 seconds"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        bound.close()
    assert not thread.is_alive(), "the application did not stop within 30 seconds"


@pytest.fixture
def serving() -> Callable[[Any], AbstractContextManager[str]]:
    """`with serving(app) as url:` serves an application over a free port of the loopback."""
    return serve


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a server over the toy world in `world.py`."""
    from .world import app

    with serve(app()) as address:
        yield address


@pytest.fixture
def leaves_sockets() -> Iterator[None]:
    """For clients that leave their connections to the collector: they end in their own test."""
    yield
    gc.collect()
