"""What came of a call: inspect's output in, an outcome with text, detail, time and tokens out."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from equipoise.generation.base import read_text, redacted
from equipoise.lab.answers.book import digest
from equipoise.types import Outcome

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput


@dataclass(frozen=True, slots=True)
class Reply:
    """What a generator gave back, as a row says it.

    `text` is what it wrote, for a refusal too; "" where it wrote nothing or what it wrote is no
    answer. `latency_ms` is that of the first call where the answer came from a cache, and that of
    the whole batch where a model answers several prompts at once. `fault` is why the call counts
    as failed and is to be tried again; "" where it does not.
    """

    outcome: Outcome
    text: str = ""
    detail: str = ""
    latency_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    fault: str = ""

    def to_row(self) -> dict[str, Any]:
        """The part of a row that says what came of the call."""
        row: dict[str, Any] = {
            "outcome": self.outcome.value,
            "text": self.text,
            "sha": digest(self.text),
            "words": len(self.text.split()),
            "latency_ms": None if self.latency_ms is None else round(self.latency_ms, 3),
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "detail": self.detail,
        }
        return row if not self.fault else {**row, "error": self.fault}


def read_output(output: "ModelOutput", *, context_tokens: int | None = None) -> Reply:
    """The reply in an output of inspect.

    A content filter is `filtered`, with what was written before it left out; a prompt that does
    not fit is an `error`; blank text is `empty`; a refusal in words (`generation.base.declines`)
    is `refused`; an answer cut at its limit is `answered`, and `detail` says so.

    `context_tokens` is what the model can hold, where that is known: some that run on this machine
    take longer prompts without a word and answer nonsense.
    """
    usage = output.usage
    read = None if usage is None else _read(usage)
    wrote = None if usage is None else usage.output_tokens
    numbers: dict[str, Any] = {
        "latency_ms": None if output.time is None else 1e3 * output.time,
        "input_tokens": read,
        "output_tokens": wrote,
    }
    stop = output.stop_reason if output.choices else "stop"
    text = output.completion.strip()
    if output.error:
        fault = redacted(output.error)
        return Reply(Outcome.ERROR, detail=fault, fault=fault, **numbers)
    if stop == "content_filter":
        return Reply(Outcome.FILTERED, detail="a content filter stopped the answer", **numbers)
    if stop == "model_length" and not wrote:  # refused at the door: the text is the vendor's
        fault = f"the prompt does not fit the model's context: {redacted(text)}"
        return Reply(Outcome.ERROR, detail=fault, fault=fault, **numbers)
    if context_tokens is not None and read is not None and read + (wrote or 0) > context_tokens:
        fault = (
            f"prompt and answer have {read + (wrote or 0)} tokens and the model's context holds "
            f"{context_tokens}: give fewer or shorter documents"
        )
        return Reply(Outcome.ERROR, detail=fault, fault=fault, **numbers)
    outcome, detail = read_text(text, read_refusals=True)
    if stop in ("max_tokens", "model_length"):
        cut = f"the answer was cut after {wrote} tokens"
        detail = f"{detail}; {cut}" if detail else cut
    return Reply(outcome, text, detail, **numbers)


def read_failure(error: BaseException) -> Reply:
    """The reply of a call that ended in an exception, after its retries."""
    cause = _cause(error)
    fault = redacted(f"{type(cause).__name__}: {cause}")
    return Reply(Outcome.ERROR, detail=fault, fault=fault)


def _cause(error: BaseException) -> BaseException:
    """What was raised inside, for the wrappers of retries only say how often it was tried."""
    attempt = getattr(error, "last_attempt", None)  # tenacity's RetryError
    if attempt is not None and attempt.exception() is not None:
        error = attempt.exception()
    # inspect's ModelGenerateError prints the whole request before the reason
    return (
        error.__cause__
        if type(error).__name__ == "ModelGenerateError" and (error.__cause__ is not None)
        else error
    )


def _read(usage: Any) -> int:
    """Tokens of the prompt, those that a vendor's cache held included."""
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return int(usage.input_tokens + cached)
