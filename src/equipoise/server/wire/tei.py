"""`POST /rerank` and `GET /info`: text-embeddings-inference (TEI), Infinity and vLLM.

They share the path. TEI sends `texts` and wants a bare array; the others send `documents`.
"""

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, StrictStr

import equipoise
from equipoise.server.errors import Json, Refused
from equipoise.server.service import Service
from equipoise.server.wire._ranked import (
    NOTES,
    ExplainedOut,
    Ranked,
    RerankIn,
    RerankOut,
    Text,
    model_name,
    reranked,
)
from equipoise.server.wire.jina import answer


class EitherIn(BaseModel):
    """A request with `texts` (TEI) or with `documents` (Infinity, vLLM), one of them."""

    model_config = ConfigDict(extra="allow")

    query: StrictStr
    texts: list[Text] | None = Field(default=None, description="In retrieval order, best first.")
    documents: list[Text] | None = Field(
        default=None, description="In retrieval order, best first."
    )
    top_n: int | None = Field(default=None, ge=1)
    return_text: bool = False
    return_documents: bool | None = None


class ScoreOut(ExplainedOut):
    """One document of TEI's array."""

    index: int
    score: float
    text: str | None = None


def router(service: Service) -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["rerank"])

    @routes.post(
        "/rerank",
        summary="Rerank, as TEI, Infinity and vLLM",
        responses={200: {"model": list[ScoreOut] | RerankOut}},
    )
    async def rerank(body: EitherIn, request: Request) -> Json:
        """A bare array for `texts`; the answer of `/v1/rerank` for `documents`.

        An array has no place for warnings: the header `X-Equipoise-Warnings` has them.
        `raw_scores` changes nothing, as there are no raw ones.
        """
        if body.documents is not None and body.texts is None:
            asked = RerankIn(
                query=body.query,
                documents=body.documents,
                top_n=body.top_n,
                return_documents=body.return_documents,
            )
            return await answer(service, request, asked)
        if body.texts is None or body.documents is not None:
            raise Refused(422, "give either texts or documents")

        def shape(ranked: Ranked) -> list[dict[str, Any]]:
            return ranked.results(
                score="score", document=lambda text: {"text": text} if body.return_text else {}
            )

        return await reranked(
            service,
            request,
            body.query,
            body.texts,
            top_n=body.top_n,
            shape=shape,
            headers={"X-Equipoise-Warnings": "; ".join(NOTES)},
        )

    @routes.get("/info", summary="What is served, as TEI says it")
    async def info() -> Json:
        """Name, version and limits. Long texts are read whole: there is no length in tokens."""
        limits = service.limits
        return Json(
            {
                "model_id": model_name(service),
                "model_type": {
                    "reranker": {"id2label": {"0": "BALANCED"}, "label2id": {"BALANCED": 0}}
                },
                "max_concurrent_requests": limits.workers + limits.queue,
                "max_client_batch_size": limits.documents,
                "auto_truncate": False,
                "version": equipoise.__version__,
            }
        )

    return routes
