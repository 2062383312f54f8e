"""What stands before every route: request id, key, size of the body, count, log, last resort."""

import asyncio
import logging
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final

from equipoise.server import page
from equipoise.server.auth import Keys
from equipoise.server.errors import Refused, refusal
from equipoise.server.limits import Limits
from equipoise.server.logs import log
from equipoise.server.metrics import Metrics

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN: Final = page.PATHS | {"/health", "/health/live", "/health/ready", "/openapi.json"}
"""Paths that no key guards: they show nothing of the documents."""

_PORT: Final = re.compile(r":\d*$")
_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Guard:
    """ASGI middleware around the whole application.

    A request gets an id (its own `X-Request-Id` where that is plain), which comes back in the
    response and stands in the log. Paths other than `OPEN` need a key where there are keys. The
    body is read whole before the application sees it, within the limits of size and time.

    `hosts` are the names that a request may address the server by; None takes any. A server of
    this machine alone should have them: a web page can make its own name lead here, and would
    otherwise read answers through the browser of whoever opens it. With `log_text` the log has the
    bodies of requests, too.
    """

    def __init__(
        self,
        app: App,
        *,
        keys: Keys,
        limits: Limits,
        metrics: Metrics,
        hosts: frozenset[str] | None = None,
        log_text: bool = False,
    ) -> None:
        self._app = app
        self._log_text = log_text
        self._hosts = hosts
        self._keys = keys
        self._limits = limits
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        request_id = _request_id(headers)
        scope["request_id"] = request_id
        began = time.perf_counter()
        sent = _Sent(send, request_id)
        try:
            await self._served(scope, headers, receive, sent)
        except Exception:
            # The reason goes to the log; the client learns only under which id to look.
            log("request failed", level=logging.ERROR, error=True, request_id=request_id)
            if not sent.status:
                message = f"something went wrong here (request {request_id})"
                await refusal(500, message)(scope, receive, sent)
        route = getattr(scope.get("route"), "path", "unmatched")
        seconds = time.perf_counter() - began
        self._metrics.requests.labels(route, str(sent.status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        log(
            "request",
            request_id=request_id,
            method=scope["method"],
            route=route,
            status=sent.status,
            ms=round(1e3 * seconds, 1),
            **scope.get("log", {}),
        )

    async def _served(
        self, scope: Scope, headers: Mapping[str, str], receive: Receive, sent: "_Sent"
    ) -> None:
        try:
            self._check_host(headers.get("host", ""))
            if scope["path"] not in OPEN:
                self._check_key(headers.get("authorization", ""))
            body = await self._body(headers, receive)
            if body:
                _check_kind(headers)
        except Refused as refused:
            await refused.response()(scope, receive, sent)
            return
        if self._log_text:
            scope["log"] = {"body": body.decode("utf-8", "backslashreplace")}
        await self._app(scope, _replayed(body, receive), sent)

    def _check_key(self, authorization: str) -> None:
        if self._keys.open_to(authorization):
            return
        self._metrics.refused.labels("unauthorized").inc()
        raise Refused(
            401,
            "this server does not know that key"
            if authorization
            else "this server needs a key: send Authorization: Bearer KEY",
            {"WWW-Authenticate": "Bearer", "Connection": "close"},
            code=_key_code(authorization),
        )

    def _check_host(self, host: str) -> None:
        name = _PORT.sub("", host.lower())
        if self._hosts is not None and name not in self._hosts:
            self._metrics.refused.labels("host").inc()
            known = ", ".join(sorted(self._hosts))
            raise Refused(421, f"this server answers to {known} (--allow-host), not to {host!r}")

    async def _body(self, headers: Mapping[str, str], receive: Receive) -> bytes:
        most = self._limits.body_bytes
        declared = headers.get("content-length", "")
        if declared.isdigit() and int(declared) > most:
            raise self._too_large()
        try:
            async with asyncio.timeout(self._limits.timeout_s):
                parts: list[bytes] = []
                size = 0
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "the client went away before its body was here")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError as error:
            self._metrics.refused.labels("body_timeout").inc()
            limit = self._limits.timeout_s
            told = f"the body must arrive within {limit:g} seconds (timeout_s)"
            raise Refused(408, told, {"Connection": "close"}) from error

    def _too_large(self) -> Refused:
        self._metrics.refused.labels("too_large").inc()
        most = self._limits.body_bytes
        message = f"a body may have {most} bytes (body_bytes)"
        # The rest of the body is not read, so the connection cannot be used again.
        return Refused(413, message, {"Connection": "close"})


class _Sent:
    """Passes a response on, with the request's id and a few headers, and remembers its status."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._extra = [
            (b"x-request-id", request_id.encode("ascii")),
            (b"x-content-type-options", b"nosniff"),
        ]
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message.get("headers", ()), *self._extra]}
        await self._send(message)


def _check_kind(headers: Mapping[str, str]) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        got = f"{kind!r}" if kind else "none"
        raise Refused(415, f"send the body with Content-Type: application/json, got {got}")
    encoding = headers.get("content-encoding", "identity").lower()
    if encoding != "identity":
        raise Refused(415, f"send the body as it is, not with Content-Encoding: {encoding}")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body once, and then what the connection says."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _key_code(authorization: str) -> int:
    """Dify's code for a refused key: 1001 for a header of another form, 1002 for a wrong key."""
    return 1002 if re.fullmatch(r"bearer \S+", authorization.strip(), re.IGNORECASE) else 1001


def _request_id(headers: Mapping[str, str]) -> str:
    given = headers.get("x-request-id", "")
    return given if _ID.fullmatch(given) else uuid.uuid4().hex
