"""What came back from a vendor, or went wrong, as one of our outcomes.

Read off pydantic-ai 2.68: a refusal and a content filter both come out as the finish reason
`content_filter`; what tells them apart is `provider_details` (a `refusal` text, or the vendor's
own finish reason `refusal`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from equipoise.generation.base import read_text, redacted
from equipoise.types import Outcome

_RETRIED_STATUSES: Final = frozenset({408, 409, 429})
_FILTER_CODES: Final = frozenset(
    {"content_filter", "content_policy_violation", "responsible_ai_policy_violation"}
)
_HINTS: Final = {
    401: "check the key",
    403: "check the key and what it may use",
    404: "check the model's name and the base URL",
    413: "the prompt is too long for this server",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """One reply of a vendor: outcome, text, what went wrong, tokens where told."""

    outcome: Outcome
    text: str = ""
    detail: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed call: its outcome, whether trying again may help, the wait the vendor asked for.

    `retry_after_s` is in seconds, None where the vendor did not say.
    """

    outcome: Outcome
    detail: str
    retry: bool = False
    retry_after_s: float | None = None


def read_response(response: Any, *, max_tokens: int, read_refusals: bool) -> Reading:
    """A pydantic-ai `ModelResponse` as outcome, text and detail.

    An answer cut at `max_tokens` stays an answer, and the detail says that it was cut.
    """
    text = (response.text or "").strip()
    vendor = response.provider_details or {}
    outcome, detail = _finished(response.finish_reason, vendor, text, read_refusals)
    if outcome is Outcome.REFUSED and not text:
        text = str(vendor.get("refusal") or "")
    if response.finish_reason == "length":
        cut = f"cut at max_tokens={max_tokens}"
        detail = f"{detail}; {cut}" if detail else f"the answer was {cut}"
    return Reading(
        outcome,
        text,
        detail,
        input_tokens=response.usage.input_tokens or None,
        output_tokens=response.usage.output_tokens or None,
    )


def _finished(
    reason: str | None, vendor: dict[str, Any], text: str, read_refusals: bool
) -> tuple[Outcome, str]:
    said = str(vendor.get("finish_reason") or vendor.get("block_reason") or "")
    if reason == "content_filter":
        if vendor.get("refusal") or said == "refusal":
            return Outcome.REFUSED, "the model declined (the vendor marked it as a refusal)"
        because = f" ({redacted(said)})" if said else ""
        return Outcome.FILTERED, f"the vendor's content filter stopped it{because}"
    if reason == "error":
        return (
            Outcome.ERROR,
            f"the vendor reported an error{f' ({redacted(said)})' if said else ''}",
        )
    return read_text(text, read_refusals=read_refusals)


def read_error(error: Exception, *, secrets: Iterable[str] = ()) -> Failure:
    """An exception of a call as outcome and detail, and whether the call is worth repeating.

    Worth it: HTTP 408, 409, 429 and 5xx, a lost or refused connection, a timeout. Not worth it: a
    spent quota (also sent as 429), a vendor that says so, and anything else.
    """
    from pydantic_ai import exceptions as vendor

    if isinstance(error, vendor.ContentFilterError):
        return Failure(Outcome.FILTERED, redacted(f"content filter: {error}", secrets))
    if isinstance(error, vendor.ModelHTTPError):
        return _http_failure(error, secrets)
    if isinstance(error, vendor.ModelTimeoutError | vendor.ModelRequestTimeout):
        return Failure(Outcome.ERROR, redacted(f"timed out: {error}", secrets), retry=True)
    if isinstance(error, vendor.ModelConnectionError):
        return Failure(Outcome.ERROR, redacted(f"no connection: {error}", secrets), retry=True)
    return Failure(Outcome.ERROR, redacted(f"{type(error).__name__}: {error}", secrets))


def _http_failure(error: Any, secrets: Iterable[str]) -> Failure:
    from pydantic_ai.exceptions import ModelQuotaExceededError

    status = error.status_code
    said = redacted(_message(error.body), secrets)
    hint = f" ({_HINTS[status]})" if status in _HINTS else ""
    detail = f"HTTP {status}{f': {said}' if said else ''}{hint}"
    if _FILTER_CODES.intersection(_codes(error)):
        return Failure(Outcome.FILTERED, detail)
    transient = status in _RETRIED_STATUSES or 500 <= status < 600
    hopeless = isinstance(error, ModelQuotaExceededError) or error.provider_retry_hint is False
    return Failure(Outcome.ERROR, detail, transient and not hopeless, error.retry_after)


def _message(body: object) -> str:
    """The message in an error body: `{"error": {"message": ...}}`, `{"message": ...}` or a text."""
    while isinstance(body, dict):
        body = body.get("message") or body.get("error") or body.get("detail") or ""
    return body if isinstance(body, str) else ""


def _codes(error: Any) -> set[str]:
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error")
    code = (inner if isinstance(inner, dict) else body).get("code")
    found = (error.provider_error_code, error.provider_error_type, code)
    return {entry for entry in found if isinstance(entry, str)}
