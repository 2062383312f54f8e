"""A run killed at any moment goes on without a lost or a doubled answer."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import equipoise
from equipoise.lab.answers.store import ANSWERS, VERDICTS, read_cells

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]
SCRIPT = Path(__file__).with_name("answers_sitting.py")
SEED, KILLS, QUESTIONS = 20260905, 10, 60


def test_ten_kills_lose_and_double_nothing(tmp_path):
    source = str(Path(equipoise.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path), str(SEED), str(KILLS)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert len(report["moments"]) == KILLS
    assert report["moments"] == sorted(report["moments"])
    assert report["moments"][0] >= 1
    assert report["moments"][-1] < QUESTIONS  # so that each kill fell into the middle of the run
    assert report["last"] == 0
    for name in (ANSWERS, VERDICTS):
        rows = [json.loads(line) for line in (tmp_path / name).read_bytes().splitlines()]
        keys = [row["key"] for row in rows if "key" in row]
        assert len(keys) == len(set(keys)) == QUESTIONS, name
    cells = read_cells(tmp_path)
    assert [len(cell.answers) for cell in cells] == [QUESTIONS // 2] * 2
    assert all(cell.value(question) == 1.0 for cell in cells for question in cell.answers)
