"""Tiny encoders of five kinds, and a tiny data folder in the format of the real one."""

import gzip
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from equipoise.train.mixture import WORKED_EXAMPLE
from equipoise.train.recipe import Recipe

SIDES = {"pro": ("good", "helps"), "con": ("bad", "harms"), "neutral": ("exists", "dates")}
TOPICS = [f"topic-{letter}" for letter in "abcdefghijkl"]
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789?.,-"


@pytest.fixture(scope="session", autouse=True)
def _quiet() -> Iterator[None]:
    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    yield
    torch.set_flush_denormal(False)  # `fit` sets it for the process


def word_piece() -> Tokenizer:
    """BERT's kind: letters and a few words, `[CLS] a [SEP] b [SEP]` with two segments."""
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    words = [word for pair in SIDES.values() for word in pair]
    pieces = [*specials, *ALPHABET, *(f"##{c}" for c in ALPHABET), *words, "should", "never"]
    tokenizer = Tokenizer(
        models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(specials)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tokenizer


def byte_pairs() -> Tokenizer:
    """RoBERTa's kind: byte pairs, `<s> a </s></s> b </s>`."""
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = [*specials, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    pieces += ["go", "ba", "goo", "good", "bad"]
    merges = [("g", "o"), ("b", "a"), ("go", "o"), ("goo", "d"), ("ba", "d")]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(specials)
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=False, add_prefix_space=False
    )
    return tokenizer


def mpnet_pieces() -> Tokenizer:
    """MPNet's kind: word pieces in RoBERTa's frame."""
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    words = [word for pair in SIDES.values() for word in pair]
    pieces = [*specials, *ALPHABET, *(f"##{c}" for c in ALPHABET), *words, "should", "never"]
    tokenizer = Tokenizer(
        models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="<unk>")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(specials)
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=False, add_prefix_space=False
    )
    return tokenizer


def _config(kind: str, size: int) -> Any:
    import transformers

    shape = {
        "vocab_size": size,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 200,
        "initializer_range": 0.2,  # so narrow a model hardly moves from weights near 0
    }
    if kind == "bert":
        return transformers.BertConfig(**shape, pad_token_id=0)
    if kind == "roberta":
        return transformers.RobertaConfig(**shape, pad_token_id=1, type_vocab_size=1)
    if kind == "mpnet":
        return transformers.MPNetConfig(**shape, pad_token_id=1)
    if kind == "deberta":
        relative = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
        return transformers.DebertaV2Config(**shape, pad_token_id=0, type_vocab_size=0, **relative)
    ends = {"bos_token_id": 0, "eos_token_id": 2, "cls_token_id": 0, "sep_token_id": 2}
    return transformers.ModernBertConfig(**shape, pad_token_id=1, reference_compile=False, **ends)


TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {
    "bert": word_piece,
    "roberta": byte_pairs,
    "mpnet": mpnet_pieces,
    "deberta": word_piece,
    "modernbert": byte_pairs,
}

MakeBase = Callable[[str], Path]


@pytest.fixture(scope="session")
def make_base(tmp_path_factory: pytest.TempPathFactory) -> MakeBase:
    """A function that writes a tiny encoder without a head: "bert", "roberta", ..."""
    made: dict[str, Path] = {}

    def make(kind: str) -> Path:
        import torch
        from transformers import AutoModel

        if kind not in made:
            folder = tmp_path_factory.mktemp(kind)
            tokenizer = TOKENIZERS[kind]()
            torch.manual_seed(3)
            config = _config(kind, tokenizer.get_vocab_size())
            AutoModel.from_config(config).save_pretrained(folder)
            tokenizer.save(str(folder / "tokenizer.json"))
            made[kind] = folder
        return made[kind]

    return make


def stance_row(source: str, topic: str, stance: str, number: int) -> dict[str, Any]:
    question = f"Should {topic} stay?"
    if topic == "pills":
        question = WORKED_EXAMPLE
    words = " ".join(SIDES[stance] * 2)
    return {
        "id": f"{topic}-{stance}-{number}",
        "topic": topic,
        "question": question,
        "claim": f"{topic} should stay.",
        "text": f"{topic} {words} number {number} of {source}.",
        "stance": stance,
        "source": source,
        "split": None,
    }


def write_data(folder: Path) -> Path:
    """procon20, ibm_wiki_passages, one sentence source, two warm-up files, background texts."""
    for name in ("stance", "nli", "background"):
        (folder / name).mkdir(parents=True)
    stances = {
        "procon20": [("pro", 3), ("con", 3)],
        "ibm_wiki_passages": [("pro", 1), ("con", 1), ("neutral", 3)],
        "ibm_argq30k": [("pro", 2), ("con", 2)],
    }
    topics = [*TOPICS, "pills"]
    for source, plan in stances.items():
        rows = [
            stance_row(source, topic, stance, number)
            for topic in topics
            for stance, count in plan
            for number in range(count)
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        if source == "procon20":
            (folder / f"stance/{source}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / f"stance/{source}.jsonl").write_text(text)
    # Near-duplicates: a and b are one debate, and so are pills and drugs.
    groups = {topic: topic for topic in topics} | {"topic-b": "topic-a", "drugs": "pills"}
    (folder / "topic_groups.tsv").write_text(
        "topic\tgroup\n" + "".join(f"{topic}\t{group}\n" for topic, group in groups.items())
    )
    rng = random.Random(1)
    for name in ("boolq", "condaqa"):
        labels = ["entailment", "contradiction", "neutral"] * 8
        pairs = [
            {
                "id": f"{name}-{at}",
                "premise": f"it {rng.choice(('helps', 'harms'))} number {at}",
                "hypothesis": f"it is good {at}",
                "label": label,
                "source": name,
                "split": "train",
                "form": "statement",
                "group": f"{name}-{at}",
                **({"genre": "fiction"} if at == 0 else {}),
            }
            for at, label in enumerate(labels)
        ]
        text = "".join(json.dumps(pair) + "\n" for pair in pairs)
        (folder / f"nli/{name}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    background = [
        {"id": f"w{at}", "title": "t", "topic": topic, "text": f"background {topic} {at}"}
        for topic in (*topics, "drugs")
        for at in range(3)
    ]
    text = "".join(json.dumps(row) + "\n" for row in background)
    (folder / "background/wikipedia_topics.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    away = [
        {"id": f"x{at}", "title": "Rhine", "topic": None, "text": f"river {at}"} for at in (1, 2)
    ]
    (folder / "background/xquad_en.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in away)
    )
    return folder


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data") / "tiny")


@pytest.fixture
def recipe(make_base: MakeBase) -> Recipe:
    """Every kind of row once; small enough for a second."""
    return Recipe(
        base=str(make_base("bert")),
        sources={"procon20": 30, "ibm_wiki_passages": 30, "ibm_argq30k": 12},
        off_topic=8,
        claims=0.2,
        opposites=0.2,
        nli={"boolq": 12, "condaqa": 12},
        learning_rate=1e-3,
        batch_tokens=512,
        max_length=80,
    )


@pytest.fixture
def word_pieces() -> Any:
    from equipoise.stance.pairs import PairTokenizer

    return PairTokenizer(word_piece())
