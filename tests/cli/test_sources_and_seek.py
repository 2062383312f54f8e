"""`--sources` and `--seek` as a user runs them: real processes, the bundled models."""

import json
import subprocess
import sys

import pytest

from equipoise.data import contested

TOPIC = contested()[0]
PROGRAM = (sys.executable, "-c", "from equipoise.cli import main; main()")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")

    def call(*arguments, stdin=None):
        done = subprocess.run(
            [*PROGRAM, *arguments], input=stdin, capture_output=True, text=True, cwd=folder
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_balance_takes_one_seat_of_a_stance_for_a_source(run):
    planted = [{"text": d.text, "url": "https://a.org/x"} for d in TOPIC.planted("pro")]
    others = [{"text": d.text} for d in TOPIC.clean()]
    lines = "\n".join(json.dumps(row) for row in planted + others)
    arguments = ("balance", TOPIC.question, "--sources", "url", "--json")
    made = json.loads(run(*arguments, stdin=lines))
    assert made["settings"]["sources"] == {"key": "url", "most": 1}
    assert len(made["unsourced"]) == len(others)
    of_it = [row for row in made["documents"] if row["metadata"].get("url") and row["chosen"]]
    assert sum(row["stance"] == "pro" for row in of_it) == 1
    assert {"source_full"} <= {row["left_out"] for row in made["documents"]}


def test_ask_tells_what_it_sought(run, tmp_path):
    docs = tmp_path / "docs.jsonl"
    docs.write_text("\n".join(json.dumps({"text": d.text}) for d in TOPIC.planted("pro")))
    run("index", str(docs), "-o", str(tmp_path / "index"))
    arguments = ("ask", TOPIC.question, "--index", str(tmp_path / "index"), "--model", "none")
    once, again = (
        json.loads(run(*arguments, "--json", *more))[0]["selection"] for more in ((), ("--seek",))
    )
    assert once["sought"] is None
    asked = again["sought"]["queries"]
    assert [query["stance"] for query in asked if "against" in query["text"]] == ["con", "con"]
    assert all(query["ranks"] == [] for query in asked)  # the index has no more to give
