"""Labels remembered: in memory with a bound, and if wanted in an SQLite file."""

import hashlib
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self

from equipoise.errors import StoreError
from equipoise.stance.base import check_count, checked_texts, detect_checked, lazy_batch
from equipoise.types import StanceDetector, StanceScore

_SCHEMA = """
CREATE TABLE IF NOT EXISTS stance_scores_v1 (
    key BLOB PRIMARY KEY, pro REAL NOT NULL, con REAL NOT NULL, neutral REAL NOT NULL,
    windows INTEGER NOT NULL
) WITHOUT ROWID
"""
_SELECT = "SELECT pro, con, neutral, windows FROM stance_scores_v1 WHERE key = ?"
_INSERT = "INSERT OR REPLACE INTO stance_scores_v1 VALUES (?, ?, ?, ?, ?)"


class CachedDetector:
    """Any detector, asked once for each question and text.

    The key is the SHA-256 of the detector's name, the question and the text, so that another
    model or setting never gets this one's labels. What is not known goes to the detector in one
    call, each distinct text once. Safe to share between threads: two that miss the same text at
    the same time both ask for it.

    Args:
        detector: the detector to remember for.
        max_items: labels kept in memory, >= 1; the one used longest ago goes first.
        path: an SQLite file that keeps labels between runs, without a bound; several processes
            may use it. It holds hashes and numbers, no text. None keeps nothing on disk.

    Raises:
        InputError: `max_items` < 1.
        StoreError: `path` cannot be opened, or is no SQLite file.

    Use `close`, or `with`, where there is a path. Do not use it where questions never come twice:
    each miss costs a hash and, with a path, a write.

    Source: ours.

    >>> from equipoise.testing import FakeDetector
    >>> cached = CachedDetector(FakeDetector({"a": "pro"}))
    >>> [cached.detect("?", ["a", "a"])[1].label.value for _ in range(3)]
    ['pro', 'pro', 'pro']
    >>> cached.hits, cached.misses
    (4, 2)
    """

    def __init__(
        self, detector: StanceDetector, *, max_items: int = 10_000, path: str | Path | None = None
    ) -> None:
        check_count("max_items", max_items)
        self.detector = detector
        self._max_items = max_items
        self._memory: OrderedDict[bytes, StanceScore] = OrderedDict()
        self._lock = threading.Lock()
        self._hits = 0
        self._misses = 0
        self._file = None if path is None else _ScoreFile(Path(path))

    @property
    def name(self) -> str:
        """The name of the detector inside, for the scores are its own."""
        return self.detector.name

    @property
    def lazy_batch(self) -> int:
        """That of the detector inside."""
        return lazy_batch(self.detector)

    @property
    def hits(self) -> int:
        """Texts answered without the detector."""
        return self._hits

    @property
    def misses(self) -> int:
        """Texts that were not known when they were asked for."""
        return self._misses

    def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
        """One score a text, in order; unknown texts go to the detector in one call.

        Raises:
            DetectorError: the detector failed; nothing is remembered then.
            StoreError: the SQLite file cannot be read or written.
        """
        items = checked_texts(texts)
        name = self.detector.name if items else ""
        keys = [_key(name, question, text) for text in items]
        known = self._look_up(keys)
        missing = {key: text for key, text in zip(keys, items, strict=True) if key not in known}
        with self._lock:
            misses = sum(key in missing for key in keys)
            self._misses += misses
            self._hits += len(keys) - misses
        if missing:
            scores = detect_checked(self.detector, question, list(missing.values()))
            new = dict(zip(missing, scores, strict=True))
            if self._file is not None:
                self._file.write(new)
            self._remember(new)
            known.update(new)
        return [known[key] for key in keys]

    def close(self) -> None:
        """Close the SQLite file, if there is one; the detector inside stays as it is."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _look_up(self, keys: Sequence[bytes]) -> dict[bytes, StanceScore]:
        with self._lock:
            known = {key: self._memory[key] for key in keys if key in self._memory}
            for key in known:
                self._memory.move_to_end(key)
        if self._file is not None:
            found = self._file.read([key for key in dict.fromkeys(keys) if key not in known])
            self._remember(found)
            known.update(found)
        return known

    def _remember(self, scores: dict[bytes, StanceScore]) -> None:
        with self._lock:
            self._memory.update(scores)
            while len(self._memory) > self._max_items:
                self._memory.popitem(last=False)


def _key(name: str, question: str, text: str) -> bytes:
    # Lengths first, so that no two triples run together; surrogates pass, for they may come in.
    parts = [part.encode("utf-8", "surrogatepass") for part in (name, question, text)]
    return hashlib.sha256(b"".join(b"%d:%b" % (len(part), part) for part in parts)).digest()


class _ScoreFile:
    """The SQLite file: one connection under one lock, write-ahead log, no text in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            self._connection = sqlite3.connect(path, timeout=30.0, check_same_thread=False)
        except sqlite3.Error as error:
            raise self._broken(error) from error
        try:
            self._connection.execute("PRAGMA journal_mode=WAL")
            # Losing the last labels in a power cut costs a model call each, not correctness.
            self._connection.execute("PRAGMA synchronous=NORMAL")
            with self._connection:
                self._connection.execute(_SCHEMA)
        except sqlite3.Error as error:
            self._connection.close()
            raise self._broken(error) from error

    def read(self, keys: Sequence[bytes]) -> dict[bytes, StanceScore]:
        found = {}
        with self._lock:
            try:
                for key in keys:
                    with closing(self._connection.execute(_SELECT, (key,))) as cursor:
                        row = cursor.fetchone()
                    if row is not None:
                        found[key] = StanceScore(*row)
            except (sqlite3.Error, ValueError) as error:
                raise self._broken(error) from error
        return found

    def write(self, scores: dict[bytes, StanceScore]) -> None:
        rows = [(key, s.pro, s.con, s.neutral, s.windows) for key, s in scores.items()]
        with self._lock:
            try:
                with self._connection:
                    self._connection.executemany(_INSERT, rows)
            except sqlite3.Error as error:
                raise self._broken(error) from error

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _broken(self, error: Exception) -> StoreError:
        return StoreError(
            f"the label cache {self._path} must be an SQLite file that can be read and written "
            f"({error}): delete it, or give another path"
        )
