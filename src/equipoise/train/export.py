"""From trained float weights to the bundled int8 ONNX folder, scored and with its card.

`python -m equipoise.train.export RUN --data DIR --out DIR` reads what `python -m equipoise.train`
left in RUN. The temperature is fitted on one half of the held-out questions, the scores in the
card are those of the other half.
"""

import argparse
import hashlib
import json
import logging
import shutil
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from equipoise.stance import ClassifierDetector
from equipoise.train.__main__ import split_rows
from equipoise.train.card import write_card
from equipoise.train.data import LABELS, Row
from equipoise.train.fit import Recipe
from equipoise.train.score import Judged, fit_temperature, judge, summary

MAX_LENGTH = 192
PER_SOURCE = 600
FILES = ("config.json", "tokenizer.json", "onnx/model_quantized.onnx")


def export_float(model: Any, path: Path) -> None:
    """Write the float32 ONNX file, batch and length free."""
    import torch

    class Logits(torch.nn.Module):  # type: ignore[misc]  # torch is untyped to mypy here
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.inner(input_ids=input_ids, attention_mask=attention_mask).logits

    ids = torch.ones(2, 9, dtype=torch.long) * 5
    axes = {0: "batch", 1: "length"}
    with warnings.catch_warnings():
        # The tracing exporter is deprecated, and is the one that needs no further package.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Logits().eval(),
            (ids, torch.ones_like(ids)),
            str(path),
            dynamo=False,
            opset_version=17,
            input_names=["input_ids", "attention_mask"],
            output_names=["logits"],
            dynamic_axes={"input_ids": axes, "attention_mask": axes, "logits": {0: "batch"}},
        )


BLOCK = 64
"""Weights of a row that share a scale in the block-wise products."""


def quantize(source: Path, target: Path) -> None:
    """Write the int8 file.

    The second product of each feed-forward block gets block-wise int8 (`MatMulNBits`), for its
    inputs have outliers that one scale for a whole tensor flattens: with dynamic quantization
    everywhere 95% of labels agreed with the float model, with this 99% (docs/log.md). All other
    products and the embedding tables get dynamic quantization, which is twice as fast.

    `reduce_range` keeps weights to 7 bits: on processors without VNNI, 8-bit weights overflow the
    16-bit sums of the multiply instruction, and labels would differ from machine to machine.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.matmul_nbits_quantizer import (
        DefaultWeightOnlyQuantConfig,
        MatMulNBitsQuantizer,
    )

    logging.getLogger().setLevel(logging.ERROR)
    model = onnx.load(source)
    products = [node.name for node in model.graph.node if node.op_type == "MatMul"]
    blockwise = {name for name in products if name.endswith("/output/dense/MatMul")}
    config = DefaultWeightOnlyQuantConfig(
        block_size=BLOCK, is_symmetric=True, accuracy_level=4, bits=8
    )
    quantizer = MatMulNBitsQuantizer(
        model,
        block_size=BLOCK,
        is_symmetric=True,
        accuracy_level=4,
        nodes_to_exclude=[name for name in products if name not in blockwise],
        algo_config=config,
    )
    quantizer.process()
    between = target.with_suffix(".part")
    quantizer.model.save_model_to_file(str(between), use_external_data_format=False)
    quantize_dynamic(
        between, target, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
    )
    between.unlink()


def write_folder(run: Path, out: Path, *, temperature: float) -> None:
    """Fill `out` in Hub layout from the float model in `run/model`; the card comes later."""
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(
        run / "model", attn_implementation="eager"
    ).eval()
    (out / "onnx").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        export_float(model, Path(scratch) / "float.onnx")
        quantize(Path(scratch) / "float.onnx", out / FILES[2])
        shutil.copy(Path(scratch) / "float.onnx", run / "float.onnx")
    shutil.copy(run / "model" / "tokenizer.json", out / "tokenizer.json")
    write_config(model.config, out, temperature=temperature)


def write_config(config: Any, out: Path, *, temperature: float) -> None:
    """Write `config.json` and the checksums."""
    data = {
        "model_type": config.model_type,
        "architectures": ["MPNetForSequenceClassification"],
        "id2label": {str(index): label for index, label in enumerate(LABELS)},
        "label2id": {label: index for index, label in enumerate(LABELS)},
        "num_hidden_layers": config.num_hidden_layers,
        "hidden_size": config.hidden_size,
        "vocab_size": config.vocab_size,
        "pad_token_id": config.pad_token_id,
        "max_position_embeddings": config.max_position_embeddings,
        "equipoise": {"max_length": MAX_LENGTH, "temperature": temperature},
    }
    (out / "config.json").write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    digests = [(hashlib.sha256((out / name).read_bytes()).hexdigest(), name) for name in FILES]
    lines = "".join(f"{digest}  {name}\n" for digest, name in digests)
    (out / "SHA256SUMS").write_text(lines, encoding="utf-8")


def halves(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Rows of every other question (sorted by their hash), and the rest; capped per source."""
    order = sorted(
        {row.question for row in rows}, key=lambda q: hashlib.sha256(q.encode()).digest()
    )
    first = set(order[::2])
    parts: tuple[list[Row], list[Row]] = ([], [])
    taken: dict[tuple[bool, str], int] = {}
    for row in sorted(rows, key=lambda r: hashlib.sha256(f"{r.source}{r.id}".encode()).digest()):
        key = (row.question in first, row.source)
        taken[key] = taken.get(key, 0) + 1
        if taken[key] <= PER_SOURCE:
            parts[0 if key[0] else 1].append(row)
    return parts


