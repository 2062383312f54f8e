"""Runs of one model side by side: the same results, the order kept, errors told."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from equipoise.errors import DetectorError
from equipoise.stance import ClassifierDetector
from equipoise.stance.pair_model import Limits, PairModel
from equipoise.stance.pairs import Batch, PairTokenizer
from equipoise.stance.runners import Logits, int8_sums_are_exact, run_batches

QUESTION = "Should X be legal?"
TEXTS = [
    "filler " * n + "good" * (n % 2) + " bad" * (n % 3) for n in (3, 40, 11, 25, 200, 1, 7, 60)
]


def batch(number: int) -> Batch:
    ids = np.full((1, 4), number, dtype=np.int64)
    return Batch(ids, np.ones_like(ids), np.zeros_like(ids))


class Counted:
    """Answers a batch with its first id; keeps how many runs went on at once, and which began."""

    def __init__(self, *, seconds: float = 0.0, broken: int = -1, alone: bool = True) -> None:
        self.alone = alone
        self.seconds = seconds
        self.broken = broken
        self.most = 0
        self.began: list[int] = []
        self._now = 0
        self._lock = threading.Lock()

    def logits(self, batch: Batch) -> Logits:
        number = int(batch.ids[0, 0])
        with self._lock:
            self.began.append(number)
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            if number == self.broken:
                raise DetectorError(f"run {number} failed")
            # The first takes longest, so that results come back in another order.
            time.sleep(self.seconds * (3 if number == 0 else 1))
            return np.full((len(batch.ids), 3), float(number))
        finally:
            with self._lock:
                self._now -= 1


@pytest.mark.parametrize("at_once", [1, 2, 3, 16])
def test_outputs_come_in_the_order_of_the_batches(at_once: int) -> None:
    outputs = run_batches(Counted(seconds=0.005), [batch(n) for n in range(9)], at_once=at_once)
    assert [row[0, 0] for row in outputs] == [*range(9)]


@pytest.mark.parametrize(("at_once", "runs", "most"), [(1, 6, 1), (3, 12, 3), (8, 2, 2), (4, 0, 0)])
def test_as_many_runs_go_on_as_asked_for_and_no_more(at_once: int, runs: int, most: int) -> None:
    runner = Counted(seconds=0.02)
    run_batches(runner, [batch(n) for n in range(runs)], at_once=at_once)
    assert runner.most == most


@pytest.mark.parametrize("at_once", [1, 2, 4])
def test_an_error_in_any_run_reaches_the_caller_and_stops_the_rest(at_once: int) -> None:
    runner = Counted(seconds=0.01, broken=2)
    with pytest.raises(DetectorError, match="run 2 failed"):
        run_batches(runner, [batch(n) for n in range(60)], at_once=at_once)
    assert len(runner.began) < 60


def test_no_thread_is_left_behind() -> None:
    before = threading.active_count()
    run_batches(Counted(), [batch(n) for n in range(8)], at_once=4)
    assert threading.active_count() == before


@pytest.mark.parametrize(("alone", "most"), [(True, 4), (False, 1)])
def test_only_runs_of_single_pairs_go_side_by_side(
    stance_folder: Path, alone: bool, most: int
) -> None:
    runner = Counted(seconds=0.02, alone=alone)
    tokenizer = PairTokenizer.from_file(stance_folder / "tokenizer.json")
    limits = Limits(max_length=64, max_windows=64, batch_tokens=64, at_once=4)
    model = PairModel(tokenizer, runner, limits=limits, pad_id=1, temperature=1.0)
    pair = tokenizer.pair(tokenizer.ids("good"), tokenizer.ids("filler " * 50))
    model.probabilities([pair] * 8, [0] * 8)
    assert runner.most == most


def test_scores_do_not_depend_on_the_number_of_threads(checkpoint: Path) -> None:
    one, *others = (
        ClassifierDetector(checkpoint, threads=threads).detect(QUESTION, TEXTS)
        for threads in (1, 2, 3, 5)
    )
    assert all(scores == one for scores in others)


def test_scores_do_not_depend_on_the_company_of_other_texts(checkpoint: Path) -> None:
    detector = ClassifierDetector(checkpoint, threads=3)
    together = detector.detect(QUESTION, TEXTS)
    assert [detector.detect(QUESTION, [text])[0] for text in TEXTS] == together
    assert detector.detect(QUESTION, TEXTS[::-1]) == together[::-1]


def test_many_callers_at_once_get_the_scores_of_one(checkpoint: Path) -> None:
    detector = ClassifierDetector(checkpoint, threads=2)
    alone = detector.detect(QUESTION, TEXTS)
    with ThreadPoolExecutor(8) as pool:
        for scores in pool.map(lambda _: detector.detect(QUESTION, TEXTS), range(24)):
            assert scores == alone


def test_a_broken_output_is_named_from_a_worker_thread(make_folder: Callable[..., Path]) -> None:
    detector = ClassifierDetector(make_folder(), threads=4)
    with pytest.raises(DetectorError, match="text 2 got"):
        detector.detect(QUESTION, ["good", "bad", "nan", "good"])
    assert detector.detect(QUESTION, ["good"])[0].label.value == "pro"


@pytest.mark.parametrize(
    ("machine", "features", "exact"),
    [
        ("x86_64", "flags : sse2 avx2 avx512_vnni", True),
        ("AMD64", "flags : avx2 avx_vnni", True),
        ("x86_64", "flags : sse2 avx2 avx512f", False),
        ("x86_64", None, False),  # no such file: not Linux
        ("aarch64", None, True),
    ],
)
def test_the_exact_int8_sums_are_asked_for_where_the_fast_ones_may_overflow(
    machine, features, exact, tmp_path
):
    path = tmp_path / "cpuinfo"
    if features is not None:
        path.write_text(features)
    assert int8_sums_are_exact(machine=machine, cpuinfo=path) is exact
