import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from equipoise.cli.index import index
from equipoise.errors import InputError, StoreError
from equipoise.retrieval import FaissStore, open_retriever

pytest.importorskip("faiss")
pytest.importorskip("bm25s")

app = typer.Typer()
app.command()(index)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rows = [
        {"key": "cat", "body": "A cat sleeps on the sofa."},
        {"key": "tax", "body": "Taxes rose in May."},
        {"key": "none", "body": " "},
    ]
    file = tmp_path / "corpus.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def run(*arguments: str | Path) -> tuple[str, str]:
    """Standard output and standard error; an exception passes through."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=True)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


FIELDS = ("--text-field", "body", "--id-field", "key")


def test_the_command_writes_an_index_and_sums_up(tmp_path: Path, corpus: Path) -> None:
    out, err = run(corpus, "-o", tmp_path / "ix", *FIELDS)
    assert "2 documents, 2 passages in" in out
    assert "1 blank documents left out" in err
    assert open_retriever(tmp_path / "ix", mode="fused").retrieve("sleeping cat", 1)[0].id == "cat"


def test_the_command_adds_to_an_index(tmp_path: Path, corpus: Path) -> None:
    run(corpus, "-o", tmp_path / "ix", *FIELDS, "--no-bm25")
    (tmp_path / "more").mkdir()
    (tmp_path / "more/a.md").write_text("# Dogs\n\nA dog barks.")
    out, _ = run(tmp_path / "more", "-o", tmp_path / "ix", "--add")
    assert "1 documents, 1 passages" in out
    assert "now 3 passages" in out
    assert not FaissStore.open(tmp_path / "ix").manifest.has_bm25


def test_an_existing_index_needs_overwrite(tmp_path: Path, corpus: Path) -> None:
    run(corpus, "-o", tmp_path / "ix", *FIELDS)
    with pytest.raises(StoreError, match="--overwrite"):
        run(corpus, "-o", tmp_path / "ix", *FIELDS)
    run(corpus, "-o", tmp_path / "ix", *FIELDS, "--overwrite", "--chunk-words", "3")
    assert len(FaissStore.open(tmp_path / "ix")) > 2


@pytest.mark.parametrize("other", [["--overwrite"], ["--chunk-words", "9"], ["--bm25"]])
def test_add_refuses_what_the_index_has_decided(
    tmp_path: Path, corpus: Path, other: list[str]
) -> None:
    with pytest.raises(InputError, match="--add keeps"):
        run(corpus, "-o", tmp_path / "ix", "--add", *other)


def test_a_wrong_field_names_those_there_are(tmp_path: Path, corpus: Path) -> None:
    with pytest.raises(InputError, match=r"corpus\.jsonl:1: .*'text'.*'key', 'body'.*--text-field"):
        run(corpus, "-o", tmp_path / "ix")
    assert not (tmp_path / "ix").exists()
