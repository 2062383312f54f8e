"""What a client is told when something is refused or fails: one body, no stack trace.

One body carries the names that the clients of each wire look for: `message` (Cohere), `detail`
(Jina, Voyage, FastAPI's own), `error` and `error_type` (text-embeddings-inference), `error_code`
and `error_msg` (Dify).
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from equipoise.errors import EquipoiseError, InputError
from equipoise.render.cleaning import clip, one_line

_LONGEST: Final = 500

_TYPES: Final[Mapping[int, str]] = {
    400: "malformed",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    408: "body_timeout",
    413: "too_large",
    415: "unsupported_media_type",
    421: "misdirected",
    422: "validation",
    500: "internal",
    501: "not_configured",
    503: "overloaded",
    504: "timeout",
}


class Refused(Exception):
    """A request that is answered with `status` and `message`, and the headers given.

    `code` is Dify's number for what happened, where it has one; else it is the status.
    """

    def __init__(
        self,
        status: int,
        message: str,
        headers: Mapping[str, str] | None = None,
        *,
        code: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = dict(headers or {})
        self.code = status if code is None else code

    def response(self) -> "Json":
        """What the client is told."""
        return refusal(self.status, self.message, self.headers, code=self.code)


class Json(Response):
    """JSON that any reader takes: ASCII escapes carry lone surrogates, and no NaN gets out."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes; what is bytes already passes as it is."""
        return content if isinstance(content, bytes) else to_json(content)


def to_json(content: Any) -> bytes:
    """Compact JSON as ASCII bytes."""
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def refusal(
    status: int,
    message: str,
    headers: Mapping[str, str] | None = None,
    *,
    code: int | None = None,
) -> Json:
    """The response for an error, with every name that a client may look for."""
    told = clip(one_line(message), _LONGEST)
    body = {
        "message": told,
        "detail": told,
        "error": told,
        "error_type": _TYPES.get(status, "refused"),
        "error_code": status if code is None else code,
        "error_msg": told,
    }
    return Json(body, status_code=status, headers=dict(headers or {}))


def install(app: FastAPI) -> None:
    """Every way to fail ends in `refusal`; what nobody foresaw is 500 without its reason."""
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(EquipoiseError, _ours)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return error.response()


async def _ours(request: Request, error: Exception) -> Response:
    if isinstance(error, InputError):
        return refusal(422, str(error))
    # A model or a store that does not answer now may do so later.
    return refusal(503, f"{type(error).__name__}: {error}", {"Retry-After": "5"})


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 400:  # FastAPI's word for a body that its JSON reader gave up on
        return refusal(400, "the body must be JSON in UTF-8, and not nested too deep")
    return refusal(error.status_code, str(error.detail), error.headers)


async def _invalid(request: Request, error: Exception) -> Response:
    """What is wrong with a body, by field; the values that came are not repeated."""
    assert isinstance(error, RequestValidationError)
    problems = error.errors()
    for problem in problems:
        if problem["type"] == "json_invalid":
            why = problem.get("ctx", {}).get("error", "it cannot be read")
            return refusal(400, f"the body must be JSON: {why} at character {problem['loc'][-1]}")
    return refusal(422, "; ".join(_told(problems)))


def _told(problems: Iterable[Mapping[str, Any]]) -> list[str]:
    told = []
    for problem in list(problems)[:5]:
        place = ".".join(str(part) for part in problem["loc"] if part != "body")
        told.append(f"{place or 'the body'}: {problem['msg']}")
    return told
