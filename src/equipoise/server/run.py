"""Runs an application under uvicorn until it is told to stop."""

import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from equipoise._extras import require
from equipoise.errors import DetectorError, InputError
from equipoise.server.limits import Limits
from equipoise.server.logs import start_logging

if TYPE_CHECKING:
    from fastapi import FastAPI

    from equipoise.server.service import Service

_GRACE_S = 5.0
"""Seconds beyond the longest request that a stop waits for what is running."""


def run(
    app: "FastAPI",
    *,
    host: str,
    port: int,
    limits: Limits,
    listening: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM; then take no new connection, and finish what is running.

    `listening` is told the address once connections are taken; the model may still be loading.
    Logs go to stderr as JSON lines.

    Raises:
        InputError: the address cannot be bound.
        DetectorError: the model does not load.
    """
    uvicorn = require("uvicorn", extra="server")
    service: Service = app.state.service
    bound = _bound(host, port)
    start_logging()
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=round(limits.timeout_s + _GRACE_S),
    )
    address, at = bound.getsockname()[:2]
    shown = f"[{address}]" if ":" in address else address

    class Server(uvicorn.Server):  # type: ignore[name-defined, misc]
        async def startup(self, sockets: "list[socket.socket] | None" = None) -> None:
            await super().startup(sockets)
            if self.started:
                listening(f"http://{shown}:{at}")

        async def on_tick(self, counter: int) -> bool:
            return bool(await super().on_tick(counter)) or service.failure is not None

    # uvicorn raises the signal again once it has stopped; a stop that went well is no failure.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    server = Server(config)
    server.run(sockets=[bound])
    if service.failure is not None:
        raise DetectorError(service.failure)
    if not server.started:
        raise SystemExit(1)


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # Subtle: asyncio switches Nagle's algorithm off only where it sees that this is TCP.
        # Without the third argument each answer would wait 40 ms for an acknowledgement.
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except (OSError, UnicodeError) as error:
        raise InputError(f"cannot bind {host}:{port}: {error}") from error
    return bound
