"""A trained encoder as a float32 ONNX file, whatever its architecture."""

import warnings
from pathlib import Path
from typing import Any

from equipoise._extras import require
from equipoise.errors import InputError
from equipoise.train.encoder import Encoder, as_encoder

OPSET = 17


def open_trained(folder: Path) -> Encoder:
    """The encoder that a run left in `folder`, with the attention that can be exported.

    Raises:
        InputError: there is none, or it has not three outputs.
        MissingExtraError: the extra `train` is not installed.
    """
    from tokenizers import Tokenizer

    transformers = require("transformers", extra="train")
    for name in ("config.json", "tokenizer.json"):
        if not (folder / name).is_file():
            raise InputError(f"{folder} must be a trained model with {name}: end the run first")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        folder, attn_implementation="eager"
    ).eval()
    if model.config.num_labels != 3:
        raise InputError(f"{folder} must have three outputs, got {model.config.num_labels}")
    return as_encoder(model, Tokenizer.from_file(str(folder / "tokenizer.json")))


def export_float(encoder: Encoder, path: Path) -> None:
    """Write the float32 ONNX file; batch and length are free.

    Inputs are input_ids and attention_mask, and token_type_ids for a model that tells segments
    apart; each is int64 of shape (batch, length). The output `logits` is float32 of shape
    (batch, 3). The module is named `inner` in the graph, which `unquantize` reads names by.
    """
    import torch

    class Logits(torch.nn.Module):  # type: ignore[misc]  # torch is untyped to mypy here
        def __init__(self) -> None:
            super().__init__()
            self.inner = encoder.model

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> Any:
            segments = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
            return self.inner(input_ids=input_ids, attention_mask=attention_mask, **segments).logits

    names = ["input_ids", "attention_mask", *(["token_type_ids"] if encoder.segments else [])]
    ids = torch.full((2, 9), min(5, encoder.model.config.vocab_size - 1))
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0  # padding in the example, so that no path without a mask is traced
    axes = {0: "batch", 1: "length"}
    with warnings.catch_warnings():
        # The tracing exporter is deprecated, and is the one that needs no further package.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Logits().eval(),
            (ids, mask, torch.zeros_like(ids))[: len(names)],
            str(path),
            dynamo=False,
            opset_version=OPSET,
            input_names=names,
            output_names=["logits"],
            dynamic_axes={**dict.fromkeys(names, axes), "logits": {0: "batch"}},
        )
