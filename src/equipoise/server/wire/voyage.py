"""`POST /voyage/v1/rerank`: Voyage's rerank API; its clients get the base URL `.../voyage/v1`.

A prefix of its own, because Voyage's path is Jina's and its answer is another.
"""

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, StrictStr

from equipoise.server.errors import Json
from equipoise.server.service import Service
from equipoise.server.wire._ranked import ExplainedOut, Ranked, Text, reranked
from equipoise.server.wire.jina import USAGE


class VoyageIn(BaseModel):
    """What Voyage's reranker is asked. Other fields are taken and not read."""

    model_config = ConfigDict(extra="allow")

    query: StrictStr
    documents: list[Text] = Field(description="In retrieval order, best first: 20 to 50 of them.")
    top_k: int | None = Field(
        default=None,
        ge=1,
        description="How many to return. Fewer than there are: so many are balanced.",
    )
    return_documents: bool | None = None


class VoyageResultOut(ExplainedOut):
    """One document of an answer."""

    index: int
    relevance_score: float
    document: str | None = None


class VoyageOut(BaseModel):
    """What Voyage's clients get."""

    object: str
    data: list[VoyageResultOut]
    model: str
    usage: dict[str, int]
    warnings: list[str]


def router(service: Service) -> APIRouter:
    """The route."""
    routes = APIRouter(tags=["rerank"])

    @routes.post(
        "/voyage/v1/rerank", summary="Rerank, as Voyage", responses={200: {"model": VoyageOut}}
    )
    async def rerank(body: VoyageIn, request: Request) -> Json:
        """The documents in balanced order, under `data`."""

        def shape(ranked: Ranked) -> dict[str, Any]:
            return {
                "object": "list",
                "data": ranked.results(
                    document=lambda text: {"document": text} if body.return_documents else {}
                ),
                "model": ranked.model,
                "usage": USAGE,
                "warnings": ranked.warnings,
            }

        return await reranked(
            service, request, body.query, body.documents, top_n=body.top_k, shape=shape
        )

    return routes
