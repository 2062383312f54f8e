import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from equipoise.errors import DetectorError, InputError, StoreError
from equipoise.stance import CachedDetector
from equipoise.testing import FailingDetector, FakeDetector
from equipoise.types import StanceScore

TABLE = {"a": "pro", "b": "con", "c": "neutral", "d": StanceScore(0.1, 0.2, 0.7, windows=5)}


def fake() -> FakeDetector:
    return FakeDetector(TABLE, default="neutral")


def test_what_was_asked_once_is_not_asked_again() -> None:
    inner = fake()
    cached = CachedDetector(inner)
    first = cached.detect("?", ["a", "b"])
    assert cached.detect("?", ["b", "a"]) == first[::-1]
    assert (inner.calls, inner.texts) == (1, ["a", "b"])
    assert (cached.hits, cached.misses) == (2, 2)


def test_only_misses_are_sent_on_in_one_call_each_text_once() -> None:
    inner = fake()
    cached = CachedDetector(inner)
    cached.detect("?", ["b"])
    scores = cached.detect("?", ["a", "b", "c", "a", "c"])
    assert [score.label.value for score in scores] == ["pro", "con", "neutral", "pro", "neutral"]
    assert inner.texts == ["b", "a", "c"]
    assert (inner.calls, cached.hits, cached.misses) == (2, 1, 5)


def test_nothing_is_asked_when_all_is_known_or_nothing_is_wanted() -> None:
    inner = fake()
    cached = CachedDetector(inner)
    assert cached.detect("?", []) == []
    cached.detect("?", ["a"])
    cached.detect("?", ["a"])
    assert inner.calls == 1


def test_another_question_is_another_label() -> None:
    inner = fake()
    cached = CachedDetector(inner)
    cached.detect("one?", ["a"])
    cached.detect("two?", ["a"])
    assert inner.questions == ["one?", "two?"]


def test_question_and_text_do_not_run_together() -> None:
    inner = fake()
    cached = CachedDetector(inner)
    cached.detect("ab", ["c"])
    cached.detect("a", ["bc"])
    assert inner.calls == 2


def test_another_detector_never_gets_these_labels(tmp_path: Path) -> None:
    with CachedDetector(fake(), path=tmp_path / "labels.db") as first:
        first.detect("?", ["a"])
    other = FakeDetector({"a": "con"})
    with CachedDetector(other, path=tmp_path / "labels.db") as second:
        assert second.detect("?", ["a"])[0].label.value == "con"
    assert other.calls == 1


def test_the_label_used_longest_ago_is_forgotten_first() -> None:
    inner = fake()
    cached = CachedDetector(inner, max_items=2)
    cached.detect("?", ["a"])
    cached.detect("?", ["b"])
    cached.detect("?", ["a"])
    cached.detect("?", ["c"])
    inner.texts.clear()
    cached.detect("?", ["a"])
    assert inner.texts == []
    cached.detect("?", ["b"])
    assert inner.texts == ["b"]


def test_a_call_larger_than_the_bound_still_gets_every_score() -> None:
    cached = CachedDetector(fake(), max_items=1)
    assert len(cached.detect("?", ["a", "b", "c", "d"])) == 4


@pytest.mark.parametrize("most", [0, -1, True, 2.5])
def test_the_bound_must_be_a_positive_int(most: int) -> None:
    with pytest.raises(InputError, match="max_items must be an int >= 1"):
        CachedDetector(fake(), max_items=most)


def test_labels_are_kept_in_the_file_between_runs(tmp_path: Path) -> None:
    path = tmp_path / "labels.db"
    with CachedDetector(fake(), path=path) as first:
        before = first.detect("?", ["a", "d", "\ud800"])
    inner = fake()
    with CachedDetector(inner, path=path, max_items=1) as second:
        assert second.detect("?", ["a", "d", "\ud800"]) == before
        assert second.detect("?", ["d"])[0].windows == 5
    assert inner.calls == 0


def test_the_file_holds_no_text(tmp_path: Path) -> None:
    path = tmp_path / "labels.db"
    with CachedDetector(fake(), path=path) as cached:
        cached.detect("a very private question", ["a very private text"])
    assert b"private" not in path.read_bytes()


def test_two_caches_may_use_one_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "labels.db"
    one, two = fake(), fake()
    with CachedDetector(one, path=path) as first, CachedDetector(two, path=path) as second:
        first.detect("?", ["a"])
        second.detect("?", ["a", "b"])
        first.detect("?", ["b"])
    assert (one.texts, two.texts) == (["a"], ["b"])


def test_a_file_that_is_no_database_is_a_store_error(tmp_path: Path) -> None:
    path = tmp_path / "labels.db"
    path.write_text("not a database, but long enough to be looked at " * 100)
    with pytest.raises(StoreError, match="must be an SQLite file"):
        CachedDetector(fake(), path=path)
    with pytest.raises(StoreError, match="must be an SQLite file"):
        CachedDetector(fake(), path=tmp_path / "no" / "folder" / "labels.db")


def test_a_damaged_row_is_a_store_error(tmp_path: Path) -> None:
    path = tmp_path / "labels.db"
    with CachedDetector(fake(), path=path) as cached:
        cached.detect("?", ["a"])
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE stance_scores_v1 SET pro = 7.0")
    connection.close()
    with (
        CachedDetector(fake(), path=path) as cached,
        pytest.raises(StoreError, match=r"labels\.db"),
    ):
        cached.detect("?", ["a"])


def test_a_failure_is_not_remembered() -> None:
    inner = FailingDetector()
    cached = CachedDetector(inner)
    for _ in range(2):
        with pytest.raises(DetectorError):
            cached.detect("?", ["a"])
    assert inner.calls == 2


def test_a_wrong_number_of_scores_is_a_detector_error() -> None:
    class Short(FakeDetector):
        def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
            return super().detect(question, texts)[1:]

    with pytest.raises(DetectorError, match="gave 1 for 2 texts"):
        CachedDetector(Short(TABLE)).detect("?", ["a", "b"])


def test_many_threads_share_memory_and_file(tmp_path: Path) -> None:
    inner = fake()
    texts = [f"text {n}" for n in range(50)]
    with CachedDetector(inner, max_items=20, path=tmp_path / "labels.db") as cached:
        with ThreadPoolExecutor(16) as pool:
            found = list(pool.map(lambda at: cached.detect("?", texts[at % 40 :]), range(200)))
        assert all(len(scores) == 50 - at % 40 for at, scores in enumerate(found))
        inner.texts.clear()
        cached.detect("?", texts)
        assert inner.texts == []
        assert cached.hits + cached.misses == sum(50 - at % 40 for at in range(200)) + 50


def test_a_slow_detector_does_not_hold_up_known_labels() -> None:
    gate = threading.Event()

    class Slow(FakeDetector):
        def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
            if "b" in texts:
                gate.wait(10)
            return super().detect(question, texts)

    cached = CachedDetector(Slow(TABLE))
    cached.detect("?", ["a"])
    waiting = threading.Thread(target=cached.detect, args=("?", ["b"]))
    waiting.start()
    assert cached.detect("?", ["a"])[0].label.value == "pro"
    gate.set()
    waiting.join()
