"""`--filter` on the command line, in real processes; no label is read, and so no model loaded."""

import json
import os
import subprocess
import sys

import pytest

from equipoise.cli._io import named_filter
from equipoise.errors import InputError
from equipoise.polarization import BiasDef

ROWS = [
    *({"text": f"p{i}", "score": 0.9 - i / 100, "embedding": [5, i / 9]} for i in range(5)),
    *({"text": f"h{i}", "score": 0.5 - i / 100, "embedding": [i % 3, 1]} for i in range(10)),
]


def balance(rows, *options):
    code = "from equipoise.cli import main; main()"
    command = [sys.executable, "-c", code, "balance", "Should tea be banned?", "--gate", "never"]
    lines = "\n".join(map(json.dumps, rows))
    return subprocess.run(
        [*command, *options], input=lines, capture_output=True, text=True, env=dict(os.environ)
    )


def test_the_documents_that_look_planted_are_dropped():
    done = balance(ROWS, "--filter", "biasdef", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["filtered"] == [1, 2, 3, 4, 5]
    assert [row["rank"] for row in data["documents"] if row["chosen"]] == [6, 7, 8, 9, 10]
    assert data["settings"]["filter"] == BiasDef().name


def test_documents_without_embeddings_are_misuse_and_the_filter_is_named():
    done = balance([{"text": "a", "score": 0.5}], "--filter", "biasdef")
    assert done.returncode == 2
    assert "biasdef needs an embedding" in done.stderr


def test_a_filter_that_is_not_known_is_refused_with_the_known_ones():
    assert named_filter(None) is None
    assert named_filter("biasdef") == BiasDef()
    with pytest.raises(InputError, match="filter must be one of biasdef, got 'magic'"):
        named_filter("magic")
