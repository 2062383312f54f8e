"""The ASGI application: routes over one service, behind one guard."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

from equipoise._extras import require

require("fastapi", extra="server")
require("prometheus_client", extra="server")
require("opentelemetry", extra="server")

from fastapi import FastAPI

import equipoise
from equipoise.balancer import Balancer
from equipoise.prompt import Template
from equipoise.server import errors, page
from equipoise.server.auth import Keys
from equipoise.server.guard import Guard
from equipoise.server.limits import Limits
from equipoise.server.metrics import Metrics
from equipoise.server.service import Service
from equipoise.server.wire import about, cohere, dify, health, jina, native, tei, voyage
from equipoise.types import Generator, Retriever

_ROUTERS = (about, health, native, page, cohere, jina, voyage, tei, dify)


def create_app(
    balancer: Balancer | None = None,
    *,
    retrievers: Mapping[str, Retriever] | None = None,
    generator: Generator | None = None,
    template: Template | None = None,
    keys: Keys | None = None,
    limits: Limits | None = None,
    hosts: Iterable[str] | None = None,
    log_text: bool = False,
) -> FastAPI:
    """An application that balances over HTTP; run it with any ASGI server.

    Args:
        balancer: default `Balancer()`. Its detector is shared by all requests.
        retrievers: indexes that may be searched, by name.
        generator: writes the answers of `/v1/answer`; None answers 501 there.
        template: the prompt template, in place of the default one.
        keys: bearer keys; none leaves the server open.
        limits: bounds on sizes, waiting and time.
        hosts: names that requests may address it by; None takes any (see `Guard`).
        log_text: also log the bodies of requests: questions and documents.

    The model is loaded once the application has started; until then `/health` answers 503.
    `app.state.service` is the service behind the routes; its `failure` tells why no model is there.
    """
    limits = limits or Limits()
    metrics = Metrics()
    service = Service(
        balancer if balancer is not None else Balancer(),
        retrievers=retrievers or {},
        generator=generator,
        template=template,
        limits=limits,
        metrics=metrics,
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # Beside the first requests, so that the page and /health/live answer meanwhile.
        loading = asyncio.create_task(asyncio.to_thread(service.warm_up))
        yield
        await loading
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="equipoise",
        version=equipoise.__version__,
        description="Even-handed evidence for retrieval-augmented generation.",
        lifespan=lifespan,
        # Their pages load scripts from elsewhere; /openapi.json is there for every tool.
        docs_url=None,
        redoc_url=None,
        # A record of a validation failure would carry the text that came.
        telemetry={"logs": False, "operation_spans": False},
    )
    app.state.service = service
    errors.install(app)
    for part in _ROUTERS:
        app.include_router(part.router(service))
    app.add_middleware(
        Guard,
        keys=keys or Keys(),
        limits=limits,
        metrics=metrics,
        hosts=None if hosts is None else frozenset(name.lower() for name in hosts),
        log_text=log_text,
    )
    return app
