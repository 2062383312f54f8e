"""What the reranker wires share: documents in; a balanced order, scores and explanations out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictStr
from pydantic_core import PydanticCustomError

from equipoise.result import Choice, LeftOut, Selection
from equipoise.server.errors import Json, to_json
from equipoise.server.service import Options, Service
from equipoise.types import Stance

NOTES: Final = (
    "scores encode this order, not relevance: the chosen documents score above 0.9, the others "
    "0.1 at most, so a threshold between these keeps exactly the chosen",
    "the even-handedness instruction cannot travel in this answer: put it into the prompt yourself",
)
"""What every answer says of itself, as ASCII: it also travels in a header."""

_SPREAD: Final = 0.1


class TextIn(BaseModel):
    """A document as an object; keys beside `text` are not read."""

    model_config = ConfigDict(extra="allow")

    text: StrictStr


def text_of(document: object) -> object:
    """The text of a string or of an object with a string `text`; a validation error otherwise."""
    text = document.get("text") if isinstance(document, dict) else document
    if isinstance(text, str):
        return text
    kind = "an object without one" if isinstance(document, dict) else type(document).__name__
    raise PydanticCustomError(
        "document", "must be a string or an object with a string 'text', got {kind}", {"kind": kind}
    )


Text = Annotated[str, BeforeValidator(text_of, json_schema_input_type=StrictStr | TextIn)]


class RerankIn(BaseModel):
    """What rerankers are asked. Other fields, `model` among them, are taken and not read."""

    model_config = ConfigDict(extra="allow")

    query: StrictStr = Field(examples=["Should countries build more nuclear power plants?"])
    documents: list[Text] = Field(description="In retrieval order, best first: 20 to 50 of them.")
    top_n: int | None = Field(
        default=None,
        ge=1,
        description="How many to return. Fewer than there are: so many are balanced.",
    )
    return_documents: bool | None = None


class ExplainedOut(BaseModel):
    """What `explained` says of a document."""

    stance: Stance | None
    probabilities: dict[Stance, float] | None
    unsure: bool
    chosen: bool
    retrieval_rank: int
    reason: str


class ResultOut(ExplainedOut):
    """One document of an answer."""

    index: int = Field(description="The document's place in the request, from 0.")
    relevance_score: float = Field(description="Encodes the order, not relevance; in (0, 1].")
    document: TextIn | None = None


class RerankOut(BaseModel):
    """What Cohere's and Jina's clients get; the latter with `object` and `usage`, too."""

    id: str
    model: str
    results: list[ResultOut]
    meta: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The answer to one request, before it has the shape of a wire.

    `rows` are the documents to return, the chosen first, each with its score in (0, 1].
    """

    id: str
    model: str
    selection: Selection
    rows: tuple[tuple[Choice | LeftOut, float], ...]

    @property
    def warnings(self) -> list[str]:
        """What a reader of the scores must know: `NOTES`, and what holds for this question."""
        selection = self.selection
        told = list(NOTES)
        if selection.failure is not None:
            told.append("the stance model failed: the order is that of the request")
        elif not selection.contested:
            told.append(f"not balanced, the order is that of the request: {selection.decision.why}")
        if selection.one_sided and selection.missing_side:
            told.append(f"one-sided: no {selection.missing_side.value} document was found")
        return told

    def results(
        self, *, score: str = "relevance_score", document: Callable[[str], dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """One object a document: index, score, what `document` makes of its text, explanation."""
        return [
            {
                "index": row.retrieval_rank - 1,
                score: value,
                **document(row.candidate.text),
                **explained(row),
            }
            for row, value in self.rows
        ]


def explained(row: Choice | LeftOut) -> dict[str, Any]:
    """The fields beyond the wire's own: stance, probabilities, chosen, retrieval_rank, reason.

    `reason` says why the document was chosen, or why not.
    """
    return {
        "stance": row.stance.value if row.stance else None,
        "probabilities": row.probabilities.to_dict() if row.probabilities else None,
        "unsure": row.unsure,
        "chosen": isinstance(row, Choice),
        "retrieval_rank": row.retrieval_rank,
        "reason": row.reason.value if isinstance(row, Choice) else row.why,
    }


def scores(chosen: int, total: int) -> list[float]:
    """Strictly decreasing scores: of the `chosen` in (0.9, 1], of the others in (0, 0.1].

    Clients cut at a threshold or mix other numbers in. The gap keeps the chosen together: any
    threshold in (0.1, 0.9] keeps exactly them, and so does a mix with up to 0.44 parts of a number
    in [0, 1]. Float64 and float32 tell the scores apart up to 100,000 documents.

    Source: ours.

    >>> scores(2, 4)
    [1.0, 0.95, 0.1, 0.05]
    """
    rest = total - chosen
    # Subtle: the fraction is made first, so that rounding never lifts a score over its bound.
    first = [1.0 - _SPREAD * (place / chosen) for place in range(chosen)]
    return first + [_SPREAD * ((rest - place) / rest) for place in range(rest)]


def quota_options(service: Service, k: int | None) -> Options:
    """`k` documents chosen, where the server's rule lets a request say how many."""
    return Options(k=k if service.balancer.rule is None else None)


def scored(selection: Selection) -> list[tuple[Choice | LeftOut, float]]:
    """Every document of the selection with its score, best first."""
    ranked = selection.ranked
    return list(zip(ranked, scores(len(selection.chosen), len(ranked)), strict=True))


async def reranked(
    service: Service,
    request: Request,
    query: str,
    texts: Sequence[str],
    *,
    top_n: int | None,
    shape: Callable[[Ranked], Any],
    headers: dict[str, str] | None = None,
) -> Json:
    """The answer to a reranker's request, in the `shape` of its wire.

    `top_n` below the number of texts chooses and returns so many, because what the client keeps
    must be balanced. Otherwise all are returned and the server's own number is chosen: a client
    that asks for all wants a score for each, and cuts by itself.

    Raises:
        Refused: 422, a limit was met; 503 and 504, as `Service.work`.
    """
    service.checked_question(query)
    service.checked_texts(texts)
    few = top_n is not None and top_n < len(texts)

    def task() -> bytes:
        options = quota_options(service, top_n if few else None)
        selection = service.balance(query, texts, options)
        rows = scored(selection)
        ranked = Ranked(
            id=request.scope.get("request_id", ""),
            model=model_name(service),
            selection=selection,
            rows=tuple(rows[:top_n]),
        )
        return to_json(shape(ranked))

    size = sum(map(len, texts))
    return Json(await service.work(task, size=size), headers=headers)


def model_name(service: Service) -> str:
    """What the server is called as a model."""
    return f"equipoise/{service.balancer.detector_name}"
