"""One event loop in a thread of its own, for an async client that is called from anywhere.

An HTTP client's connections belong to the loop that opened them. With one loop for all calls the
same client serves plain code, many threads, and code inside a running loop.
"""

import asyncio
import threading
import weakref
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

T = TypeVar("T")

_CLOSING_S = 5.0


class LoopThread:
    """Runs coroutines on its own loop; `resource` is entered when it starts, left when it ends.

    It starts with the first call, is a daemon, and ends with `close()`, with the last reference to
    it, or with the interpreter. After `close()` the next call starts it again. Not for use across
    fork(): make one in each process.
    """

    def __init__(self, resource: AbstractAsyncContextManager[Any]) -> None:
        self._resource = resource
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: weakref.finalize[[asyncio.AbstractEventLoop, threading.Thread], Any] | None
        self._end = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, waited for; interrupting the wait cancels the work."""
        future = self._submit(work)
        try:
            return future.result()
        finally:
            future.cancel()  # does nothing to work that is done

    async def arun(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, awaited; cancelling the wait cancels the work."""
        return await asyncio.wrap_future(self._submit(work))

    def close(self) -> None:
        """End the thread and close the resource; calls in progress are cancelled."""
        with self._lock:
            end, self._end, self._loop = self._end, None, None
        if end is not None:
            end()

    def _submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        with self._lock:
            if self._loop is None:
                self._loop = self._start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _start(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        # Subtle: the thread holds loop and resource but not self, or self would never be freed.
        thread = threading.Thread(
            target=_serve, args=(loop, self._resource), name="equipoise-generator", daemon=True
        )
        thread.start()
        self._end = weakref.finalize(self, _stop, loop, thread)
        return loop


def _serve(loop: asyncio.AbstractEventLoop, resource: AbstractAsyncContextManager[Any]) -> None:
    asyncio.set_event_loop(loop)
    loop.run_until_complete(resource.__aenter__())
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(resource.__aexit__(None, None, None))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    if thread.is_alive():
        loop.call_soon_threadsafe(loop.stop)
        # Subtle: the last reference may be dropped on the loop's own thread, which cannot wait
        # for itself.
        if thread is not threading.current_thread():
            thread.join(_CLOSING_S)
