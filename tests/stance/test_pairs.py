from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from equipoise.errors import DetectorError
from equipoise.stance.folder import BUNDLED
from equipoise.stance.pairs import Pair, PairTokenizer, by_length, padded


def wordpiece(post_processor: Any) -> Tokenizer:
    vocab = {w: i for i, w in enumerate(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "a", "b", "##b"])}
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if post_processor is not None:
        tokenizer.post_processor = post_processor
    return tokenizer


BUNDLED_FILE = BUNDLED / "default" / "tokenizer.json"
CLS, SEP = ("[CLS]", 1), ("[SEP]", 2)
TEMPLATES = {
    "bert": processors.BertProcessing(SEP, CLS),
    "roberta": processors.RobertaProcessing(SEP, CLS),
    "template": processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A:0 [SEP] $B:1 [SEP]:1",
        special_tokens=[CLS, SEP],
    ),
    "no_end": processors.TemplateProcessing(
        single="[CLS] $A", pair="[CLS] $A [SEP] $B:1", special_tokens=[CLS, SEP]
    ),
}


@pytest.mark.parametrize("kind", TEMPLATES)
@pytest.mark.parametrize("texts", [("a b", "ab b a"), ("a", "b"), ("a c", "b?" * 40)])
def test_a_pair_put_together_by_hand_is_the_tokenizers_own(
    kind: str, texts: tuple[str, str]
) -> None:
    expected = wordpiece(TEMPLATES[kind]).encode(*texts)
    tokenizer = PairTokenizer(wordpiece(TEMPLATES[kind]))
    pair = tokenizer.pair(*(tokenizer.ids(text) for text in texts))
    assert pair.ids.tolist() == expected.ids
    assert pair.types.tolist() == expected.type_ids
    assert tokenizer.specials == sum(expected.special_tokens_mask)


@pytest.mark.skipif(not BUNDLED_FILE.is_file(), reason="no bundled model in this checkout")
def test_the_bundled_tokenizer_is_put_together_alike() -> None:
    texts = (
        "Should X be legal?",
        "It's caf\xe9-like: 3,000 \u201cvoters\u201d \u5f20 \U0001f600 disagreed.",
    )
    tokenizer = PairTokenizer.from_file(BUNDLED_FILE)
    pair = tokenizer.pair(*(tokenizer.ids(text) for text in texts))
    assert pair.ids.tolist() == Tokenizer.from_file(str(BUNDLED_FILE)).encode(*texts).ids
    assert tokenizer.specials == 4


def test_truncation_and_padding_saved_in_the_file_are_switched_off() -> None:
    saved = wordpiece(TEMPLATES["bert"])
    saved.enable_truncation(4)
    saved.enable_padding(length=50)
    assert len(PairTokenizer(saved).ids("a b " * 30)) == 60


@pytest.mark.parametrize(
    "post_processor",
    [
        None,
        processors.TemplateProcessing(single="$A", pair="[CLS] $A $B", special_tokens=[CLS]),
    ],
)
def test_a_tokenizer_that_does_not_set_a_pair_apart_is_refused(post_processor: Any) -> None:
    with pytest.raises(DetectorError, match="sets a pair apart"):
        PairTokenizer(wordpiece(post_processor))


def test_a_file_that_is_missing_is_a_detector_error(tmp_path: Path) -> None:
    with pytest.raises(DetectorError, match=r"must be a tokenizer\.json"):
        PairTokenizer.from_file(tmp_path / "tokenizer.json")


def test_reading_a_long_text_in_pieces_gives_the_ids_of_the_whole() -> None:
    text = "a " + "abb " * 20_000  # every 20,000th character stands inside a word
    whole = wordpiece(TEMPLATES["bert"]).encode(text, add_special_tokens=False).ids
    assert len(text) > 80_000
    assert PairTokenizer(wordpiece(TEMPLATES["bert"])).ids(text).tolist() == whole


def test_a_long_text_without_white_space_is_read_too() -> None:
    ids = PairTokenizer(wordpiece(TEMPLATES["bert"])).ids("?" * 50_001)
    assert len(ids) == 50_001


def test_an_empty_text_has_no_ids() -> None:
    assert PairTokenizer(wordpiece(TEMPLATES["bert"])).ids("").shape == (0,)


def test_a_batch_is_padded_to_its_longest() -> None:
    pairs = [Pair(np.arange(n, dtype=np.int64) + 5, np.ones(n, dtype=np.int64)) for n in (2, 4)]
    batch = padded(pairs, pad_id=9)
    assert batch.ids.tolist() == [[5, 6, 9, 9], [5, 6, 7, 8]]
    assert batch.mask.tolist() == [[1, 1, 0, 0], [1, 1, 1, 1]]
    assert batch.types.tolist() == [[1, 1, 0, 0], [1, 1, 1, 1]]


@given(st.lists(st.integers(1, 60), max_size=30), st.integers(1, 200))
def test_batches_hold_each_pair_once_within_the_bound_and_sorted(
    lengths: list[int], most: int
) -> None:
    batches = by_length(lengths, most)
    order = [index for batch in batches for index in batch]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[i] for i in order] == sorted(lengths, reverse=True)
    for batch in batches:
        assert len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= most
