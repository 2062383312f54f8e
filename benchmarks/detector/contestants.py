"""What labels documents in `speed`: ours in several forms, and the paper's set-up."""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.stance import load_detector
from equipoise.stance.folder import BUNDLED, read_folder
from equipoise.stance.pair_model import Limits, PairModel
from equipoise.stance.pairs import Pair, PairTokenizer, padded
from equipoise.stance.runners import OnnxRunner

DEFAULT = BUNDLED / "default"
PAPER = "paper's set-up: roberta-large, float32, batch 32"


@dataclass(frozen=True, slots=True)
class Contestant:
    """A name, and a function that labels texts toward a question and may return class indices."""

    name: str
    label: Callable[[str, Sequence[str]], Any]


def bundled(name: str, threads: int) -> Contestant:
    """A bundled detector as the package runs it."""
    detector = load_detector(name, threads=threads)
    config = json.loads((BUNDLED / name / "config.json").read_text("utf-8"))
    layers, hidden = config["num_hidden_layers"], config["hidden_size"]
    title = f"`{name}`: int8, {layers} layers of {hidden}"
    return Contestant(title, lambda question, texts: detector.detect(question, list(texts)))


def from_file(name: str, path: Path, *, threads: int, at_once: int) -> Contestant:
    """An ONNX file of the default's architecture, outside of the package's own loading.

    Dynamic int8 is run one text at a time, `at_once` runs side by side; float in batches of like
    length, 2,048 tokens each.
    """
    folder = read_folder(DEFAULT)
    model = PairModel(
        PairTokenizer.from_file(DEFAULT / "tokenizer.json"),
        OnnxRunner(path, threads=threads),
        limits=Limits(folder.max_length, max_windows=64, batch_tokens=2_048, at_once=at_once),
        pad_id=folder.pad_id,
        temperature=folder.temperature,
    )

    def label(question: str, texts: Sequence[str]) -> Any:
        asked = model.tokenizer.ids(question)
        windows = model.windows(list(enumerate(texts)), beside=len(asked))
        pairs = [model.tokenizer.pair(asked, window.ids) for window in windows]
        return model.probabilities(pairs, [window.text for window in windows])

    return Contestant(name, label)


def export_on_the_fly(scratch: Path) -> Path:
    """The default's weights read back and written as float ONNX into `scratch`."""
    from equipoise.train.to_onnx import export_float
    from equipoise.train.unquantize import read_back

    encoder = read_back(DEFAULT)
    encoder.model.config._attn_implementation = "eager"
    encoder.model.eval()
    export_float(encoder, scratch / "float.onnx")
    return scratch / "float.onnx"


def cross_encoder() -> Contestant:
    """The default's weights under sentence-transformers, float32, batch 32."""
    from sentence_transformers import CrossEncoder

    from equipoise.train.unquantize import read_back

    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>"}
    with tempfile.TemporaryDirectory() as scratch:
        read_back(DEFAULT).save(Path(scratch))
        (Path(scratch) / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
        model = CrossEncoder(scratch, device="cpu", max_length=read_folder(DEFAULT).max_length)

    def label(question: str, texts: Sequence[str]) -> Any:
        return model.predict([(question, text) for text in texts], batch_size=32)

    return Contestant("its weights in float32, sentence-transformers", label)


def papers() -> Contestant:
    """A roberta-large of random weights under transformers: its time, not its labels.

    Ids are those of our tokenizer, clipped to the vocabulary; pairs are cut to 512 tokens.
    """
    import torch
    from transformers import RobertaConfig, RobertaForSequenceClassification

    config = RobertaConfig(
        vocab_size=50_265,
        hidden_size=1_024,
        num_hidden_layers=24,
        num_attention_heads=16,
        intermediate_size=4_096,
        max_position_embeddings=514,
        num_labels=3,
    )
    torch.manual_seed(0)
    model = RobertaForSequenceClassification(config).eval()
    tokenizer = PairTokenizer.from_file(DEFAULT / "tokenizer.json")

    def label(question: str, texts: Sequence[str]) -> list[int]:
        asked = tokenizer.ids(question)
        pairs = [tokenizer.pair(asked, tokenizer.ids(text)) for text in texts]
        labels: list[int] = []
        for start in range(0, len(pairs), 32):
            batch = padded([_clipped(pair) for pair in pairs[start : start + 32]], pad_id=1)
            with torch.inference_mode():
                logits = model(
                    input_ids=torch.from_numpy(batch.ids),
                    attention_mask=torch.from_numpy(batch.mask),
                ).logits
            labels += logits.argmax(dim=1).tolist()
        return labels

    return Contestant(PAPER, label)


def _clipped(pair: Pair) -> Pair:
    return Pair(np.clip(pair.ids[:512], 2, 50_264), pair.types[:512])


def tokens_of(question: str, texts: Sequence[str]) -> int:
    """Tokens of the pairs before windows, special tokens included."""
    tokenizer = PairTokenizer.from_file(DEFAULT / "tokenizer.json")
    asked = len(tokenizer.ids(question)) + tokenizer.specials
    return sum(asked + len(tokenizer.ids(text)) for text in texts)


def operations(name: str, question: str, texts: Sequence[str]) -> float:
    """Multiplications and additions of the plain model for the texts, embeddings left out.

    What a rewritten graph leaves out counts as done: the figure compares models, not graphs.
    """
    config = json.loads((BUNDLED / name / "config.json").read_text("utf-8"))
    hidden, layers = config["hidden_size"], config["num_hidden_layers"]
    inner = config.get("intermediate_size", 4 * hidden)
    weights = layers * (4 * hidden**2 + 2 * hidden * inner)
    counts = [tokens_of(question, [text]) for text in texts]
    return float(sum(2 * (n * weights + 2 * layers * n * n * hidden) for n in counts))
