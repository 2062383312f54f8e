"""Vectors are computed once, kept whole, and never mixed up."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import EmbedderError, StoreError
from equipoise.lab.vectors import VectorCache


class Sums:
    """A vector of three numbers from the text's length and letters; counts what it embeds."""

    dimension = 3

    def __init__(self, name="sums", fail_at=None):
        self.name = name
        self.fail_at = fail_at
        self.texts = []

    def embed(self, texts):
        if self.fail_at is not None and len(self.texts) >= self.fail_at:
            raise EmbedderError("stopped")
        self.texts += texts
        numbers = [[len(t) + 1, sum(map(ord, t)) % 97, 1 + t.count("a")] for t in texts]
        rows = np.array(numbers, dtype=np.float32).reshape(len(texts), 3)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def embed_question(self, question):
        return self.embed(["? " + question])[0]


def test_a_text_is_embedded_once_however_often_it_comes(tmp_path):
    model = Sums()
    cache = VectorCache(model, tmp_path)
    rows = cache.texts(["a", "b", "a"])
    again = cache.texts(["b", "a"])
    assert model.texts == ["a", "b"]
    assert np.array_equal(rows[[1, 0]], again)


def test_another_process_finds_the_vectors_on_disk(tmp_path):
    first = VectorCache(Sums(), tmp_path).texts(["a", "b", "c"])
    model = Sums()
    second = VectorCache(model, tmp_path).texts(["c", "a", "b"])
    assert model.texts == []
    assert np.array_equal(second, first[[2, 0, 1]])


def test_without_a_folder_nothing_is_kept():
    model = Sums()
    assert VectorCache(model).texts(["a"]).shape == (1, 3)
    VectorCache(model).texts(["a"])
    assert model.texts == ["a", "a"]


def test_no_text_gives_no_row(tmp_path):
    assert VectorCache(Sums(), tmp_path).texts([]).shape == (0, 3)


def test_two_embedders_never_share_a_vector(tmp_path):
    VectorCache(Sums("one"), tmp_path).texts(["a"])
    other = Sums("two")
    VectorCache(other, tmp_path).texts(["a"])
    assert other.texts == ["a"]


def test_a_question_and_a_text_of_the_same_words_are_kept_apart(tmp_path):
    cache = VectorCache(Sums(), tmp_path)
    assert not np.allclose(cache.texts(["why"]), cache.questions(["why"]))
    model = Sums()
    VectorCache(model, tmp_path).questions(["why"])
    assert model.texts == []


def test_what_was_embedded_before_a_stop_is_kept(tmp_path):
    texts = [f"text {i}" for i in range(10)]
    with pytest.raises(EmbedderError):
        VectorCache(Sums(fail_at=6), tmp_path, batch=3).texts(texts)
    model = Sums()
    rows = VectorCache(model, tmp_path, batch=3).texts(texts)
    assert model.texts == texts[6:]
    assert np.array_equal(rows, VectorCache(Sums()).texts(texts))


def test_files_are_joined_into_one(tmp_path):
    VectorCache(Sums(), tmp_path, batch=2).texts([f"text {i}" for i in range(9)])
    assert len(list(tmp_path.rglob("*.npy"))) == 1
    assert not list(tmp_path.rglob("*.part"))


def test_a_file_half_written_at_a_stop_is_passed_over(tmp_path):
    VectorCache(Sums(), tmp_path).texts(["a"])
    (path,) = tmp_path.rglob("*.npy")
    path.with_suffix(".part").write_bytes(path.read_bytes()[:50])
    model = Sums()
    VectorCache(model, tmp_path).texts(["a"])
    assert model.texts == []


def test_a_damaged_file_is_named(tmp_path):
    VectorCache(Sums(), tmp_path).texts(["a"])
    (path,) = tmp_path.rglob("*.npy")
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(StoreError, match=path.name):
        VectorCache(Sums(), tmp_path)


def test_a_file_of_another_dimension_is_refused(tmp_path):
    VectorCache(Sums(), tmp_path).texts(["a"])
    wider = Sums()
    wider.dimension = 4
    with pytest.raises(StoreError, match="4 numbers"):
        VectorCache(wider, tmp_path)


def test_two_processes_that_write_at_once_lose_nothing(tmp_path):
    one, two = VectorCache(Sums(), tmp_path, batch=1), VectorCache(Sums(), tmp_path, batch=1)
    one.texts(["a", "b"])
    two.texts(["b", "c", "d"])
    one.texts(["e", "f"])
    model = Sums()
    VectorCache(model, tmp_path).texts(list("abcdef"))
    assert model.texts == []


def test_progress_tells_how_many_texts_are_there(tmp_path):
    told = []
    cache = VectorCache(Sums(), tmp_path, batch=2)
    cache.texts(["a"])
    cache.texts(["a", "b", "c", "d"], progress=lambda done, total: told.append((done, total)))
    assert told == [(3, 4), (4, 4)]


def test_a_zero_vector_is_an_error_not_a_row():
    model = Sums()
    model.embed = lambda texts: np.zeros((len(texts), 3), dtype=np.float32)
    with pytest.raises(EmbedderError, match="not zero"):
        VectorCache(model).texts(["a"])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.text(max_size=4), max_size=6), min_size=1, max_size=4))
def test_every_row_is_what_the_embedder_would_say(tmp_path_factory, calls):
    folder = tmp_path_factory.mktemp("vectors")
    for texts in calls:
        rows = VectorCache(Sums(), folder, batch=2).texts(texts)
        assert np.allclose(rows, Sums().embed(texts), atol=1e-6)


@pytest.mark.parametrize("value", [np.nan, 7.0])
def test_numbers_that_were_changed_in_a_file_are_noticed(value, tmp_path):
    VectorCache(Sums(), tmp_path).texts(["a", "b"])
    [path] = tmp_path.rglob("*.npy")
    rows = np.load(path)
    rows["vector"][1, 0] = value
    np.save(path, rows)
    with pytest.raises(StoreError, match="damaged"):
        VectorCache(Sums(), tmp_path)
