"""A loopback server that speaks the wire of chat completions, and keys kept out of the way."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

KEY = "sk-test-0123456789abcdefSECRET"


@dataclass
class Reply:
    """One HTTP answer; `delay_s` before it, `trickle_s` between its bytes."""

    status: int = 200
    body: str | dict[str, Any] = ""
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    trickle_s: float = 0.0


def chat(
    content: str | None = "An answer.", *, finish: str = "stop", refusal: str | None = None
) -> Reply:
    """A good answer on the wire of chat completions."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    return Reply(
        body={
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "toy",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
        }
    )


def failed(status: int, message: str = "no", *, code: str | None = None, **headers: str) -> Reply:
    """An error on the wire."""
    error = {"message": message, "type": "toy", "code": code}
    return Reply(status, {"error": error}, {k.replace("_", "-"): v for k, v in headers.items()})


class ChatServer:
    """Gives the replies in order, the last one again and again; keeps what it was asked."""

    def __init__(self) -> None:
        self.replies: list[Reply | Callable[[dict[str, Any]], Reply]] = [chat()]
        self.requests: list[dict[str, Any]] = []
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer.lock:
                    turn = min(len(outer.requests), len(outer.replies) - 1)
                    reply = outer.replies[turn]
                    outer.requests.append(
                        {
                            "path": self.path,
                            "headers": {k.lower(): v for k, v in self.headers.items()},
                            "body": body,
                        }
                    )
                outer.answer(self, reply(body) if callable(reply) else reply)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def answer(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        """Send one reply; a client that went away is no error here."""
        if reply.delay_s and self.stopped.wait(reply.delay_s):
            return
        raw = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
        data = raw.encode()
        try:
            handler.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(data)))
            handler.end_headers()
            for start in range(0, len(data), 8) if reply.trickle_s else [0]:
                handler.wfile.write(data[start : start + 8] if reply.trickle_s else data)
                handler.wfile.flush()
                if self.stopped.is_set():
                    return
                time.sleep(reply.trickle_s)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def close(self) -> None:
        self.stopped.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join(5)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    made = ChatServer()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def no_keys_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """No vendor's key or address, and no proxy, from the machine that runs the tests."""
    for name in list(os.environ):
        if name.upper().endswith(("_API_KEY", "_BASE_URL", "_PROXY")):
            monkeypatch.delenv(name)
