"""`POST /v2/rerank`: Cohere's rerank API, version 2."""

from typing import Any

from fastapi import APIRouter, Request

from equipoise.server.errors import Json
from equipoise.server.service import Service
from equipoise.server.wire._ranked import Ranked, RerankIn, RerankOut, reranked


def router(service: Service) -> APIRouter:
    """The route."""
    routes = APIRouter(tags=["rerank"])

    @routes.post(
        "/v2/rerank", summary="Rerank, as Cohere's version 2", responses={200: {"model": RerankOut}}
    )
    async def rerank(body: RerankIn, request: Request) -> Json:
        """The documents in balanced order; `meta.warnings` says what the scores are."""

        def shape(ranked: Ranked) -> dict[str, Any]:
            return {
                "id": ranked.id,
                "model": ranked.model,
                "results": ranked.results(
                    document=lambda text: (
                        {"document": {"text": text}} if body.return_documents else {}
                    )
                ),
                "meta": meta(ranked, version="2"),
            }

        return await reranked(
            service, request, body.query, body.documents, top_n=body.top_n, shape=shape
        )

    return routes


def meta(ranked: Ranked, *, version: str) -> dict[str, Any]:
    """Cohere's `meta`: nothing is billed here, and `labelled` is how many texts were read."""
    return {
        "api_version": {"version": version},
        "billed_units": {"search_units": 0},
        "warnings": ranked.warnings,
        "labelled": ranked.selection.labelled,
    }
