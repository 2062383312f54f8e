import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.retrieval.chunking import chunk_document, chunk_spans, count_words
from equipoise.types import Candidate


def sentence(words: int, first: str = "Word") -> str:
    return " ".join([first] + ["word"] * (words - 1)) + "."


def pieces(text: str, max_words: int) -> list[str]:
    return [text[start:end] for start, end in chunk_spans(text, max_words=max_words)]


def test_a_text_of_one_and_a_half_chunks_is_kept_whole() -> None:
    text = "\n\n".join([sentence(9)] * 2)
    assert count_words(text) == 18
    assert pieces(text, 12) == [text]
    assert len(pieces(text, 11)) == 2


def test_a_cut_prefers_a_paragraph_end_to_a_nearer_sentence_end() -> None:
    three = [sentence(3)] * 6
    # Cost of 6 + 12 words at the paragraph end: .16 + .04; of 9 + 9 inside one: .01 + .01 + .25.
    parted = " ".join(three[:2]) + "\n\n" + " ".join(three[2:])
    assert [count_words(piece) for piece in pieces(parted, 10)] == [6, 12]
    assert [count_words(piece) for piece in pieces(" ".join(three), 10)] == [9, 9]


def test_a_sentence_longer_than_a_chunk_is_cut_between_words() -> None:
    assert [count_words(p) for p in pieces(sentence(60), 20)] == [20, 20, 20]


def test_no_chunk_exceeds_one_and_a_half_sizes_even_where_that_would_cost_less() -> None:
    text = f"{sentence(10)} {sentence(6)}"  # 16 words at once: .36; 10 + 6: .25 + .16
    assert [count_words(piece) for piece in pieces(text, 10)] == [10, 6]


def test_text_without_spaces_is_cut_too() -> None:
    assert len(pieces("x" * 24 * 40, 10)) == 4
    chinese = "我们应该禁止核电吗。" * 60
    chunks = pieces(chinese, 60)
    assert len(chunks) > 3
    assert all(chunk.endswith("。") for chunk in chunks)
    assert "".join(chunks) == chinese


def test_a_long_row_of_dots_or_quotes_takes_no_quadratic_time() -> None:
    for row in ("." * 300_000, "?!" * 150_000, "." + '"' * 300_000, "\n" * 300_000):
        assert chunk_spans(f"{row}x end", max_words=9)  # minutes, if it did


def test_no_text_gives_no_chunks() -> None:
    assert chunk_spans("") == chunk_spans(" \n\t ") == ()


def test_chunks_of_no_words_are_refused() -> None:
    with pytest.raises(InputError, match=r"chunk words must be an int >= 1, got 0"):
        chunk_spans("some text", max_words=0)


def test_a_chunk_tells_its_document_number_and_span() -> None:
    text = "\n\n".join(sentence(20) for _ in range(3))
    document = Candidate("d", text, metadata={"title": "T", "chunk_of": "something else"})
    chunks = list(chunk_document(document, max_words=20))
    assert [chunk.id for chunk in chunks] == ["d#1", "d#2", "d#3"]
    for number, chunk in enumerate(chunks, 1):
        start, end = chunk.metadata["chunk_span"]
        assert text[start:end] == chunk.text
        assert chunk.metadata["title"] == "T"
        assert chunk.metadata["chunk_of"] == "d"
        assert chunk.metadata["chunk_number"] == number


def test_a_short_document_comes_back_as_the_very_object() -> None:
    document = Candidate("d", "short")
    assert list(chunk_document(document)) == [document]
    assert next(chunk_document(document)) is document


alphabet = st.sampled_from(["word", "Ünï", "漢字", "x" * 60, "\u200b", ".", "!", " ", "\n", "\n\n"])


@given(st.lists(alphabet, max_size=120).map("".join), st.integers(1, 12))
def test_chunks_cover_every_visible_character_once_and_are_never_too_long(
    text: str, max_words: int
) -> None:
    spans = chunk_spans(text, max_words=max_words)
    ends = [0]
    for start, end in spans:
        assert ends[-1] <= start < end <= len(text)
        assert not text[ends[-1] : start].strip()
        assert count_words(text[start:end]) <= 1.5 * max_words
        ends.append(end)
    assert not text[ends[-1] :].strip()
