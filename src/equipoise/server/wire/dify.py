"""`POST /retrieval`: Dify's external knowledge API over an index of the server.

Dify asks for few documents; the index is asked for many, and a balanced set comes back.
"""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StrictStr

from equipoise._plain import plain
from equipoise.result import Choice, LeftOut
from equipoise.server.errors import Json, Refused, to_json
from equipoise.server.service import Service
from equipoise.server.wire._ranked import explained, quota_options, scored

_NO_SUCH_KNOWLEDGE = 2001  # Dify's code for it


class RetrievalSettingIn(BaseModel):
    """How many documents, and Dify's threshold (see `router`)."""

    model_config = ConfigDict(extra="allow")

    top_k: int | None = Field(default=None, ge=1, le=1_000)
    score_threshold: float | None = None


class RetrievalIn(BaseModel):
    """What Dify asks of external knowledge."""

    model_config = ConfigDict(extra="allow")

    knowledge_id: StrictStr = Field(description="The name of an index of this server.")
    query: StrictStr
    retrieval_setting: RetrievalSettingIn = RetrievalSettingIn()
    metadata_condition: dict[str, Any] | None = None


class RecordOut(BaseModel):
    """One document for Dify."""

    content: str
    score: float
    title: str
    metadata: dict[str, Any]


class RetrievalOut(BaseModel):
    """What Dify gets."""

    records: list[RecordOut]


def router(service: Service) -> APIRouter:
    """The route."""
    routes = APIRouter(tags=["dify"])

    @routes.post(
        "/retrieval",
        summary="Retrieve, as Dify's external knowledge",
        responses={200: {"model": RetrievalOut}},
    )
    async def retrieval(body: RetrievalIn) -> Json:
        """`top_k` balanced documents of an index, in retrieval order.

        `score_threshold` is taken and not applied: after balancing it would take documents from
        one side, and before it would compare Dify's 0 to 1 with scores of the index, whose scale
        is the index's own. All that is returned scores above 0.9, so that a threshold applied by
        Dify leaves the set whole up to there.
        """
        if (body.metadata_condition or {}).get("conditions"):
            # An answer that passes over a filter would show what was to be left out.
            raise Refused(422, "metadata_condition is not supported: leave it out")
        if body.knowledge_id not in service.retrievers:
            told = f"no index of this server is named {body.knowledge_id!r} (knowledge_id)"
            raise Refused(404, told, code=_NO_SUCH_KNOWLEDGE)
        question = service.checked_question(body.query)
        options = quota_options(service, body.retrieval_setting.top_k)

        def task() -> bytes:
            found = service.search(body.knowledge_id, question, service.depth(options))
            selection = service.balance(question, found, options)
            rows = scored(selection)[: len(selection.chosen)]
            return to_json({"records": [_record(row, score) for row, score in rows]})

        return Json(await service.work(task))

    return routes


def _record(row: Choice | LeftOut, score: float) -> dict[str, Any]:
    """A record for Dify. Its metadata is never null: Dify fails on that."""
    candidate = row.candidate
    metadata = plain(candidate.metadata)
    title = metadata.get("title")
    return {
        "content": candidate.text,
        "score": score,
        "title": title if isinstance(title, str) and title else candidate.id,
        "metadata": {
            **metadata,
            "equipoise": {
                "id": candidate.id,
                **explained(row),
                "retrieval_score": plain(candidate.score),
            },
        },
    }
