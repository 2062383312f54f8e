"""Runs an application under uvicorn until it is told to stop."""

import socket
from collections.abc import Callable

from equipoise._extras import require
from equipoise.errors import InputError
from equipoise.server.limits import Limits
from equipoise.server.logs import start_logging

_GRACE_S = 5.0
"""Seconds beyond the longest request that a stop waits for what is running."""


def run(
    app: object,
    *,
    host: str,
    port: int,
    limits: Limits,
    ready: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM; then take no new connection, and finish what is running.

    `ready` is told the address once connections are taken and the model is loaded. Logs go to
    stderr as JSON lines.

    Raises:
        InputError: the address cannot be bound.
    """
    uvicorn = require("uvicorn", extra="server")
    bound = _bound(host, port)
    start_logging()
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=round(limits.timeout_s + _GRACE_S),
    )
    address, number = bound.getsockname()[:2]
    shown = f"[{address}]" if ":" in address else address

    class Server(uvicorn.Server):  # type: ignore[name-defined, misc]
        async def startup(self, sockets: "list[socket.socket] | None" = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready(f"http://{shown}:{number}")

    server = Server(config)
    server.run(sockets=[bound])
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
