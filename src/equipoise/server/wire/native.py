"""`/v1/balance` and `/v1/answer`: everything that the library says, as JSON."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, StrictStr

from equipoise.result import Selection
from equipoise.server.errors import Json, Refused, to_json
from equipoise.server.service import Options, Service
from equipoise.server.wire._ranked import text_of
from equipoise.types import Quota


class DocumentIn(BaseModel):
    """A document; keys beside these are taken into its metadata."""

    model_config = ConfigDict(extra="allow")

    text: StrictStr
    id: StrictStr | StrictInt | None = None
    score: float | None = None
    metadata: dict[str, Any] | None = None
    embedding: list[float] | None = None


def _document(given: object) -> object:
    text_of(given)  # in words of ours, before pydantic names both kinds
    return given


Document = Annotated[StrictStr | DocumentIn, BeforeValidator(_document)]


class QuotaIn(BaseModel):
    """Seats for each stance, and how far down to look for them."""

    model_config = ConfigDict(extra="forbid")

    pro: StrictInt = Field(2, ge=0, le=1_000)
    con: StrictInt = Field(2, ge=0, le=1_000)
    neutral: StrictInt = Field(1, ge=0, le=1_000)
    pool: StrictInt = Field(20, ge=1, le=1_000_000)
    depth: StrictInt = Field(50, ge=1, le=1_000_000)


class QuestionIn(BaseModel):
    """A question with documents in retrieval order, or with the name of an index to search."""

    model_config = ConfigDict(extra="forbid")

    question: StrictStr = Field(examples=["Should countries build more nuclear power plants?"])
    documents: list[Document] | None = Field(
        None, description="In retrieval order, best first: 20 to 50 of them, for a choice."
    )
    index: StrictStr | None = Field(None, description="In place of documents: an index to search.")
    k: StrictInt | None = Field(None, ge=1, le=1_000, description="How many to choose.")
    quota: QuotaIn | None = None
    gate: Literal["auto", "always", "never"] | None = None
    merge_duplicates: bool | None = None
    unsure_below: float | None = Field(None, ge=0, lt=1)

    def options(self) -> Options:
        """What this request sets."""
        return Options(
            k=self.k,
            quota=Quota(**self.quota.model_dump()) if self.quota else None,
            gate=self.gate,
            merge_duplicates=self.merge_duplicates,
            unsure_below=self.unsure_below,
        )


class BalanceIn(QuestionIn):
    """What `/v1/balance` takes."""

    even_handed: bool | None = Field(
        None, description="The instruction in the prompt: null gives it to balanced questions."
    )
    html: bool = Field(False, description="Also the picture, an HTML fragment.")


class AnswerIn(QuestionIn):
    """What `/v1/answer` takes."""

    settings: list[Literal["A", "B", "C", "D"]] = Field(["A", "C"], min_length=1, max_length=4)


def router(service: Service) -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["equipoise"])

    @routes.post("/v1/balance", summary="Balance documents for a question")
    async def balance(body: BalanceIn, request: Request) -> Json:
        """The selection with everything that explains it, and the prompt.

        `selection` is what `Selection.to_dict()` gives, `instruction` the even-handedness
        instruction (empty where it does not apply), `prompt` the full prompt.
        """
        question = service.checked_question(body.question)
        options = body.options()

        def task() -> bytes:
            selection = service.balance(question, documents_of(service, body), options)
            return to_json(_balanced(service, selection, body))

        return Json(await service.work(task, size=size_of(body)))

    @routes.post("/v1/answer", summary="Answer a question in several settings")
    async def answer(body: AnswerIn) -> Json:
        """One answer a setting: A as retrieved, B balanced, C balanced with instruction, D."""
        question = service.checked_question(body.question)
        if service.generator is None:
            raise Refused(501, "no generator is configured: start the server with --model")
        options, settings = body.options(), list(dict.fromkeys(body.settings))

        def task() -> bytes:
            documents = documents_of(service, body)
            answers = service.answer(question, documents, settings, options)
            return to_json({"answers": [answer.to_dict() for answer in answers]})

        return Json(await service.work(task, answers=True))

    return routes


def documents_of(service: Service, body: QuestionIn) -> list[Any]:
    """The documents given, or those that the index named has for the question.

    Raises:
        Refused: 422, both or neither were given or a limit was met; 404, no such index.
    """
    if (body.documents is None) == (body.index is None):
        raise Refused(422, "give either documents or the name of an index, and not both")
    if body.index is not None:
        return list(service.search(body.index, body.question, service.depth(body.options())))
    given = [
        item if isinstance(item, str) else item.model_dump(exclude_none=True)
        for item in body.documents or ()
    ]
    service.checked_texts([item if isinstance(item, str) else item["text"] for item in given])
    return given


def size_of(body: QuestionIn) -> int | None:
    """Characters of the documents given; None for an index."""
    if body.documents is None:
        return None
    return sum(len(one if isinstance(one, str) else one.text) for one in body.documents)


def _balanced(service: Service, selection: Selection, body: BalanceIn) -> dict[str, Any]:
    from equipoise.prompt import DEFAULT

    template = service.template or DEFAULT
    even_handed = selection.contested if body.even_handed is None else body.even_handed
    told = {
        "selection": selection.to_dict(),
        "instruction": template.instruction if even_handed else "",
        "prompt": selection.prompt(even_handed=even_handed, template=template),
    }
    return {**told, "html": selection.to_html(standalone=False)} if body.html else told
