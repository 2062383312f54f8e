"""A generator of this package behind an OpenAI-compatible address on this machine alone."""

import hmac
import json
import re
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

from equipoise.types import Answer, Generator, Outcome

_LARGEST: Final = 4_000_000
"""Bytes of a request: many times any prompt that a small model can hold."""
_TOO_LONG: Final = re.compile(r"the prompt has \d+ tokens and the context holds")


class Loopback:
    """Serves one generator on 127.0.0.1, at a port that is free, to whoever has its key.

    POST /v1/chat/completions takes one user message without streaming; GET /v1/models names the
    model. Requests are answered one at a time, in the order in which they come to the front. A
    prompt that does not fit is a 400 with the code "context_length_exceeded"; any other failure of
    the generator a 500. The number of tokens is the generator's own: `max_tokens` is what it was
    made with, and a request for another number is a 400.

    Use it with `with`; leaving it ends the server, and not the generator.
    """

    def __init__(self, generator: Generator, *, model: str, max_tokens: int) -> None:
        self.key = secrets.token_urlsafe(32)
        self.model = model
        self._server = _Server(generator, model, max_tokens, self.key)
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="equipoise-loopback", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """The address that a client takes as its base, such as `http://127.0.0.1:40123/v1`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def close(self) -> None:
        """End the server; calling it twice does nothing."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a request in progress may take a minute

    def __init__(self, generator: Generator, model: str, max_tokens: int, key: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.generator = generator
        self.model = model
        self.max_tokens = max_tokens
        self.key = key
        self.one_at_a_time = threading.Lock()


class _Refused(Exception):
    """A request that gets an error: its HTTP status, a message and a code."""

    def __init__(self, status: int, message: str, code: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: standard error belongs to the command."""

    def do_GET(self) -> None:
        self._reply(self._models)

    def do_POST(self) -> None:
        self._reply(self._chat)

    def _reply(self, made: Any) -> None:
        try:
            self._check_key()
            status, body = 200, made()
        except _Refused as error:
            status = error.status
            kind = "invalid_request_error" if status < 500 else "server_error"
            body = {"error": {"message": str(error), "type": kind, "code": error.code}}
            self.close_connection = True  # what is left unread would be taken for a request
        raw = json.dumps(body).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
        except OSError:
            self.close_connection = True  # the client has gone: nobody to tell

    def _check_key(self) -> None:
        given = self.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self.server.key}".encode()):
            raise _Refused(401, "the key of this run must be given", "invalid_api_key")

    def _models(self) -> dict[str, Any]:
        if self.path != "/v1/models":
            raise _Refused(404, f"there is nothing at {self.path}", "not_found")
        return {"object": "list", "data": [{"id": self.server.model, "object": "model"}]}

    def _chat(self) -> dict[str, Any]:
        if self.path != "/v1/chat/completions":
            raise _Refused(404, f"there is nothing at {self.path}", "not_found")
        prompt = self._prompt(self._body())
        with self.server.one_at_a_time:
            answer = self.server.generator.generate(prompt)
        if answer.outcome is Outcome.ERROR:
            if _TOO_LONG.match(answer.detail):
                raise _Refused(400, answer.detail, "context_length_exceeded")
            raise _Refused(500, answer.detail, "generation_failed")
        return _completion(answer, self.server.model, self.server.max_tokens)

    def _body(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > _LARGEST:
            raise _Refused(413, f"a request must have 0 to {_LARGEST} bytes", "too_large")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except ValueError as error:
            raise _Refused(400, f"a request must be JSON: {error}", "bad_request") from error
        if not isinstance(body, dict):
            raise _Refused(400, "a request must be a JSON object", "bad_request")
        return body

    def _prompt(self, body: dict[str, Any]) -> str:
        wanted = self.server.max_tokens
        # Every name that clients give the number: an unread one would be a limit not kept.
        asked = [body[n] for n in ("max_tokens", "max_completion_tokens") if n in body]
        if any(number not in (None, wanted) for number in asked):
            raise _Refused(400, f"max_tokens must be {wanted} here, got {asked}", "bad_request")
        if body.get("stream") or body.get("tools"):
            raise _Refused(400, "there is no streaming and there are no tools here", "bad_request")
        if body.get("temperature") not in (None, 0, 0.0):
            raise _Refused(400, "the temperature must be 0 or left out", "bad_request")
        messages = body.get("messages")
        if not isinstance(messages, list) or len(messages) != 1:
            raise _Refused(400, "messages must be one message of the user", "bad_request")
        said = messages[0] if isinstance(messages[0], dict) else {}
        content = said.get("content")
        if said.get("role") != "user" or not isinstance(content, str) or not content.strip():
            raise _Refused(400, "messages must be one message of the user, in text", "bad_request")
        return content


def _completion(answer: Answer, model: str, max_tokens: int) -> dict[str, Any]:
    """The answer in OpenAI's format for chat completions."""
    read, wrote = answer.input_tokens or 0, answer.output_tokens or 0
    return {
        "id": f"chatcmpl-{secrets.token_hex(8)}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": answer.text},
                "finish_reason": "length" if wrote >= max_tokens else "stop",
            }
        ],
        "usage": {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote},
    }
