"""Runs here and on a Ray cluster of two nodes: nothing lost, nothing twice, whatever is killed."""

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from equipoise.errors import DetectorError, EquipoiseError, InputError, StoreError
from equipoise.scale import Embedding, Labeller, OutFolder, RayDetector, run
from equipoise.testing import FakeDetector
from equipoise.types import StanceScore

from .toy import FirstWord

Rows = Callable[[int], Path]
Parts = Callable[[Path], list[dict[str, Any]]]
QUESTION = "Should it be?"


def labels(rows: list[dict[str, Any]]) -> list[tuple[int, str, str]]:
    return [(row["row"], row["id"], row["stance"]) for row in rows]


def expected(count: int) -> list[tuple[int, str, str]]:
    return [(n, f"d{n}", ("pro", "con", "neutral")[n % 3]) for n in range(count)]


def test_a_stopped_run_goes_on_and_labels_nothing_twice(
    tmp_path: Path, rows_file: Rows, parts: Parts
) -> None:
    file, out = rows_file(25), tmp_path / "out"

    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done >= 12:
            raise Stop

    first = FakeDetector({}, default="pro")
    with pytest.raises(Stop):
        run(Labeller(first, question=QUESTION), [file], out, block_rows=4, progress=stop)
    second = FakeDetector({}, default="pro")
    summary = run(Labeller(second, question=QUESTION), [file], out, block_rows=4)
    assert (summary.rows, summary.kept, summary.made, summary.failed) == (25, 12, 13, 0)
    assert len(first.texts) + len(second.texts) == 25
    assert [row["row"] for row in parts(out)] == list(range(25))
    third = FakeDetector({}, default="pro")
    assert run(Labeller(third, question=QUESTION), [file], out, block_rows=4).made == 0
    assert third.calls == 0


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    ("task", "lacks"),
    [
        (Labeller(FirstWord()), "'question'"),
        (Labeller(FirstWord(), question=QUESTION, text_column="body"), "'body'"),
        (Labeller(FirstWord(), question_column="asked"), "'asked'"),
        (Embedding(text_column="body"), "'body'"),
    ],
)
def test_an_input_without_a_column_is_refused_before_anything_is_written(
    tmp_path: Path, kind: str, task: Labeller | Embedding, lacks: str
) -> None:
    rows = [{"id": f"d{n}", "text": "pro it is"} for n in range(5)]
    file = tmp_path / f"rows.{kind}"
    if kind == "jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
        parquet.write_table(arrow.Table.from_pylist(rows), file)
    with pytest.raises(InputError, match=f"must have the column {lacks}, and has 'id', 'text'"):
        run(task, [file], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_column_that_some_rows_lack_fails_those_rows_alone(tmp_path: Path, parts: Parts) -> None:
    rows = [{"text": "pro it is"}, {"text": "con", "question": QUESTION}, {"text": ""}, {}]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(Labeller(FirstWord()), [file], tmp_path / "out").failed == 3
    told = [row["error"] for row in parts(tmp_path / "out")]
    assert told[1] is None
    assert "'question' must be a question" in told[0]
    assert "'text' must not be blank" in told[2]


def test_a_text_in_another_language_has_that_as_its_reason(tmp_path: Path, parts: Parts) -> None:
    texts = ["Zoos teach the public.", "Зоопарки следует закрыть, животные страдают в клетках."]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    summary = run(Labeller(question="Should zoos be banned?"), [file], tmp_path / "out")
    assert summary.failed == 1
    first, second = parts(tmp_path / "out")
    assert (first["error"], first["windows"]) == (None, 1)
    assert (second["stance"], second["windows"]) == (None, 0)
    assert "another language" in second["error"]


def test_a_cluster_that_is_not_there_is_told_soon(tmp_path: Path, rows_file: Rows) -> None:
    pytest.importorskip("ray")
    began = time.monotonic()
    with pytest.raises(EquipoiseError, match=r"the cluster at 127\.0\.0\.1:1 must be reachable"):
        run(
            Labeller(FirstWord(), question=QUESTION),
            [rows_file(3)],
            tmp_path / "out",
            engine="ray",
            address="127.0.0.1:1",
        )
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("engine", "address", "told"),
    [("local", "auto", "is for the engine"), ("ray", "ray://127.0.0.1:10001", "Ray Client")],
)
def test_an_address_that_cannot_serve_is_refused(
    tmp_path: Path, rows_file: Rows, engine: Any, address: str, told: str
) -> None:
    pytest.importorskip("ray") if engine == "ray" else None
    with pytest.raises(InputError, match=told):
        run(
            Labeller(FirstWord(), question=QUESTION),
            [rows_file(3)],
            tmp_path / "out",
            engine=engine,
            address=address,
        )
    assert not (tmp_path / "out").exists()


