import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.errors import InputError, StoreError
from equipoise.retrieval import (
    Bm25Retriever,
    DenseRetriever,
    FaissStore,
    build_index,
    open_retriever,
)
from equipoise.types import Candidate

pytest.importorskip("faiss")
pytest.importorskip("bm25s")


@pytest.fixture
def index(tmp_path: Path, fruit: list[Candidate], letters: Any) -> Path:
    build_index(fruit, tmp_path / "ix", embedder=letters)
    return tmp_path / "ix"


def change_manifest(index: Path, **changes: Any) -> None:
    file = index / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def flip_a_byte(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def test_another_model_is_a_store_error_that_names_both(
    index: Path, make_letters: Callable[..., Any]
) -> None:
    other = make_letters(name="other")
    for open_it in (
        lambda: FaissStore.open(index, other),
        lambda: DenseRetriever(FaissStore.open(index), other),
        lambda: open_retriever(index, embedder=other),
        lambda: open_retriever(index, mode="fused", embedder=other),
    ):
        with pytest.raises(
            StoreError, match=r"built with, 'letters', got 'other'\. Use that model"
        ):
            open_it()


def test_another_dimension_is_a_store_error_that_names_both(
    index: Path, make_letters: Callable[..., Any]
) -> None:
    with pytest.raises(StoreError, match="dimension 26, and 'letters' gives 7"):
        FaissStore.open(index, make_letters(7))
    with pytest.raises(StoreError, match=r"shape \(26,\), got \(7,\)"):
        FaissStore.open(index).search(np.ones(7, dtype=np.float32), 2)


@pytest.mark.parametrize("name", ["vectors.faiss", "passages.jsonl"])
@pytest.mark.parametrize("damage", [flip_a_byte, Path.unlink])
def test_a_damaged_or_missing_file_is_a_store_error(
    index: Path, letters: Any, name: str, damage: Callable[[Path], None]
) -> None:
    damage(index / name)
    with pytest.raises(StoreError, match=name):
        FaissStore.open(index, letters)


def test_a_damaged_bm25_file_stops_bm25_but_not_dense(index: Path, letters: Any) -> None:
    flip_a_byte(index / "bm25/vocab.index.json")
    with pytest.raises(StoreError, match=r"vocab\.index\.json.* must match the checksum"):
        open_retriever(index, mode="bm25")
    with pytest.raises(StoreError, match=r"vocab\.index\.json"):
        open_retriever(index, mode="fused", embedder=letters)
    assert open_retriever(index, embedder=letters).retrieve("apple", 1)


def test_a_newer_format_says_to_upgrade(index: Path) -> None:
    change_manifest(index, format_version=99, created_with="equipoise 9.9")
    with pytest.raises(StoreError, match=r"format 99, written by equipoise 9\.9.*Upgrade"):
        FaissStore.open(index)


def test_unknown_manifest_fields_are_ignored(index: Path) -> None:
    change_manifest(index, remark="added by a later minor version")
    assert len(FaissStore.open(index)) == 5


def test_vectors_and_passages_that_do_not_belong_together_are_found_out(index: Path) -> None:
    change_manifest(index, passages=4)
    with pytest.raises(StoreError, match="for each of 4 passages, and holds 5"):
        FaissStore.open(index)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format_version": 1}', '{"format_version": "x"}', "\x00"]
)
def test_a_broken_manifest_is_a_store_error(index: Path, content: str) -> None:
    (index / "manifest.json").write_text(content)
    with pytest.raises(StoreError, match="must be a whole manifest"):
        FaissStore.open(index)


@pytest.mark.parametrize("bad", [{"files": []}, {"files": {}}, {"passages": "5"}])
def test_a_manifest_with_values_of_the_wrong_kind_is_a_store_error(
    index: Path, bad: dict[str, Any]
) -> None:
    change_manifest(index, **bad)
    with pytest.raises(StoreError, match="must be a whole manifest"):
        FaissStore.open(index)


def test_no_index_says_how_to_build_one(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(StoreError, match="Build one with: equipoise index"):
            open_retriever(path)


def test_an_index_without_bm25_says_so(
    tmp_path: Path, fruit: list[Candidate], letters: Any
) -> None:
    build_index(fruit, tmp_path / "plain", embedder=letters, bm25=False)
    with pytest.raises(StoreError, match="built without BM25"):
        Bm25Retriever.open(tmp_path / "plain")
    with pytest.raises(StoreError, match="built without BM25"):
        open_retriever(tmp_path / "plain", mode="fused", embedder=letters)


def test_a_model_that_cannot_be_loaded_by_name_must_be_passed(index: Path, letters: Any) -> None:
    with pytest.raises(StoreError, match=r"'letters', which cannot be loaded.*embedder=\.\.\."):
        open_retriever(index)
    assert open_retriever(index, embedder=letters).retrieve("apple", 1)[0].id == "doc-apple"


def test_bm25_needs_no_embedder(index: Path) -> None:
    assert open_retriever(index, mode="bm25").retrieve("banana", 2)[0].id == "doc-banana"


def test_an_unknown_mode_is_an_input_error(index: Path) -> None:
    with pytest.raises(InputError, match=r"one of \('dense', 'bm25', 'fused'\), got 'sparse'"):
        open_retriever(index, mode="sparse")  # type: ignore[arg-type]


def test_embeddings_come_on_request(index: Path, letters: Any) -> None:
    plain = open_retriever(index, embedder=letters).retrieve("banana", 1)
    assert plain[0].embedding is None
    for mode in ("dense", "fused"):
        retriever = open_retriever(index, mode=mode, embedder=letters, embeddings=True)  # type: ignore[arg-type]
        (best,) = retriever.retrieve("banana", 1)
        assert best.embedding is not None
        np.testing.assert_allclose(best.embedding, letters.embed([best.text])[0], atol=1e-6)


@pytest.mark.parametrize("path", [None, 3])
def test_an_index_must_be_a_path(path: object) -> None:
    with pytest.raises(InputError, match="must be the path of a folder"):
        open_retriever(path)  # type: ignore[arg-type]


def test_a_stores_url_opens_like_its_folder(index: Path, letters: Any) -> None:
    by_folder = open_retriever(index, embedder=letters, embeddings=True)
    by_url = open_retriever(f"faiss:{index}", embedder=letters, embeddings=True)
    found, again = (retriever.retrieve("apple", 4) for retriever in (by_folder, by_url))
    assert {c.id: c.embedding for c in found} == {c.id: c.embedding for c in again}
    assert [c.score for c in again] == pytest.approx([c.score for c in found])


def test_a_stores_url_refuses_what_a_store_has_not(index: Path, letters: Any) -> None:
    with pytest.raises(InputError, match="searched by vectors only"):
        open_retriever(f"faiss:{index}", mode="bm25", embedder=letters)
    with pytest.raises(StoreError, match="cannot be loaded by that name"):
        open_retriever(f"faiss:{index}")  # the toy model has no name to load it by
    with pytest.raises(StoreError):
        open_retriever("elsewhere:folder")  # no store's scheme: a folder that is not there
