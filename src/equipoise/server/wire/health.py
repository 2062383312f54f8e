"""`/health`, `/metrics`: for the machines that look after the server."""

from fastapi import APIRouter
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST

from equipoise.server.errors import Json
from equipoise.server.service import Service


def router(service: Service) -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["operation"])

    @routes.get("/health/live", summary="Is the process alive?")
    async def live() -> Json:
        """200 as long as the event loop turns."""
        return Json({"status": "live"})

    @routes.get("/health/ready", summary="May requests be sent here?")
    @routes.get("/health", summary="May requests be sent here?")
    async def ready() -> Json:
        """200 once the model is loaded; 503 before, while stopping, and when it does not load."""
        state = "failed" if service.failure else "ready" if service.ready else "not ready"
        return Json({"status": state}, status_code=200 if service.ready else 503)

    @routes.get("/metrics", summary="Counters for Prometheus")
    async def metrics() -> Response:
        """Counters and histograms in Prometheus's text format."""
        return Response(service.metrics.page(), media_type=CONTENT_TYPE_LATEST)

    return routes