def test_results_that_cannot_have_a_folder_are_refused(tmp_path: Path, rows_file: Rows) -> None:
    file = rows_file(3)
    with pytest.raises(InputError, match="need a folder"):
        run(Labeller(FirstWord(), question=QUESTION), [file], file)


def test_another_run_is_refused(tmp_path: Path, rows_file: Rows) -> None:
    file, out = rows_file(10), tmp_path / "out"
    task = Labeller(FirstWord(), question=QUESTION)
    run(task, [file], out, block_rows=4)
    for other, block_rows in ((Labeller(FirstWord(), question="Another?"), 4), (task, 5)):
        with pytest.raises(StoreError, match="belongs to another run"):
            run(other, [file], out, block_rows=block_rows)
    file.write_text(file.read_text() + '{"text": "pro"}\n')
    with pytest.raises(StoreError, match="input"):
        run(task, [file], out, block_rows=4)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(StoreError, match="must be empty or hold a run"):
        run(task, [file], tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").exists()


def test_a_path_is_the_same_however_it_is_written(
    tmp_path: Path, rows_file: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, task = rows_file(10), Labeller(FirstWord(), question=QUESTION)
    run(task, [file], tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    assert run(task, [file.name], "out").kept == 10


def test_what_an_input_holds_cannot_stop_a_run(tmp_path: Path, parts: Parts) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(
        '{"id": "\\ud800", "text": "pro"}\n'
        '{"id": 7, "text": "con", "error": {"seen": "in a log"}}\n'
        '{"id": [1], "text": "\\ud800"}\n{"text": \n[]\n'
    )
    summary = run(Labeller(FirstWord(), question="\ud800?"), [file], tmp_path / "out")
    made = parts(tmp_path / "out")
    assert [row["id"] for row in made] == ["?", "7", "[1]", None, None]
    assert [row["stance"] for row in made] == ["pro", "con", None, None, None]
    assert (summary.made, summary.failed) == (5, 3)
    assert "must be JSON" in made[3]["error"]
    assert made[4]["error"] == "the line must be a JSON object"


def test_rows_of_a_server_that_is_gone_are_tried_again(
    tmp_path: Path, rows_file: Rows, parts: Parts
) -> None:
    file, out = rows_file(40), tmp_path / "out"

    class Server(FirstWord):
        up = 20

        def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
            if self.up < 1:
                raise DetectorError("the server is gone")
            self.up -= len(texts)
            return super().detect(question, texts)

    with pytest.raises(DetectorError, match="the server is gone"):
        run(Labeller(Server(), question=QUESTION), [file], out, block_rows=10)
    summary = run(Labeller(FirstWord(), question=QUESTION), [file], out, block_rows=10)
    assert (summary.kept, summary.made, summary.failed) == (20, 20, 0)
    assert labels(parts(out)) == expected(40)


def test_what_does_not_hold_is_told(tmp_path: Path, rows_file: Rows) -> None:
    task = Labeller(FirstWord(), question=QUESTION)
    with pytest.raises(InputError, match="workers must be an int >= 1, got 0"):
        run(task, [rows_file(3)], tmp_path / "out", workers=0)
    with pytest.raises(InputError, match="at least one row"):
        run(task, [rows_file(0)], tmp_path / "out")
    with pytest.raises(InputError, match='"local" or "ray"'):
        run(task, [rows_file(3)], tmp_path / "out", engine="slurm")  # type: ignore[arg-type]


@pytest.fixture
def toys_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker processes find this folder's `toy`: they get the path of this one."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))


class Unloadable(FakeDetector):
    """A detector that no other process can load."""

    name = "unloadable"  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, ("raise ImportError('not here')",))


@pytest.mark.slow
def test_a_worker_that_cannot_load_its_task_is_told_and_does_not_hang(
    tmp_path: Path, rows_file: Rows
) -> None:
    task = Labeller(Unloadable({}, default="pro"), question=QUESTION)
    with pytest.raises(DetectorError, match="could not load the task"):
        run(task, [rows_file(10)], tmp_path / "out", workers=2, block_rows=2)


@pytest.mark.slow
@pytest.mark.usefixtures("toys_found")
def test_two_processes_make_what_one_makes(tmp_path: Path, rows_file: Rows, parts: Parts) -> None:
    file = rows_file(40)
    task = Labeller(FirstWord(tmp_path / "log"), question=QUESTION)
    summary = run(task, [file], tmp_path / "two", workers=2, block_rows=5)
    assert (summary.made, summary.failed) == (40, 0)
    assert labels(parts(tmp_path / "two")) == expected(40)


@pytest.mark.slow
@pytest.mark.usefixtures("toys_found")
def test_a_process_that_dies_loses_nothing_and_doubles_nothing(
    tmp_path: Path, rows_file: Rows, parts: Parts
) -> None:
    file, log = rows_file(40), tmp_path / "log"
    task = Labeller(FirstWord(log, wait_s=0.05, dies_at="neutral 17"), question=QUESTION)
    summary = run(task, [file], tmp_path / "out", workers=2, block_rows=2)
    assert log.with_suffix(".died").exists()
    assert (summary.made, summary.failed) == (40, 0)
    assert labels(parts(tmp_path / "out")) == expected(40)


@pytest.mark.slow
@pytest.mark.usefixtures("toys_found")
def test_a_row_that_kills_every_process_ends_the_run_after_the_rest_is_done(
    tmp_path: Path, rows_file: Rows, parts: Parts
) -> None:
    file = rows_file(20)
    detector = FirstWord(tmp_path / "log", dies_at="neutral 2", always=True)
    with pytest.raises(DetectorError, match="3 times and no block was done between, of 1 that"):
        run(
            Labeller(detector, question=QUESTION), [file], tmp_path / "out", workers=2, block_rows=2
        )
    assert labels(parts(tmp_path / "out")) == [row for row in expected(20) if row[0] not in (2, 3)]


@pytest.mark.slow
def test_a_killed_process_is_gone_on_with(tmp_path: Path, rows_file: Rows, parts: Parts) -> None:
    _killed_and_gone_on_with(tmp_path, rows_file, parts, engine="local")


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a Ray cluster of two nodes on this machine, a core each."""
    pytest.importorskip("ray")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    )
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    made.add_node(num_cpus=1)
    yield made.address
    made.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
class TestRay:
    def test_two_nodes_make_what_one_process_makes(
        self, cluster: str, tmp_path: Path, rows_file: Rows, parts: Parts
    ) -> None:
        file, log = rows_file(60), tmp_path / "log"
        task = Labeller(FirstWord(log, wait_s=0.2), question=QUESTION)
        summary = run(
            task, [file], tmp_path / "out", engine="ray", workers=2, address=cluster, block_rows=5
        )
        assert (summary.rows, summary.made, summary.failed) == (60, 60, 0)
        assert labels(parts(tmp_path / "out")) == expected(60)
        lines = log.read_text().splitlines()
        assert len({line.split()[0] for line in lines}) == 2  # both actors read
        assert len(lines) == 60

    def test_an_actor_that_is_killed_loses_nothing_and_doubles_nothing(
        self, cluster: str, tmp_path: Path, rows_file: Rows, parts: Parts
    ) -> None:
        file, log = rows_file(60), tmp_path / "log"
        detector = FirstWord(log, wait_s=0.1, dies_at="neutral 32")
        summary = run(
            Labeller(detector, question=QUESTION), [file], tmp_path / "out",
            engine="ray", workers=2, address=cluster, block_rows=5,
        )  # fmt: skip
        assert log.with_suffix(".died").exists()
        assert (summary.made, summary.failed) == (60, 0)
        assert labels(parts(tmp_path / "out")) == expected(60)

    def test_what_goes_wrong_in_an_actor_is_told_as_it_is_here(
        self, cluster: str, tmp_path: Path
    ) -> None:
        file = tmp_path / "odd.jsonl"
        file.write_text('{"text": "odd"}\n' * 8)
        with pytest.raises(DetectorError, match=r"^no side in 'odd'$"):
            run(Labeller(FirstWord(), question=QUESTION), [file], tmp_path / "out",
                engine="ray", workers=2, address=cluster)  # fmt: skip
        with pytest.raises(InputError, match="for each of 3 actors, has 2"):
            RayDetector(FirstWord(), actors=3, address=cluster)

    def test_a_killed_driver_is_gone_on_with(
        self, cluster: str, tmp_path: Path, rows_file: Rows, parts: Parts
    ) -> None:
        _killed_and_gone_on_with(tmp_path, rows_file, parts, engine="ray", address=cluster)

    def test_a_detector_in_actors_gives_its_own_scores_and_survives_a_death(
        self, cluster: str, tmp_path: Path
    ) -> None:
        texts = [f"{side} {n}" for n, side in enumerate(["pro", "con", "neutral"] * 12)]
        detector = FirstWord(tmp_path / "log", dies_at="con 13")
        with RayDetector(detector, actors=2, address=cluster) as spread:
            assert spread.name == detector.name
            assert spread.detect(QUESTION, texts) == FirstWord().detect(QUESTION, texts)
            assert spread.detect(QUESTION, []) == []
            with pytest.raises(DetectorError, match="no side in 'odd'"):
                spread.detect(QUESTION, ["pro 1", "odd"])
        assert (tmp_path / "log.died").exists() or detector.log.with_suffix(".died").exists()


_DRIVER = """
import sys
sys.path.insert(0, {tests!r})
from tests.scale.toy import FirstWord
from pathlib import Path
from equipoise.scale import Labeller, run
task = Labeller(FirstWord(Path({log!r}), wait_s=0.15), question={question!r})
run(task, [{file!r}], {out!r}, engine={engine!r}, workers=2, address={address!r}, block_rows=2)
"""


def _killed_and_gone_on_with(
    tmp_path: Path, rows_file: Rows, parts: Parts, *, engine: str, address: str | None = None
) -> None:
    file, out, log = rows_file(60), tmp_path / "out", tmp_path / "log"
    code = textwrap.dedent(_DRIVER).format(
        tests=str(Path(__file__).parents[2]), log=str(log), question=QUESTION, file=str(file),
        out=str(out), engine=engine, address=address,
    )  # fmt: skip
    program = tmp_path / "driver.py"
    program.write_text(f"if __name__ == '__main__':\n{textwrap.indent(code, '    ')}")
    driver = subprocess.Popen([sys.executable, str(program)], start_new_session=True)
    until = time.monotonic() + 60
    while len(list(out.glob("part-*"))) < 6:
        assert time.monotonic() < until, "no parts came"
        assert driver.poll() is None, "it ended before it was killed"
        time.sleep(0.02)
    children = _children(driver.pid)
    driver.kill()
    driver.wait()
    while engine == "local" and any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < until, "its processes stayed"
        time.sleep(0.02)
    there = len(list(out.glob("part-*")))
    assert 6 <= there < 30
    done = subprocess.run([sys.executable, str(program)], timeout=120, check=False)
    assert done.returncode == 0
    assert labels(parts(out)) == expected(60)
    # At most what was in hand when it was killed was read a second time.
    texts = [line.split(maxsplit=1)[1] for line in log.read_text().splitlines()]
    assert len(set(texts)) == 60
    assert len(texts) <= 60 + 2 * 6


def _children(pid: int) -> list[int]:
    """The processes that `pid` has started."""
    found = Path("/proc").glob(f"{pid}/task/*/children")
    return [int(child) for file in found for child in file.read_text().split()]


@pytest.mark.slow
def test_the_command_labels_with_a_bundled_model(tmp_path: Path, parts: Parts) -> None:
    file = tmp_path / "rows.jsonl"
    texts = ["Zoos are cruel and should be closed.", "Zoos protect rare animals and should stay."]
    file.write_text("".join(json.dumps({"id": n, "text": t}) + "\n" for n, t in enumerate(texts)))
    command = [
        sys.executable, "-m", "equipoise", "scale", "label", str(file), "-o",
        str(tmp_path / "out"), "--question", "Should zoos be closed?", "--detector", "default",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "2 rows made, 0 were there" in done.stderr
    assert [row["stance"] for row in parts(tmp_path / "out")] == ["pro", "con"]
    assert OutFolder(tmp_path / "out").missing([]) == []