def agreement(run: Path, out: Path, judged: Sequence[Judged]) -> dict[str, float]:
    """How often int8 and float give one label, and how far their probabilities lie apart."""
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(run / "model").eval()
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    temperature = json.loads((out / "config.json").read_text())["equipoise"]["temperature"]
    same, gaps = 0, []
    used = 0
    with torch.inference_mode():
        for item in judged:
            ids = tokenizer.encode(item.row.question, item.row.text).ids
            if len(ids) > MAX_LENGTH:  # longer texts are read in windows: nothing to compare with
                continue
            used += 1
            logits = model(input_ids=torch.tensor([ids])).logits[0] / temperature
            shares = torch.softmax(logits, dim=0).tolist()
            same += LABELS[max(range(3), key=shares.__getitem__)] == item.label
            gaps += [abs(a - b) for a, b in zip(shares, item.probabilities, strict=True)]
    return {
        "n": used,
        "same_label": same / used,
        "mean_probability_gap": sum(gaps) / len(gaps),
        "largest_probability_gap": max(gaps),
    }


def main() -> None:
    """Export, calibrate, score, write the card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--fold", type=int, default=0)
    parser.add_argument("--cases", type=Path, default=None, help="target_aware.jsonl, if there")
    arguments = parser.parse_args()
    write_folder(arguments.run, arguments.out, temperature=1.0)
    _, held = split_rows(arguments.data, fold=arguments.fold, seed=Recipe().seed)
    fitting, testing = halves(held)
    raw = judge(ClassifierDetector(arguments.out), fitting)
    temperature = fit_temperature(raw)
    config = json.loads((arguments.out / "config.json").read_text())
    from types import SimpleNamespace

    write_config(SimpleNamespace(**config), arguments.out, temperature=temperature)
    judged = judge(ClassifierDetector(arguments.out), testing)
    report = _report(judged, temperature)
    report["agreement"] = agreement(arguments.run, arguments.out, judged[::6])
    if arguments.cases is not None:
        report["target_aware"] = summary(
            judge(ClassifierDetector(arguments.out), _cases(arguments.cases))
        )
    (arguments.run / "report.json").write_text(json.dumps(report, indent=2) + "\n")
    write_card(arguments.run, arguments.out, report)
    print(json.dumps(report, indent=1))


def _report(judged: Sequence[Judged], temperature: float) -> dict[str, Any]:
    sources = sorted({item.row.source for item in judged})
    papers_kind = [
        item
        for item in judged
        if item.row.source == "procon20"
        or (item.row.source == "ibm_wiki_passages" and item.row.stance == "neutral")
    ]
    return {
        "temperature": temperature,
        "paper_kind": summary(papers_kind),
        "sources": {
            source: summary([item for item in judged if item.row.source == source])
            for source in sources
        },
        "all": summary(judged),
    }


def _cases(path: Path) -> list[Row]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Row(str(r["id"]), r["kind"], r["question"], r["question"], r["text"], r["stance"], "cases")
        for r in rows
    ]


if __name__ == "__main__":
    main()
