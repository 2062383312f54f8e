"""The work behind the routes: a balancer, its indexes and its generator, for many at once."""

import asyncio
import contextvars
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from equipoise.balancer import Balancer
from equipoise.errors import EquipoiseError
from equipoise.prompt import Template
from equipoise.rag import Rag, RagAnswer
from equipoise.result import Selection
from equipoise.selection.duplicates import Duplicates
from equipoise.selection.gate import Gate, GateMode
from equipoise.server.errors import Refused
from equipoise.server.limits import Limits
from equipoise.server.logs import log
from equipoise.server.metrics import Metrics
from equipoise.server.pace import Pace
from equipoise.server.sharing import DEADLINE, OutOfTimeError, Timely, shared
from equipoise.server.tracing import span
from equipoise.stance.base import lazy_batch
from equipoise.types import Candidate, Generator, Quota, Retriever, StanceDetector

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What one request may set otherwise than the server; None leaves it as the server has it."""

    k: int | None = None
    quota: Quota | None = None
    gate: GateMode | None = None
    merge_duplicates: bool | None = None
    unsure_below: float | None = None


class Service:
    """Balances, searches and answers in worker threads, with a bounded queue.

    One model serves all: `balancer`'s detector is put behind shared batches, where it gains from
    them, and, unless `limits.remembered` is 0, a cache of labels.

    Args:
        balancer: its settings are those of every request that does not say otherwise.
        retrievers: indexes by name.
        generator: writes answers for `answer`; None has none.
        template: the prompt template; None is the default one.
        limits: how much, and how many at once.
        metrics: where things are counted.
    """

    def __init__(
        self,
        balancer: Balancer,
        *,
        retrievers: Mapping[str, Retriever],
        generator: Generator | None,
        template: Template | None,
        limits: Limits,
        metrics: Metrics,
    ) -> None:
        self.balancer = balancer
        self.retrievers = dict(retrievers)
        self.generator = generator
        self.template = template
        self.limits = limits
        self.metrics = metrics
        self.ready = False
        self.failure: str | None = None
        self._detector: StanceDetector | None = None
        self._pool = ThreadPoolExecutor(limits.workers, thread_name_prefix="equipoise-serve")
        self._answering = ThreadPoolExecutor(_ANSWERING, thread_name_prefix="equipoise-answer")
        self._in_flight = 0
        self._pace = Pace()

    def warm_up(self) -> None:
        """Load a local model and read one text, so that the first request is as fast as the next.

        A model that does not load leaves the service not ready, and `failure` says why.
        """
        try:
            if hasattr(self.balancer.detector, "detect_many"):
                self._read_once(self.balancer.detector)
        except EquipoiseError as error:
            self.failure = str(error)
            log("the model does not load", level=logging.ERROR, error=True)
            return
        self.ready = True

    def _read_once(self, detector: StanceDetector) -> None:
        """Load the model, and see how fast it reads: by half the rank order, as is usual."""
        text = "A text that is read once, to see how long that takes. " * 8
        detector.detect("Should this be read?", [text])
        began = time.monotonic()
        detector.detect("Should that be read?", [text] * lazy_batch(detector))
        spent = max(1e-3, time.monotonic() - began)
        self._pace.first_guess(2 * lazy_batch(detector) * len(text) / spent)

    def close(self) -> None:
        """Take no more work, and wait for what is running."""
        self.ready = False
        for pool in (self._pool, self._answering):
            pool.shutdown(wait=True, cancel_futures=True)

    def checked_question(self, question: str) -> str:
        """The question, when it is within the limits.

        Raises:
            Refused: 422, it is blank or too long.
        """
        if not question.strip():
            raise Refused(422, "the question (query) must not be blank")
        longest = self.limits.question_characters
        if len(question) > longest:
            raise Refused(
                422,
                f"a question may have {longest} characters (question_characters), got "
                f"{len(question)}",
            )
        return question

    def checked_texts(self, texts: Sequence[str]) -> None:
        """Nothing, when number and length of the documents are within the limits.

        Raises:
            Refused: 422, naming the limit.
        """
        if len(texts) > self.limits.documents:
            raise Refused(
                422,
                f"a request may have {self.limits.documents} documents (documents), got "
                f"{len(texts)}",
            )
        longest = self.limits.document_characters
        for rank, text in enumerate(texts, start=1):
            if len(text) > longest:
                raise Refused(
                    422,
                    f"a document may have {longest} characters (document_characters), document "
                    f"{rank} has {len(text)}",
                )

    def balance(
        self, question: str, documents: Sequence[Any], options: Options = Options()
    ) -> Selection:
        """The selection; for worker threads, see `work`.

        Raises:
            InputError, DetectorError: as `Balancer.balance`.
        """
        with span("equipoise.balance", documents=len(documents)) as noted:
            selection = self._balancer(options).balance(question, documents, k=options.k)
            noted(
                verdict=selection.decision.verdict.value,
                labelled=selection.labelled,
                one_sided=selection.one_sided,
                **{f"{name}_ms": ms for name, ms in selection.timings_ms.items()},
            )
        self.metrics.selection(selection)
        return selection

    def search(self, index: str, question: str, k: int) -> list[Candidate]:
        """At most `k` documents of the index named so, best first.

        Raises:
            Refused: 404, no such index.
        """
        with span("equipoise.retrieve", index=index, k=k):
            return list(self._retriever(index).retrieve(question, k))

    def depth(self, options: Options) -> int:
        """How many documents an index is asked for."""
        quota = options.quota or self.balancer.quota
        return max(quota.depth, options.k or 0)

    def answer(
        self, question: str, documents: Sequence[Any], settings: Sequence[str], options: Options
    ) -> tuple[RagAnswer, ...]:
        """One answer a setting, from the same documents and labels.

        Raises:
            Refused: 501, the server has no generator.
            InputError, DetectorError: as `Rag.compare`.
        """
        if self.generator is None:
            raise Refused(501, "no generator is configured: start the server with --model")
        given = _Given(documents)
        rag = Rag(
            given,
            balancer=self._balancer(options),
            generator=self.generator,
            template=self.template,
        )
        with span("equipoise.answer", settings=",".join(settings)):
            answers = rag.compare(question, settings=settings, k=options.k)
        for answer in answers:
            if answer.setting.balances:
                self.metrics.selection(answer.selection)
        return answers

    async def work(
        self, task: Callable[[], T], *, size: int | None = None, answers: bool = False
    ) -> T:
        """The result of `task`, run in a worker thread when one is free.

        `size` is how many characters the documents have, None where that is not known yet. A task
        that `answers` waits for a generator: it takes a thread of others, and no part in the pace.

        Raises:
            Refused: 503, the queue is full or too long to be done in time; 504, the time was over.
        """
        size = 0 if answers else _UNKNOWN_SIZE if size is None else max(1, size)
        self._admit(size)
        deadline = time.monotonic() + self.limits.timeout_s
        context = contextvars.copy_context()
        context.run(DEADLINE.set, deadline)
        self._in_flight += 1
        if size:
            self._pace.begin(size)
        self.metrics.waiting.inc()
        pool = self._answering if answers else self._pool
        future = pool.submit(context.run, self._timed, task)
        loop = asyncio.get_running_loop()
        # Subtle: the place is free when the thread is, not when its client is answered or gone.
        future.add_done_callback(lambda done: _call_soon(loop, self._ended, done, size))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.limits.timeout_s)
        except (TimeoutError, OutOfTimeError) as error:
            future.cancel()
            self.metrics.refused.labels("timeout").inc()
            limit = self.limits.timeout_s
            message = f"the request took longer than {limit:g} seconds (timeout_s)"
            raise Refused(504, message) from error

    def _admit(self, size: int) -> None:
        """Nothing, when there is a place, and time for the work before this request and its own."""
        limits = self.limits
        if self._in_flight >= limits.workers + limits.queue:
            self._refuse("queue_full", f"{limits.queue} requests are waiting already (queue)", 0)
        wait = self._pace.wait_s(size)
        if self._in_flight and size and wait > limits.timeout_s:
            told = (
                f"with what is before it, this would take about {wait:.0f} seconds, and a request"
            )
            self._refuse("no_time", f"{told} may take {limits.timeout_s:g} (timeout_s)", size)

    def _refuse(self, reason: str, message: str, size: int) -> NoReturn:
        self.metrics.refused.labels(reason).inc()
        spare = self.limits.timeout_s if size else 0.0
        seconds = max(1, min(60, math.ceil(self._pace.wait_s(size) - spare)))
        raise Refused(503, f"{message}: try again later", {"Retry-After": str(seconds)})

    def _timed(self, task: Callable[[], T]) -> T:
        self.metrics.waiting.dec()
        with self.metrics.working():
            return task()

    def _ended(self, future: "Future[Any]", size: int) -> None:
        self._in_flight -= 1
        if future.cancelled():  # it never reached a thread
            self.metrics.waiting.dec()
        if size:
            late = future.cancelled() or isinstance(future.exception(), OutOfTimeError)
            self._pace.end(size, served=not late)

    def _retriever(self, index: str) -> Retriever:
        if index not in self.retrievers:
            known = ", ".join(sorted(self.retrievers)) or "none"
            raise Refused(404, f"no index is named {index!r}; known are: {known}")
        return self.retrievers[index]

    def _balancer(self, options: Options) -> Balancer:
        base = self.balancer
        made = base.with_detector(Timely(self._shared(), self._lazy_batch))
        if options.quota is not None:
            made.quota = options.quota
        if options.gate is not None:
            made.gate = Gate(options.gate, base.gate.sure)
        if options.merge_duplicates is not None:
            merged = base.duplicates or Duplicates()
            made.duplicates = merged if options.merge_duplicates else None
        if options.unsure_below is not None:
            made.unsure_below = options.unsure_below
        return made

    def _shared(self) -> StanceDetector:
        with _MAKING:
            if self._detector is None:
                self._detector = shared(self.balancer.detector, self.limits, self.metrics)
            return self._detector

    def _lazy_batch(self) -> int:
        """Texts a call: fewer while other requests fill the cores, so that none is read in vain."""
        alone = lazy_batch(self._shared())
        if not getattr(self.balancer.detector, "reads_alone", False):
            return alone
        return max(1, math.ceil(alone / max(1, self._in_flight)))


class _Given:
    """A retriever that gives the documents it was made with."""

    def __init__(self, documents: Sequence[Any]) -> None:
        self._documents = documents

    def retrieve(self, question: str, k: int) -> Sequence[Any]:
        return self._documents


def _call_soon(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *given: Any) -> None:
    try:
        loop.call_soon_threadsafe(call, *given)
    except RuntimeError:  # the loop is closed: nobody counts any more
        return


_MAKING = threading.Lock()
_ANSWERING = 8
_UNKNOWN_SIZE = 20_000  # of documents that an index has yet to find: fifty of a paragraph each

__all__ = ["Options", "Service"]
