"""The program of the child process that holds the embedded model: one JSON line in, one out.

It is run by its path and imports nothing of this package. The first line of standard input is the
set-up, each later one a request for chat completions; each is answered by one line. When standard
input ends, whoever asked is gone, and so is this process, in the middle of an answer too.
"""

import json
import os
import queue
import shutil
import signal
import sys
import threading
from importlib import import_module
from typing import Any, TextIO

_QUIET = -1


def main() -> None:
    """Load the model of the first line, then answer requests for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies = _own_stdout()
    setup: dict[str, Any] = json.loads(sys.stdin.readline())
    sys.path[:] = setup["sys_path"]
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_hear, args=(requests, setup["folder"]), daemon=True).start()
    try:
        server = _load(setup)
    except Exception as error:  # whatever it is, it is for the other side to say
        _say(replies, {"error": f"{type(error).__name__}: {error}"})
        os._exit(1)
    _say(replies, {"ready": True})
    while True:
        _say(replies, {"chunks": _chat(server, requests.get())})


def _own_stdout() -> TextIO:
    """Standard output for the replies alone: what the library prints there goes nowhere."""
    replies = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return replies


def _say(replies: TextIO, reply: dict[str, Any]) -> None:
    try:
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
    except OSError:
        os._exit(0)  # nobody listens any more


def _hear(requests: "queue.SimpleQueue[dict[str, Any]]", folder: str) -> None:
    for line in sys.stdin:
        requests.put(json.loads(line))
    shutil.rmtree(folder, ignore_errors=True)
    # Subtle: the library can crash or hang when it is stopped while it starts or writes, so it
    # never is: the process ends without its destructors. There is nothing to save.
    os._exit(0)


def _load(setup: dict[str, Any]) -> Any:
    xllamacpp = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = setup["path"]
    params.n_ctx = setup["context_tokens"]
    params.n_parallel = 1
    params.cpuparams.n_threads = setup["threads"]
    params.cpuparams_batch.n_threads = setup["threads"]
    params.verbosity = _QUIET
    params.cache_ram_mib = 0  # a cache of old prompts, up to 8 GiB by default
    # The library always serves HTTP beside its Python calls. Nobody is meant to use that: it
    # listens on a socket file in a folder of our own where the system has such sockets, and
    # asks for a key that is thrown away.
    params.n_threads_http = 1
    params.ui = False
    params.endpoint_slots = False
    params.api_keys = [setup["key"]]
    if setup["socket_file"]:
        params.hostnames = [setup["socket_file"]]
    return xllamacpp.Server(params)


def _chat(server: Any, request: dict[str, Any]) -> list[dict[str, Any]]:
    """The chunks of one streamed call."""
    chunks: list[dict[str, Any]] = []

    def hear(chunk: dict[str, Any]) -> bool:
        chunks.append(chunk)
        return False  # True would stop the writing

    try:
        server.handle_chat_completions(request, hear)
    except Exception as error:  # a failed call is an outcome, by the contract of Generator
        chunks.append({"error": {"message": f"{type(error).__name__}: {error}"}})
    return chunks


if __name__ == "__main__":
    main()
