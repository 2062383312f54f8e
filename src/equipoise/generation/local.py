"""An embedded model without a key: a GGUF file run by xllamacpp (llama.cpp) in a child process."""

import asyncio
import re
import threading
import time
from pathlib import Path
from typing import Any, Final, Self

from equipoise.errors import GenerationError, InputError
from equipoise.generation._process import ModelProcess
from equipoise.generation.base import check_number, checked_prompt, read_text
from equipoise.generation.models import MODELS, fetched_path
from equipoise.types import Answer, Outcome

_GGUF: Final = b"GGUF"

# Without it a model of 135 million parameters repeats one sentence until the answer is full.
_AGAINST_LOOPS: Final = {"repeat_penalty": 1.1, "repeat_last_n": 64}

# What chat templates use to mark turns: <|im_end|>, </s>, <start_of_turn>, [INST], [/INST]. The
# tokenizer reads such text as control tokens, so a document could open a turn of its own; a space
# after the bracket makes it plain text again. Numbers in brackets ("[1]") stay as they are.
_CONTROL: Final = re.compile(r"<(?=[|\uff5c/]?[^\W\d][^\s<>]{0,40}>)|\[(?=/?[A-Z][A-Z_]+\])")


class LocalGenerator:
    """Writes answers with a GGUF model on this machine's processor. Safe to share between threads.

    `path` is the file, or None for the model that `equipoise models pull smollm2` fetches. Calls
    run one after another. `context_tokens` bounds prompt and answer together: a longer prompt is
    an error outcome, never cut. At temperature 0 equal prompts give equal answers on one machine;
    above it `seed` fixes the draw. Repetition is damped (penalty 1.1 over the last 64 tokens), for
    small models loop without it. More than one thread is slower on small machines. With
    `read_refusals` a refusal in plain words counts as refused.

    The model is loaded here, in a process of its own that ends with `close()`, with the last
    reference to the generator, or with the interpreter. An interrupted call (Ctrl-C, a cancelled
    `agenerate`) ends it too, and the next call loads the model again.

    Raises:
        InputError: a number is out of its range.
        MissingExtraError: xllamacpp is not installed.
        GenerationError: there is no such file, or it is not a GGUF model that can be loaded.

    Source: ours.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        threads: int = 1,
        context_tokens: int = 4096,
        max_tokens: int = 200,
        temperature: float = 0.0,
        seed: int = 0,
        read_refusals: bool = True,
    ) -> None:
        for name, value in (
            ("threads", threads),
            ("context_tokens", context_tokens),
            ("max_tokens", max_tokens),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"{name} must be an int >= 1, got {value!r}")
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise InputError(f"seed must be an int, got {seed!r}")
        check_number("temperature", temperature, 0.0, 2.0)
        file = _checked_file(path)
        self.model = f"local:{file.name}"
        self._context_tokens = context_tokens
        self._max_tokens = max_tokens
        self._read_refusals = read_refusals
        self._sampling = {"temperature": temperature, "seed": seed, **_AGAINST_LOOPS}
        self._lock = threading.Lock()
        self._file = file
        self._threads = threads
        self._process: ModelProcess | None = self._load()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, context_tokens={self._context_tokens})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the model; a call in progress ends as an error outcome. The next call loads it."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def generate(self, prompt: str) -> Answer:
        """The model's answer; a prompt that does not fit is an error outcome.

        Raises:
            InputError: `prompt` is blank or not a str.
        """
        return self._answer(checked_prompt(prompt), threading.Event())

    async def agenerate(self, prompt: str) -> Answer:
        """As `generate`, in a thread, so that the event loop goes on; cancelling stops the writing.

        Raises:
            InputError: `prompt` is blank or not a str.
        """
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._answer, checked_prompt(prompt), stop)
        finally:
            stop.set()  # does nothing to a call that is done

    def _answer(self, prompt: str, stop: threading.Event) -> Answer:
        text = _CONTROL.sub(lambda match: match[0] + " ", prompt)
        request = {
            "messages": [{"role": "user", "content": text}],
            "max_tokens": self._max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            # Reuse of an earlier prompt's state would make an answer depend on what came before.
            "cache_prompt": False,
            **self._sampling,
        }
        with self._lock:
            started = time.perf_counter()
            chunks = self._chat(request, stop)
            return self._read(chunks, (time.perf_counter() - started) * 1000.0)

    def _chat(self, request: dict[str, Any], stop: threading.Event) -> list[dict[str, Any]]:
        if stop.is_set():
            return [{"error": {"message": "stopped before it began"}}]
        process = self._process
        try:
            if process is None or not process.alive:
                process = self._process = self._load()
        except GenerationError as error:  # a failed call is an outcome, by the contract
            return [{"error": {"message": str(error)}}]
        return process.chat(request, stop)

    def _load(self) -> ModelProcess:
        try:
            return ModelProcess(
                self._file, threads=self._threads, context_tokens=self._context_tokens
            )
        except RuntimeError as error:
            known = next((m.name for m in MODELS.values() if m.file == self._file.name), None)
            fix = f": run: equipoise models pull {known}" if known else ""
            raise GenerationError(
                f"{str(self._file)!r} could not be loaded as a model with context_tokens="
                f"{self._context_tokens} ({error}). The file may be broken or not whole{fix}; or "
                "it is too large for this machine's memory"
            ) from error

    def _read(self, chunks: list[dict[str, Any]], latency_ms: float) -> Answer:
        errors = [chunk["error"] for chunk in chunks if "error" in chunk]
        if errors:
            detail = self._error_detail(errors[0])
            return Answer(Outcome.ERROR, "", self.model, latency_ms, detail)
        choices = [choice for chunk in chunks for choice in chunk["choices"]]
        usage: dict[str, int] = next((chunk["usage"] for chunk in chunks if "usage" in chunk), {})
        text = "".join(choice["delta"].get("content") or "" for choice in choices).strip()
        outcome, detail = read_text(text, read_refusals=self._read_refusals)
        if any(choice["finish_reason"] == "length" for choice in choices):
            cut = f"cut after {usage.get('completion_tokens')} tokens (max_tokens="
            cut += f"{self._max_tokens}, context_tokens={self._context_tokens})"
            detail = f"{detail}; {cut}" if detail else f"the answer was {cut}"
        return Answer(
            outcome,
            text,
            self.model,
            latency_ms,
            detail,
            input_tokens=usage.get("prompt_tokens"),
            output_tokens=usage.get("completion_tokens"),
        )

    def _error_detail(self, error: dict[str, Any]) -> str:
        if error.get("type") == "exceed_context_size_error":
            return (
                f"the prompt has {error.get('n_prompt_tokens')} tokens and the context holds "
                f"{self._context_tokens}: give fewer or shorter documents, or a larger "
                "context_tokens"
            )
        return f"the embedded model failed: {error.get('message', error)}"


def _checked_file(path: str | Path | None) -> Path:
    if path is None:
        return fetched_path("smollm2")
    file = Path(path)
    if not file.is_file():
        raise GenerationError(f"there is no model file at {str(file)!r}: check the path")
    with file.open("rb") as opened:
        if opened.read(len(_GGUF)) != _GGUF:
            raise GenerationError(f"{str(file)!r} must be a GGUF model file, and is not one")
    return file
