"""The embedded model in a process of its own, so that an end or an interrupt never crashes ours.

llama.cpp cannot be stopped safely while it starts or writes; a process can be killed at any time.
"""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from equipoise._extras import require

_PROGRAM: Final = Path(__file__).with_name("_llama.py")
_POLL_S: Final = 0.2
_ENDING_S: Final = 5.0


class ModelProcess:
    """A child process with a GGUF model loaded. One call at a time; not shared across fork().

    It ends with `close()`, with the last reference to it, or with the interpreter; and by itself
    when this process is killed.

    Raises:
        MissingExtraError: xllamacpp is not installed.
        RuntimeError: the model could not be loaded, or the process could not be started.
    """

    def __init__(self, path: Path, *, threads: int, context_tokens: int) -> None:
        if find_spec("xllamacpp") is None:
            require("xllamacpp", extra="local")
        folder = tempfile.mkdtemp(prefix="equipoise-")
        try:
            self._child = _started()
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise RuntimeError(f"no process of {sys.executable!r} could be started: {error}") from (
                error
            )
        self._end = weakref.finalize(self, _end, self._child, folder, os.getpid())
        setup = {
            "path": str(path),
            "threads": threads,
            "context_tokens": context_tokens,
            "sys_path": sys.path,
            "folder": folder,
            "socket_file": _socket_file(folder),
            "key": secrets.token_urlsafe(32),
        }
        reply = self._exchange(setup, threading.Event())
        if "error" in reply:
            self.close()
            raise RuntimeError(reply["error"])

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._child.pid

    @property
    def alive(self) -> bool:
        """False once it has ended, of itself or by `close()`."""
        return self._child.poll() is None

    def chat(self, request: dict[str, Any], stop: threading.Event) -> list[dict[str, Any]]:
        """The chunks of one streamed call; `{"error": ...}` is one of them where it failed.

        Setting `stop`, or an interrupt, ends the process, for that is the only sure end.
        """
        reply = self._exchange(request, stop)
        if "error" in reply:
            return [{"error": {"message": reply["error"]}}]
        chunks: list[dict[str, Any]] = reply["chunks"]
        return chunks

    def close(self) -> None:
        """End the process, in the middle of an answer too."""
        self._end()

    def _exchange(self, message: dict[str, Any], stop: threading.Event) -> dict[str, Any]:
        # In a thread: a wait for a pipe cannot be interrupted on Windows, and not by `stop`.
        said: list[str] = []
        line = json.dumps(message) + "\n"
        thread = threading.Thread(target=_ask, args=(self._child, line, said), daemon=True)
        try:
            thread.start()
            while thread.is_alive() and not stop.is_set():
                thread.join(_POLL_S)
        except BaseException:
            self.close()
            raise
        if said and said[0].endswith("\n"):
            reply: dict[str, Any] = json.loads(said[0])
            return reply
        self.close()
        if stop.is_set():
            return {"error": "stopped before it was done"}
        return {"error": f"its process ended (exit status {self._child.returncode})"}


def _started() -> "subprocess.Popen[str]":
    # A session of its own: Ctrl-C at the terminal is for this process, which then ends that one.
    apart: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return subprocess.Popen(
        [sys.executable, "-P", str(_PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="ascii",
        **apart,
    )


def _socket_file(folder: str) -> str:
    """Where the library's server listens; "" where there are no such sockets."""
    path = str(Path(folder, "s.sock"))
    has_sockets = os.name == "posix" and hasattr(socket, "AF_UNIX")
    return path if has_sockets and len(path.encode()) < 100 else ""


def _ask(child: "subprocess.Popen[str]", line: str, said: list[str]) -> None:
    """Put the line that `child` answers to `line` into `said`; nothing where it has ended."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(line)
        child.stdin.flush()
        said.append(child.stdout.readline())
    except (OSError, ValueError):  # ValueError: the pipe was closed meanwhile
        return


def _end(child: "subprocess.Popen[str]", folder: str, owner: int) -> None:
    if os.getpid() != owner:
        return  # a fork of the owner, whose model it is not
    child.kill()
    try:
        child.wait(_ENDING_S)
    except subprocess.TimeoutExpired:
        return  # held by the system, such as on a dead disk: it is no longer ours to end
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                continue  # words that were never sent
    shutil.rmtree(folder, ignore_errors=True)
