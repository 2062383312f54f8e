"""An embedded model without a key: a GGUF file run in this process by xllamacpp (llama.cpp)."""

import asyncio
import os
import re
import secrets
import shutil
import socket
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import Any, Final

from equipoise._extras import require
from equipoise.errors import GenerationError, InputError
from equipoise.generation.base import checked_prompt, read_text
from equipoise.generation.models import model_path
from equipoise.types import Answer, Outcome

_GGUF: Final = b"GGUF"
_QUIET: Final = -1

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
        if not 0 <= temperature <= 2:
            raise InputError(f"temperature must lie in [0, 2], got {temperature!r}")
        file = _checked_file(path)
        self.model = f"local:{file.name}"
        self._context_tokens = context_tokens
        self._max_tokens = max_tokens
        self._read_refusals = read_refusals
        self._sampling = {"temperature": temperature, "seed": seed, **_AGAINST_LOOPS}
        self._lock = threading.Lock()
        folder = tempfile.mkdtemp(prefix="equipoise-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._server = _load(file, threads, context_tokens, Path(folder))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, context_tokens={self._context_tokens})"

    def generate(self, prompt: str) -> Answer:
        """The model's answer; a prompt that does not fit is an error outcome.

        Raises:
            InputError: `prompt` is blank or not a str.
        """
        text = _CONTROL.sub(lambda match: match[0] + " ", checked_prompt(prompt))
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
            chunks = _chat(self._server, request)
            return self._read(chunks, (time.perf_counter() - started) * 1000.0)

    async def agenerate(self, prompt: str) -> Answer:
        """As `generate`, in a thread, so that the event loop goes on.

        Raises:
            InputError: `prompt` is blank or not a str.
        """
        return await asyncio.to_thread(self.generate, prompt)

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
    file = model_path("smollm2") if path is None else Path(path)
    if not file.is_file():
        fix = "run: equipoise models pull smollm2" if path is None else "check the path"
        raise GenerationError(f"there is no model file at {str(file)!r}: {fix}")
    with file.open("rb") as opened:
        if opened.read(len(_GGUF)) != _GGUF:
            raise GenerationError(f"{str(file)!r} must be a GGUF model file, and is not one")
    return file


def _load(file: Path, threads: int, context_tokens: int, folder: Path) -> Any:
    xllamacpp = require("xllamacpp", extra="local")
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.n_ctx = context_tokens
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.verbosity = _QUIET
    params.cache_ram_mib = 0  # a cache of old prompts, up to 8 GiB by default
    # The library always serves HTTP beside its Python calls. Nobody is meant to use that: it
    # listens on a socket file in a folder of our own where the system has such sockets, and
    # asks for a key that is thrown away.
    params.n_threads_http = 1
    params.ui = False
    params.endpoint_slots = False
    params.api_keys = [secrets.token_urlsafe(32)]
    socket_file = str(folder / "s.sock")
    if os.name == "posix" and hasattr(socket, "AF_UNIX") and len(socket_file.encode()) < 100:
        params.hostnames = [socket_file]
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise GenerationError(
            f"{str(file)!r} could not be loaded as a model with context_tokens={context_tokens} "
            f"({error}): the file may be broken, or too large for this machine's memory"
        ) from error


def _chat(server: Any, request: dict[str, Any]) -> list[dict[str, Any]]:
    """The chunks of one streamed call.

    It runs in a thread of its own, for a signal such as Ctrl-C is only heard between two Python
    steps of the main thread, and the library's call is one step of many seconds. An interrupted
    wait stops the writing at the next token.
    """
    chunks: list[dict[str, Any]] = []
    stop = threading.Event()

    def hear(chunk: dict[str, Any]) -> bool:
        chunks.append(chunk)
        return stop.is_set()

    def work() -> None:
        try:
            server.handle_chat_completions(request, hear)
        except Exception as error:  # a failed call is an outcome, by the contract of Generator
            chunks.append({"error": {"message": f"{type(error).__name__}: {error}"}})

    thread = threading.Thread(target=work, name="equipoise-local", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.2)  # with a limit: an endless join() cannot be interrupted on Windows
    finally:
        stop.set()
    return chunks
