import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("faiss")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    rows: list[dict[str, Any]] = [
        {"key": "cat", "body": "A cat sleeps on the sofa."},
        {"key": "tax", "body": "Taxes rose in May."},
        {"key": "none", "body": " "},
    ]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def done(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "equipoise", "store", *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "NO_COLOR": "1"},
            capture_output=True,
            text=True,
        )

    return done


FIELDS = ("--text-field", "body", "--id-field", "key")


def loaded(run: Run, url: str) -> None:
    for stored, kept in ((2, 0), (0, 2)):
        result = run("load", "corpus.jsonl", "--store", url, *FIELDS)
        assert result.returncode == 0, result.stderr
        assert f"{stored} stored, {kept} there already" in result.stdout
        assert result.stderr == "1 blank documents left out\n"
    about = run("info", "-s", url, "--json")
    assert json.loads(about.stdout)["passages"] == 2
    assert json.loads(about.stdout)["embedder"] == "minilm"
    assert "dimension: 384" in run("info", "-s", url).stdout


def test_the_commands_fill_a_folder_and_tell_what_it_holds(run: Run) -> None:
    loaded(run, "faiss:ix")


def test_the_commands_fill_a_milvus_file(run: Run) -> None:
    pytest.importorskip("milvus_lite")
    loaded(run, "milvus:corpus.db")


def test_the_commands_fill_a_qdrant_folder(run: Run) -> None:
    pytest.importorskip("qdrant_client")
    loaded(run, "qdrant:corpus")


def test_the_commands_fill_a_table_and_do_not_tell_the_password(run: Run, postgres: str) -> None:
    url = f"{postgres}/command"
    loaded(run, url)
    assert "secret" not in run("info", "-s", url).stdout


def test_a_corpus_without_text_makes_no_store(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text('{"id": "a", "text": " "}\n')
    for url in ("faiss:ix", "milvus:e.db", "qdrant:q"):
        result = run("load", "empty.jsonl", "--store", url)
        assert result.returncode == 2
        assert "must have a document with text" in result.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"corpus.jsonl", "empty.jsonl"}


def test_an_id_that_no_store_can_keep_is_told_before_anything_is_stored(
    run: Run, tmp_path: Path, postgres: str
) -> None:
    pytest.importorskip("milvus_lite")
    pytest.importorskip("qdrant_client")
    (tmp_path / "odd.jsonl").write_text('{"id": "a\\u0000b", "text": "A cat."}\n')
    for url in ("faiss:ix", "milvus:e.db", "qdrant:q", f"{postgres}/odd"):
        result = run("load", "odd.jsonl", "--store", url)
        assert result.returncode == 2, url
        assert "an id in a store must have 1 to 512 bytes of UTF-8 without NUL" in result.stderr
        assert "Traceback" not in result.stderr


def test_milvus_does_not_write_into_other_things(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("milvus_lite")
    (tmp_path / "file.db").write_text("mine")
    (tmp_path / "folder.db").mkdir()
    (tmp_path / "folder.db" / "mine.txt").write_text("mine")
    for name in ("file.db", "folder.db"):
        result = run("load", "corpus.jsonl", "--store", f"milvus:{name}", *FIELDS)
        assert result.returncode == 1
        assert "must be a folder of Milvus Lite's or not be there" in result.stderr
        assert "Traceback" not in result.stderr
    assert [path.name for path in (tmp_path / "folder.db").iterdir()] == ["mine.txt"]


def test_a_server_that_turns_one_away_is_not_called_absent(run: Run, postgres: str) -> None:
    url = postgres.rpartition("/")[0] + "/nodatabase/t"
    result = run("info", "--store", url)
    assert result.returncode == 1
    assert 'database "nodatabase" does not exist' in result.stderr
    assert "its server is not" not in result.stderr


@pytest.mark.parametrize(
    ("url", "code", "message"),
    [
        ("redis://u:secret@h/x", 2, "a store must be one of faiss, milvus, postgresql, qdrant"),
        ("faiss:none", 1, "equipoise store load"),
        ("postgresql://u:secret@127.0.0.1:1/d/t", 1, "its server is not"),
        ("qdrant+http://secret@127.0.0.1:1/c", 1, "its server is not"),
    ],
)
def test_misuse_ends_with_2_and_failure_with_1(run: Run, url: str, code: int, message: str) -> None:
    for scheme, library in (("postgresql", "psycopg"), ("qdrant", "qdrant_client")):
        if url.startswith(scheme):
            pytest.importorskip(library)
    result = run("info", "--store", url)
    assert result.returncode == code
    assert message in result.stderr
    assert result.stdout == ""
    assert "secret" not in result.stderr
    assert "Traceback" not in result.stderr
