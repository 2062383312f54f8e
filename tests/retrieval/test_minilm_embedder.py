import json
import shutil
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from equipoise.errors import InputError
from equipoise.retrieval import (
    Embedder,
    EmbedderError,
    MemoryRetriever,
    OnnxEmbedder,
    build_index,
    load_embedder,
    open_retriever,
)
from equipoise.retrieval.onnx_embedder import MODELS
from equipoise.types import Candidate

SHARED = Path(__file__).resolve().parents[3] / "shared"


@pytest.fixture(scope="module")
def minilm() -> OnnxEmbedder:
    return OnnxEmbedder(threads=2)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The bundled model, copied to a folder of its own."""
    return Path(shutil.copytree(MODELS / "minilm", tmp_path / "model"))


def cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    return float(a @ b)


def test_it_is_an_embedder_of_384_dimensions(minilm: OnnxEmbedder) -> None:
    assert isinstance(minilm, Embedder)
    assert minilm.dimension == 384
    assert minilm.name == "minilm"


def test_rows_are_float32_of_length_one_in_order(minilm: OnnxEmbedder) -> None:
    texts = ["A cat sleeps.", "", "Nuclear power plants. " * 200, "\u200b", "🦜"]
    rows = minilm.embed(texts)
    assert rows.shape == (5, 384)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    for text, row in zip(texts, rows, strict=True):
        np.testing.assert_array_equal(minilm.embed([text])[0], row)


def test_no_texts_give_no_rows(minilm: OnnxEmbedder) -> None:
    assert minilm.embed([]).shape == (0, 384)


def test_near_meanings_are_nearer_than_far_ones(minilm: OnnxEmbedder) -> None:
    cat, kitten, tax = minilm.embed(
        ["A cat sleeps on the sofa.", "The kitten is napping on a couch.", "Taxes rose in May."]
    )
    # What sentence-transformers gives for the float32 source model: 0.754, 0.013 and 0.118.
    assert cosine(cat, kitten) == pytest.approx(0.754, abs=0.03)
    assert cosine(cat, tax) == pytest.approx(0.013, abs=0.03)
    assert cosine(kitten, tax) == pytest.approx(0.118, abs=0.03)


def test_a_text_of_the_models_length_is_one_window_and_a_word_more_is_two(
    minilm: OnnxEmbedder,
) -> None:
    assert minilm.windows("cat " * 254) == 1
    assert minilm.windows("cat " * 255) == 2
    assert minilm.windows("") == 1


def test_the_end_of_a_long_text_counts(minilm: OnnxEmbedder) -> None:
    filler = "The committee met again on Tuesday to discuss the minutes. " * 60
    subject = "Penguins breed on the Antarctic ice. " * 60
    question = minilm.embed_question("Where do penguins breed?")
    plain, with_end = minilm.embed([filler, filler + subject])
    assert cosine(question, with_end) > cosine(question, plain) + 0.2


def test_a_long_text_is_the_mean_of_its_windows_weighted_by_tokens(minilm: OnnxEmbedder) -> None:
    cats, dogs = "cat " * 254, "dog " * 52
    whole, first, second = minilm.embed([cats + dogs, cats, dogs])
    # Unit vectors of the parts, combined with the weights 256 : 54, up to their lost lengths.
    weights, *_ = np.linalg.lstsq(np.stack([first, second], axis=1), whole, rcond=None)
    residual = whole - np.stack([first, second], axis=1) @ weights
    assert np.linalg.norm(residual) < 1e-3
    assert 256 / 54 / 1.6 < weights[0] / weights[1] < 256 / 54 * 1.6


@pytest.mark.slow
def test_memory_stays_bounded_on_a_text_of_100_000_characters(minilm: OnnxEmbedder) -> None:
    assert minilm.embed(["word and more " * 7_200]).shape == (1, 384)


def test_zero_width_characters_change_nothing(minilm: OnnxEmbedder) -> None:
    plain, odd = minilm.embed(["nuclear power", "nuc\u200blear po\u200dwer"])
    np.testing.assert_array_equal(plain, odd)


@pytest.mark.parametrize("odd", ["\ud800", "a\x00b", "\u202eabc", "e\u0301", "\U0010ffff"])
def test_odd_unicode_gets_a_finite_vector(minilm: OnnxEmbedder, odd: str) -> None:
    assert np.isfinite(minilm.embed_question(odd)).all()


@pytest.mark.parametrize("texts", ["one string", [None], [b"bytes"]])
def test_anything_but_a_sequence_of_str_is_an_input_error(minilm: OnnxEmbedder, texts: Any) -> None:
    with pytest.raises(InputError, match="takes a sequence of str"):
        minilm.embed(texts)


def test_sixteen_threads_get_what_one_gets(minilm: OnnxEmbedder) -> None:
    texts = ["cat", "A cat sleeps on the sofa. " * 3, "penguins " * 40, "", "Ünïcode 🦜"] * 16
    alone = [minilm.embed_question(text) for text in texts]
    with ThreadPoolExecutor(16) as pool:
        shared = list(pool.map(minilm.embed_question, texts))
    np.testing.assert_array_equal(np.stack(shared), np.stack(alone))


@pytest.mark.slow
def test_sixteen_threads_share_the_tokenizer_for_4000_calls_each(minilm: OnnxEmbedder) -> None:
    texts = ["cat " * length for length in (1, 2, 3, 5, 8, 13, 21, 300)]

    def count(_: int) -> list[int]:
        return [minilm.windows(texts[i % 8]) for i in range(4000)]

    with ThreadPoolExecutor(16) as pool:
        for counts in pool.map(count, range(16)):
            assert counts == [1, 1, 1, 1, 1, 1, 1, 2] * 500


def test_one_thread_gives_the_same_vectors_as_many(minilm: OnnxEmbedder) -> None:
    texts = ["cat", "A longer text about dogs.", "penguins " * 300]
    np.testing.assert_array_equal(OnnxEmbedder(threads=1).embed(texts), minilm.embed(texts))
    with pytest.raises(InputError, match="threads must be >= 1"):
        OnnxEmbedder(threads=0)


def test_an_unknown_model_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"one of \['minilm'\] or a folder"):
        OnnxEmbedder("maxilm")
    with pytest.raises(InputError, match="or a folder"):
        OnnxEmbedder(tmp_path)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "onnx/model_quantized.onnx"])
def test_a_changed_model_file_is_refused(copied: Path, name: str) -> None:
    data = bytearray((copied / name).read_bytes())
    data[len(data) // 2] ^= 1
    (copied / name).write_bytes(data)
    with pytest.raises(EmbedderError, match=r"must match its line in SHA256SUMS"):
        OnnxEmbedder(copied)


@pytest.mark.parametrize("name", ["SHA256SUMS", "tokenizer.json", "onnx/model_quantized.onnx"])
def test_a_missing_model_file_is_refused(copied: Path, name: str) -> None:
    (copied / name).unlink()
    with pytest.raises(EmbedderError, match="must have all its files"):
        OnnxEmbedder(copied)


def test_a_model_from_a_folder_is_named_by_its_weights(copied: Path, minilm: OnnxEmbedder) -> None:
    sums = dict(reversed(line.split()) for line in (copied / "SHA256SUMS").read_text().splitlines())
    model = load_embedder(f"onnx:{copied}")
    assert model.name == f"minilm@{sums['onnx/model_quantized.onnx'][:12]}"
    np.testing.assert_array_equal(model.embed(["cat"]), minilm.embed(["cat"]))


def test_indexing_and_asking_open_no_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    documents = [Candidate("cat", "A cat sleeps."), Candidate("tax", "Taxes rose.")]
    build_index(documents, tmp_path / "ix", embedder=load_embedder("minilm"))
    for mode in ("dense", "bm25", "fused"):
        found = open_retriever(tmp_path / "ix", mode=mode).retrieve("sleeping cat", 1)  # type: ignore[arg-type]
        assert found[0].id == "cat"


QUESTIONS = SHARED / "data/factual/xquad_questions.jsonl"
PASSAGES = SHARED / "data/background/xquad_en.jsonl"


@pytest.mark.skipif(not QUESTIONS.exists(), reason="needs the shared data")
def test_the_answer_passage_is_among_the_top_five(minilm: OnnxEmbedder) -> None:
    rows = [json.loads(line) for line in PASSAGES.read_text(encoding="utf-8").splitlines()]
    # Measured for all 240 passages: 0.984 over 1,070 questions.
    documents = [Candidate(row["id"], row["text"]) for row in rows[:100]]
    known = {document.id for document in documents}
    asked = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    asked = [row for row in asked if row["passage_id"] in known][::4]
    retriever = MemoryRetriever(documents, minilm)
    hits = [
        row["passage_id"] in {c.id for c in retriever.retrieve(row["question"], 5)} for row in asked
    ]
    assert len(hits) > 90
    assert np.mean(hits) > 0.95
