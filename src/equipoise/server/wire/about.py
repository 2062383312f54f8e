"""`/v1/about`: what this server has, for a page or a client that wants to show it."""

from dataclasses import asdict

from fastapi import APIRouter

import equipoise
from equipoise.server.errors import Json
from equipoise.server.service import Service


def router(service: Service) -> APIRouter:
    """The route."""
    routes = APIRouter(tags=["operation"])

    @routes.get("/v1/about", summary="What does this server have?")
    async def about() -> Json:
        """Name and version, detector, indexes, generator, defaults and limits.

        A server that needs a key answers 401 to whoever shows none: the names of its indexes are
        not for everyone.
        """
        return Json(
            {
                "name": "equipoise",
                "version": equipoise.__version__,
                "ready": service.ready,
                "detector": service.balancer.detector_name,
                "indexes": sorted(service.retrievers),
                "generator": service.generator is not None,
                "quota": asdict(service.balancer.quota),
                "gate": service.balancer.gate.mode,
                "limits": asdict(service.limits),
            }
        )

    return routes
