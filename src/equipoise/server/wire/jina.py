"""`POST /v1/rerank`: one answer that serves clients of Jina and of Cohere's version 1."""

from typing import Any, Final

from fastapi import APIRouter, Request

from equipoise.server.errors import Json
from equipoise.server.service import Service
from equipoise.server.wire._ranked import Ranked, RerankIn, RerankOut, reranked
from equipoise.server.wire.cohere import meta

USAGE: Final = {"total_tokens": 0, "prompt_tokens": 0}
"""No tokens are counted, and none are billed."""


def router(service: Service) -> APIRouter:
    """The route."""
    routes = APIRouter(tags=["rerank"])

    @routes.post(
        "/v1/rerank",
        summary="Rerank, as Jina and as Cohere's version 1",
        responses={200: {"model": RerankOut}},
    )
    async def rerank(body: RerankIn, request: Request) -> Json:
        """The documents in balanced order, with their texts unless `return_documents` is false."""
        return await answer(service, request, body)

    return routes


async def answer(service: Service, request: Request, body: RerankIn) -> Json:
    """The answer; `/rerank` gives it to requests in the form of Infinity and vLLM, too."""
    with_text = body.return_documents is not False

    def shape(ranked: Ranked) -> dict[str, Any]:
        return {
            "id": ranked.id,
            "model": ranked.model,
            "object": "list",
            "results": ranked.results(
                document=lambda text: {"document": {"text": text}} if with_text else {}
            ),
            "meta": meta(ranked, version="1"),
            "usage": USAGE,
        }

    return await reranked(
        service, request, body.query, body.documents, top_n=body.top_n, shape=shape
    )
