"""Loads a corpus into a vector store: in batches, resumable, through a server that goes away."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from equipoise.errors import InputError, StoreUnavailableError
from equipoise.retrieval.base import Embedder
from equipoise.retrieval.build import Progress, write_passages
from equipoise.retrieval.chunking import CHUNK_WORDS
from equipoise.retrieval.exact import require_id, stored_form
from equipoise.retrieval.manifest import PASSAGES
from equipoise.retrieval.passages import Passages
from equipoise.retrieval.store import VectorStore, require_model
from equipoise.types import Candidate

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Backoff:
    """How patiently a server that is away is asked again.

    `attempts` >= 1 calls in all. Before the n-th repetition a wait is drawn evenly between half
    and the whole of min(`most_s`, `first_s` * 2 ** (n - 1)) seconds, by a generator of `seed`: ten
    attempts wait 45 to 90 seconds in all.

    Raises:
        InputError: attempts < 1, or not 0 <= first_s <= most_s.
    """

    attempts: int = 10
    first_s: float = 0.25
    most_s: float = 30.0
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.attempts < 1 or not 0 <= self.first_s <= self.most_s:
            raise InputError(
                f"a Backoff needs attempts >= 1 and 0 <= first_s <= most_s, got {self}"
            )

    def waits(self) -> Iterator[float]:
        """The seconds to wait before each repetition, `attempts` - 1 of them."""
        rng = random.Random(self.seed)
        for n in range(self.attempts - 1):
            yield min(self.most_s, self.first_s * 2**n) * rng.uniform(0.5, 1.0)


@dataclass(frozen=True, slots=True)
class LoadSummary:
    """What a load did.

    Of `passages` from `documents` (with `blank` ones left out), `stored` were embedded and
    written, `kept` were in the store already. `repeats` counts calls made again because the server
    was away. `total_passages` is how many the store holds now.
    """

    documents: int
    passages: int
    blank: int
    stored: int
    kept: int
    repeats: int
    total_passages: int
    seconds: float


def load_store(
    store: VectorStore,
    corpus: Iterable[Candidate],
    embedder: Embedder,
    *,
    chunk_words: int = CHUNK_WORDS,
    batch: int = 256,
    resume: bool = True,
    backoff: Backoff | None = None,
    progress: Progress | None = None,
) -> LoadSummary:
    """Puts the passages of `corpus` into `store`, and tells what went in.

    Documents are cut into passages as `build_index` cuts them, all of them before the first is
    stored, in a temporary file. `batch` passages are embedded and stored at a time;
    `progress(done, total)` is called after each. With `resume`, a passage that the store has with
    the same text and metadata is not embedded again: a load that was broken off goes on where it
    was. Passages of other documents stay. A killed process leaves that temporary file behind.

    A call that finds the server away is made again after a wait, and where there was one, all
    passages are looked up once more at the end: a server may lose what it had taken in.

    Raises:
        InputError: no document with text, an id used twice, chunk_words or batch < 1.
        StoreError: the store is of another model, or refused.
        StoreUnavailableError: the server stayed away for all attempts.
        EmbedderError: the model failed.
    """
    if batch < 1:
        raise InputError(f"batch must be >= 1, got {batch}")
    require_model(store.name, store.embedder, store.dimension, embedder)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="equipoise-") as work:
        documents, blank = write_passages(corpus, Path(work), chunk_words, taken=[])
        passages = Passages(Path(work) / PASSAGES)
        load = _Load(store, embedder, passages, batch, backoff or Backoff())
        stored = load.run(resume=resume, progress=progress or (lambda done, total: None))
        load.patiently(store.flush)
        if load.repeats:
            load.run(resume=True, progress=lambda done, total: None)
            load.patiently(store.flush)
        total = load.patiently(lambda: len(store))
        return LoadSummary(
            documents,
            len(passages),
            blank,
            stored,
            len(passages) - stored,
            load.repeats,
            total,
            time.monotonic() - start,
        )


class _Load:
    """The passages on their way into the store, and how often a call was made again."""

    def __init__(
        self,
        store: VectorStore,
        embedder: Embedder,
        passages: Passages,
        batch: int,
        backoff: Backoff,
    ) -> None:
        self.repeats = 0
        self._store = store
        self._embedder = embedder
        self._passages = passages
        self._batch = batch
        self._backoff = backoff

    def run(self, *, resume: bool, progress: Progress) -> int:
        """Stores what is not there; how many that were."""
        total = len(self._passages)
        stored = 0
        progress(0, total)
        for first in range(0, total, self._batch):
            some = self._passages[first : first + self._batch]
            for passage in some:
                require_id(passage.id)
            wanted = self._absent(some) if resume else some
            if wanted:
                vectors = self._embedder.embed([passage.text for passage in wanted])
                self.patiently(lambda rows=wanted, at=vectors: self._store.upsert(rows, at))  # type: ignore[misc]
            stored += len(wanted)
            progress(min(first + self._batch, total), total)
        return stored

    def _absent(self, passages: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """Those that the store does not have, or has with another text or other metadata."""
        ids = [passage.id for passage in passages]
        found = {passage.id: passage for passage in self.patiently(lambda: self._store.get(ids))}
        return tuple(p for p in passages if found.get(p.id) != stored_form(p))

    def patiently(self, call: Callable[[], T]) -> T:
        """What `call` gives, made again after a wait for as long as the server is away."""
        for wait in self._backoff.waits():
            try:
                return call()
            except StoreUnavailableError:
                self.repeats += 1
                time.sleep(wait)
        return call()
