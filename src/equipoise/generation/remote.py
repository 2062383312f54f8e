"""Any vendor's model, or any OpenAI-compatible server, through pydantic-ai's direct API."""

import asyncio
import logging
import math
import time
from typing import Any, Self

from equipoise._extras import require
from equipoise.errors import InputError
from equipoise.generation._loop import LoopThread
from equipoise.generation.base import Retry, check_number, checked_prompt
from equipoise.generation.outcomes import Failure, Reading, read_error, read_response
from equipoise.generation.vendors import EXTRA, open_model, takes_temperature
from equipoise.types import Answer, Outcome

_log = logging.getLogger(__name__)


class RemoteGenerator:
    """Writes answers with a model behind an API. Safe to share between threads.

    `model` reads `vendor:model`. With `base_url`, `openai:NAME` means any server that speaks
    OpenAI's chat completions. `api_key` overrides the vendor's own environment variable; it is
    handed to the vendor's library and kept nowhere else. `timeout_s` bounds one call, `retry` says
    how often and when a call is repeated; so one answer takes at most attempts * timeout_s plus
    the waits. `temperature` is left out for models that do not take it; `seed` is sent where the
    vendor has one. With `read_refusals` a refusal in plain words counts as refused too (see
    `equipoise.generation.declines`), not only one that the vendor marks.

    Raises:
        InputError: `model` or `base_url` is malformed, or a number is out of its range.
        MissingExtraError: pydantic-ai or the vendor's library is not installed.
        GenerationError: a key is missing.

    Source: ours.
    """

    # Nine parameters, one over the house rule: each is a knob of its own with a plain default.
    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 60.0,
        retry: Retry | None = None,
        max_tokens: int = 512,
        temperature: float | None = 0.0,
        seed: int | None = None,
        read_refusals: bool = True,
    ) -> None:
        if not isinstance(timeout_s, int | float) or not 0 < timeout_s < math.inf:
            raise InputError(f"timeout_s must be a number of seconds > 0, got {timeout_s!r}")
        if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1:
            raise InputError(f"max_tokens must be an int >= 1, got {max_tokens!r}")
        if temperature is not None:
            check_number("temperature", temperature, 0.0, 2.0)
        self.model = model
        self._retry = Retry() if retry is None else retry
        self._max_tokens = max_tokens
        self._read_refusals = read_refusals
        self._vendor_model = open_model(model, base_url=base_url, api_key=api_key)
        self._settings = _call_settings(
            self._vendor_model, timeout_s, max_tokens, temperature, seed
        )
        self._loop = LoopThread(self._vendor_model)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close connections. The generator may be used again; they are then opened anew."""
        self._loop.close()

    def generate(self, prompt: str) -> Answer:
        """The model's answer; whatever goes wrong with the call is an outcome in it.

        Works inside a running event loop too, where it blocks that loop: prefer `agenerate` there.

        Raises:
            InputError: `prompt` is blank or not a str.
        """
        return self._loop.run(self._answer(checked_prompt(prompt)))

    async def agenerate(self, prompt: str) -> Answer:
        """As `generate`, awaited.

        Raises:
            InputError: `prompt` is blank or not a str.
        """
        return await self._loop.arun(self._answer(checked_prompt(prompt)))

    async def _answer(self, prompt: str) -> Answer:
        started = time.perf_counter()
        attempt = 1
        while True:
            result = await self._call(prompt)
            if isinstance(result, Reading):
                return self._made(result, started, attempt)
            wait_s, note = self._wait(result, attempt)
            if wait_s is None:
                reading = Reading(result.outcome, "", result.detail + note)
                return self._made(reading, started, attempt)
            _log.info("%s: %s; again in %.1f s", self.model, result.detail, wait_s)
            await asyncio.sleep(wait_s)
            attempt += 1

    async def _call(self, prompt: str) -> Reading | Failure:
        direct = require("pydantic_ai.direct", extra=EXTRA)
        messages = require("pydantic_ai.messages", extra=EXTRA)
        request = [messages.ModelRequest.user_text_prompt(prompt)]
        try:
            response = await direct.model_request(
                self._vendor_model, request, model_settings=self._settings
            )
            return read_response(
                response, max_tokens=self._max_tokens, read_refusals=self._read_refusals
            )
        except Exception as error:
            # Everything a vendor's library can raise, by the contract of Generator: a failed call
            # is an outcome. Our own mistakes show the same way, with their type in the detail.
            return read_error(error, secrets=_secrets(self._vendor_model))

    def _wait(self, failure: Failure, attempt: int) -> tuple[float | None, str]:
        """Seconds until the next call, or None with the reason why there is none."""
        if not failure.retry:
            return None, ""
        if attempt >= self._retry.attempts:
            return None, f"; gave up after {attempt} call{'s' if attempt > 1 else ''}"
        asked_s = failure.retry_after_s or 0.0
        if asked_s > self._retry.max_wait_s:
            limit_s = self._retry.max_wait_s
            return (
                None,
                f"; the vendor asks for a wait of {asked_s:g} s, over max_wait_s={limit_s:g}",
            )
        return max(asked_s, self._retry.wait_s(attempt)), ""

    def _made(self, reading: Reading, started: float, attempts: int) -> Answer:
        if reading.outcome is not Outcome.ANSWERED:
            _log.info("%s: %s: %s", self.model, reading.outcome.value, reading.detail)
        return Answer(
            reading.outcome,
            reading.text,
            self.model,
            (time.perf_counter() - started) * 1000.0,
            reading.detail,
            attempts,
            reading.input_tokens,
            reading.output_tokens,
        )


def _call_settings(
    model: Any, timeout_s: float, max_tokens: int, temperature: float | None, seed: int | None
) -> dict[str, Any]:
    """The settings of each call, without those that the model would warn about."""
    wanted = {
        "max_tokens": max_tokens,
        "temperature": temperature if takes_temperature(model) else None,
        "seed": seed,
        "timeout": timeout_s,  # of the connection and between bytes
        "request_timeout": timeout_s,  # of the whole call, also when bytes trickle in
        "max_retries": 0,  # the vendor's library must not retry on its own: we count and wait
    }
    unsupported = model.unsupported_settings
    return {
        name: value
        for name, value in wanted.items()
        if value is not None and name not in unsupported
    }


def _secrets(model: Any) -> list[str]:
    """The key in use, wherever the vendor's library read it, to keep it out of messages."""
    client = getattr(getattr(model, "provider", None), "client", None)
    key = getattr(client, "api_key", None)
    return [key] if isinstance(key, str) else []
