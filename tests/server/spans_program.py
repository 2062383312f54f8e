"""Serves one request with an OpenTelemetry SDK set up, and prints its spans as JSON lines."""

import asyncio
import json

import httpx
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from equipoise import Balancer
from equipoise.server import create_app
from equipoise.testing import FakeDetector


async def main() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    app = create_app(Balancer(detector=FakeDetector({}, default="neutral")))
    transport = httpx.ASGITransport(app=app)
    caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://x") as client,
    ):
        body = {"question": "Should it be legal?", "documents": ["a", "b"]}
        await client.post("/v1/balance", json=body, headers={"traceparent": caller})
    for span in exporter.get_finished_spans():
        told = {
            "name": span.name,
            "id": f"{span.context.span_id:016x}",
            "parent": f"{span.parent.span_id:016x}" if span.parent else None,
            "attributes": dict(span.attributes or {}),
        }
        print(json.dumps(told))


asyncio.run(main())
