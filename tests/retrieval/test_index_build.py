import datetime
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import equipoise
from equipoise.errors import InputError, StoreError
from equipoise.retrieval import (
    DenseRetriever,
    EmbedderError,
    FaissStore,
    add_to_index,
    build_index,
    open_retriever,
)
from equipoise.types import Candidate

pytest.importorskip("faiss")
pytest.importorskip("bm25s")


def tree(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def contents(path: Path) -> list[Candidate]:
    return list(FaissStore.open(path).passages)


def test_documents_come_back_with_id_text_and_metadata(
    tmp_path: Path, fruit: list[Candidate], letters: Any
) -> None:
    summary = build_index(fruit, tmp_path / "ix", embedder=letters)
    assert (summary.documents, summary.passages, summary.total_passages) == (5, 5, 5)
    assert contents(tmp_path / "ix") == fruit


def test_an_index_holds_no_pickle_and_says_what_it_is(
    tmp_path: Path, fruit: list[Candidate], letters: Any
) -> None:
    build_index(fruit, tmp_path / "ix", embedder=letters)
    manifest = json.loads((tmp_path / "ix/manifest.json").read_text())
    assert manifest["embedder"] == "letters"
    assert manifest["dimension"] == 26
    assert manifest["passages"] == manifest["documents"] == 5
    files = tree(tmp_path / "ix")
    assert set(files) == {"manifest.json", *manifest["files"]}
    assert {Path(name).suffix for name in files} <= {".json", ".jsonl", ".faiss", ".npy"}
    assert not any(b"numpy.core" in data or data.startswith(b"\x80\x04") for data in files.values())


def test_equal_input_gives_equal_bytes(
    tmp_path: Path, fruit: list[Candidate], letters: Any
) -> None:
    build_index(fruit, tmp_path / "one", embedder=letters, batch=2)
    build_index(fruit, tmp_path / "two", embedder=letters, batch=5)
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


def test_long_documents_are_chunked_and_blank_ones_counted(tmp_path: Path, letters: Any) -> None:
    long = Candidate("long", "\n\n".join(["word " * 20] * 3))
    documents = [Candidate("blank", " "), long, Candidate("short", "text")]
    summary = build_index(documents, tmp_path / "ix", embedder=letters, chunk_words=20)
    assert (summary.documents, summary.passages, summary.blank) == (2, 4, 1)
    assert [p.id for p in contents(tmp_path / "ix")] == ["long#1", "long#2", "long#3", "short"]


@pytest.mark.parametrize("documents", [[], [Candidate("a", ""), Candidate("b", "\n")]])
def test_an_empty_corpus_is_an_input_error_and_leaves_nothing(
    tmp_path: Path, letters: Any, documents: list[Candidate]
) -> None:
    with pytest.raises(InputError, match="at least one document with text"):
        build_index(documents, tmp_path / "ix", embedder=letters)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("last", [Candidate("a", "again"), Candidate("a#2", "as a chunk")])
def test_an_id_used_twice_is_an_input_error(tmp_path: Path, letters: Any, last: Candidate) -> None:
    documents = [Candidate("a", "\n\n".join(["word " * 20] * 3)), last]
    with pytest.raises(InputError, match=f"'{last.id}' is there already"):
        build_index(documents, tmp_path / "ix", embedder=letters, chunk_words=20)


def test_progress_runs_from_none_to_all_by_batches(
    tmp_path: Path, fruit: list[Candidate], letters: Any
) -> None:
    seen: list[tuple[int, int]] = []
    build_index(
        fruit,
        tmp_path / "ix",
        embedder=letters,
        batch=2,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(0, 5), (2, 5), (4, 5), (5, 5)]


def test_odd_unicode_survives_the_trip(tmp_path: Path, letters: Any) -> None:
    texts = ["lone \ud800 surrogate", "nul \x00", "rtl \u202e", "zero\u200bwidth", "e\u0301", "🦜"]
    texts += ["line\u2028separator", "crlf\r\n", '"quotes" \\ and \x1c', "..."]
    documents = [Candidate(f"id-{text}", text, metadata={text: text}) for text in texts]
    build_index(documents, tmp_path / "ix", embedder=letters)
    assert contents(tmp_path / "ix") == documents
    assert open_retriever(tmp_path / "ix", mode="bm25").retrieve("surrogate \udfff", 3)


def test_metadata_are_kept_as_json_can_carry_them(tmp_path: Path, letters: Any) -> None:
    metadata = {"when": datetime.date(2026, 1, 2), "score": float("nan"), "pair": (1, None)}
    build_index([Candidate("a", "text", metadata=metadata)], tmp_path / "ix", embedder=letters)
    (found,) = contents(tmp_path / "ix")
    assert found.metadata == {"when": "2026-01-02", "score": "nan", "pair": [1, None]}


def test_a_corpus_without_a_single_word_can_be_indexed(tmp_path: Path, letters: Any) -> None:
    build_index([Candidate("a", "?!"), Candidate("b", "...")], tmp_path / "ix", embedder=letters)
    assert open_retriever(tmp_path / "ix", mode="bm25").retrieve("anything", 3) == ()


class Interrupted:
    """Yields some documents, then raises what Ctrl-C raises."""

    def __init__(self, documents: list[Candidate]) -> None:
        self.documents = documents

    def __iter__(self) -> Iterator[Candidate]:
        yield from self.documents
        raise KeyboardInterrupt


def stop_at_second_batch(done: int, total: int) -> None:
    if done:
        raise KeyboardInterrupt


@pytest.mark.parametrize("phase", ["reading", "embedding"])
@pytest.mark.parametrize("target", ["absent", "present"])
def test_an_interrupted_build_leaves_everything_as_it_was(
    tmp_path: Path, fruit: list[Candidate], letters: Any, phase: str, target: str
) -> None:
    out = tmp_path / "ix"
    if target == "present":
        build_index(fruit[:2], out, embedder=letters)
    before = tree(tmp_path)
    corpus = Interrupted(fruit) if phase == "reading" else fruit
    with pytest.raises(KeyboardInterrupt):
        build_index(
            corpus, out, embedder=letters, batch=2, overwrite=True, progress=stop_at_second_batch
        )
    assert tree(tmp_path) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == (["ix"] if target == "present" else [])


def test_an_interrupted_addition_leaves_the_index_as_it_was(
    tmp_path: Path, fruit: list[Candidate], letters: Any
) -> None:
    build_index(fruit[:2], tmp_path / "ix", embedder=letters)
    before = tree(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        add_to_index(
            fruit[2:], tmp_path / "ix", embedder=letters, batch=1, progress=stop_at_second_batch
        )
    assert tree(tmp_path) == before


KILLED = """
import os, signal, sys
import numpy as np
from equipoise.retrieval import build_index
from equipoise.types import Candidate
class Embedder:
    name, dimension = "ones", 4
    def embed(self, texts): return np.ones((len(texts), 4), dtype=np.float32)
    def embed_question(self, question): return self.embed([question])[0]
def kill(done, total):
    if done: os.kill(os.getpid(), signal.SIGKILL)
documents = [Candidate(str(i), "text") for i in range(9)]
build_index(documents, sys.argv[1], embedder=Embedder(), batch=2, overwrite=True, progress=kill)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
@pytest.mark.parametrize("target", ["absent", "present"])
def test_a_killed_build_leaves_no_half_index(
    tmp_path: Path, fruit: list[Candidate], letters: Any, target: str
) -> None:
    out = tmp_path / "ix"
    if target == "present":
        build_index(fruit, out, embedder=letters)
    source = str(Path(equipoise.__file__).parents[1])
    process = subprocess.run(
        [sys.executable, "-c", KILLED, str(out)], env={**os.environ, "PYTHONPATH": source}
    )
    assert process.returncode == -signal.SIGKILL
    if target == "present":
        assert contents(out) == fruit
    else:
        assert not out.exists()
    (left,) = (p for p in tmp_path.iterdir() if p != out)
    assert left.name.endswith(".building")
    with pytest.raises(StoreError, match=r"must hold a manifest\.json"):
        FaissStore.open(left)


class FailingEmbedder:
    name, dimension = "failing", 2

    def embed(self, texts: Any) -> Any:
        return [[float("nan"), 1.0] for _ in texts]

    def embed_question(self, question: str) -> Any:
        raise AssertionError("not asked")


def test_vectors_that_are_not_finite_are_never_stored(
    tmp_path: Path, fruit: list[Candidate]
) -> None:
    with pytest.raises(EmbedderError, match="failing must give finite vectors"):
        build_index(fruit, tmp_path / "ix", embedder=FailingEmbedder())
    assert list(tmp_path.iterdir()) == []


def test_an_existing_index_is_only_replaced_on_request(
    tmp_path: Path, fruit: list[Candidate], letters: Any
) -> None:
    build_index(fruit, tmp_path / "ix", embedder=letters)
    with pytest.raises(StoreError, match="exists already"):
        build_index(fruit[:1], tmp_path / "ix", embedder=letters)
    build_index(fruit[:1], tmp_path / "ix", embedder=letters, overwrite=True, bm25=False)
    assert contents(tmp_path / "ix") == fruit[:1]
    assert [p.name for p in tmp_path.iterdir()] == ["ix"]
    assert not (tmp_path / "ix/bm25").exists()


@pytest.mark.parametrize("beside_an_index", [True, False])
def test_a_folder_with_other_things_is_never_overwritten(
    tmp_path: Path, fruit: list[Candidate], letters: Any, beside_an_index: bool
) -> None:
    out = tmp_path / "ix"
    if beside_an_index:
        build_index(fruit, out, embedder=letters)
    out.mkdir(exist_ok=True)
    (out / "thesis.txt").write_text("years of work")
    with pytest.raises(StoreError, match=r"holds other things: \['thesis.txt'\]"):
        build_index(fruit, out, embedder=letters, overwrite=True)
    assert (out / "thesis.txt").read_text() == "years of work"


def test_a_file_in_the_place_of_the_index_is_never_overwritten(
    tmp_path: Path, fruit: list[Candidate], letters: Any
) -> None:
    (tmp_path / "ix").write_text("a file")
    with pytest.raises(StoreError, match="only an index folder is overwritten"):
        build_index(fruit, tmp_path / "ix", embedder=letters, overwrite=True)


def test_an_empty_folder_may_be_filled(
    tmp_path: Path, fruit: list[Candidate], letters: Any
) -> None:
    (tmp_path / "deep/ix").mkdir(parents=True)
    build_index(fruit, tmp_path / "deep/ix", embedder=letters)
    assert contents(tmp_path / "deep/ix") == fruit


def test_adding_gives_the_index_of_the_whole_corpus(
    tmp_path: Path, fruit: list[Candidate], make_letters: Callable[..., Any]
) -> None:
    build_index(fruit, tmp_path / "whole", embedder=make_letters(), chunk_words=7)
    build_index(fruit[:2], tmp_path / "grown", embedder=make_letters(), chunk_words=7)
    adder = make_letters()
    summary = add_to_index(fruit[2:], tmp_path / "grown", embedder=adder)
    assert (summary.documents, summary.passages, summary.total_passages) == (3, 3, 5)
    assert adder.embedded == [document.text for document in fruit[2:]]
    assert tree(tmp_path / "grown") == tree(tmp_path / "whole")


def test_adding_keeps_an_index_without_bm25_so(
    tmp_path: Path, fruit: list[Candidate], letters: Any
) -> None:
    build_index(fruit[:2], tmp_path / "ix", embedder=letters, bm25=False)
    add_to_index(fruit[2:], tmp_path / "ix", embedder=letters)
    assert not (tmp_path / "ix/bm25").exists()
    assert len(DenseRetriever(FaissStore.open(tmp_path / "ix"), letters).retrieve("x", 9)) == 5


@pytest.mark.parametrize("text", ["new short text", "\n\n".join(["word " * 20] * 3)])
def test_a_document_that_is_in_the_index_cannot_be_added_again(
    tmp_path: Path, letters: Any, text: str
) -> None:
    document = Candidate("a", "\n\n".join(["word " * 20] * 3))
    build_index([document], tmp_path / "ix", embedder=letters, chunk_words=20)
    with pytest.raises(InputError, match="'a' is there already"):
        add_to_index([Candidate("a", text)], tmp_path / "ix", embedder=letters)


def test_adding_with_another_model_or_dimension_is_a_store_error(
    tmp_path: Path, fruit: list[Candidate], make_letters: Callable[..., Any]
) -> None:
    build_index(fruit[:2], tmp_path / "ix", embedder=make_letters())
    with pytest.raises(StoreError, match="'letters', got 'other'"):
        add_to_index(fruit[2:], tmp_path / "ix", embedder=make_letters(name="other"))
    with pytest.raises(StoreError, match="dimension 26, and 'letters' gives 5"):
        add_to_index(fruit[2:], tmp_path / "ix", embedder=make_letters(5))


def test_adding_to_nothing_says_how_to_build(tmp_path: Path, letters: Any) -> None:
    with pytest.raises(StoreError, match="Build one with: equipoise index"):
        add_to_index([Candidate("a", "b")], tmp_path / "ix", embedder=letters)
    assert list(tmp_path.iterdir()) == []


def test_two_additions_at_once_never_lose_documents_unsaid(
    tmp_path: Path, fruit: list[Candidate], letters: Any
) -> None:
    build_index(fruit[:2], tmp_path / "ix", embedder=letters)

    def other_process(done: int, total: int) -> None:
        if not done:
            add_to_index(fruit[4:], tmp_path / "ix", embedder=letters)

    with pytest.raises(StoreError, match="changed by another process"):
        add_to_index(fruit[2:4], tmp_path / "ix", embedder=letters, progress=other_process)
    assert contents(tmp_path / "ix") == [*fruit[:2], fruit[4]]
