"""A bundled int8 detector read back as float weights, so that training can go on from it.

What was lost by rounding stays lost (the card says how much that is); training mends it.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from equipoise.errors import InputError

if TYPE_CHECKING:
    from equipoise.train.encoder import Encoder

Weights = npt.NDArray[np.float32]


def read_back(folder: Path) -> "Encoder":
    """The float32 encoder of an int8 folder that `equipoise export` wrote.

    Raises:
        InputError: a weight of the architecture is not in the file.
    """
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification

    from equipoise.train.encoder import as_encoder

    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    names = {int(index): label for index, label in settings["id2label"].items()}
    known = {k: v for k, v in settings.items() if k not in ("model_type", "equipoise")}
    config = AutoConfig.for_model(settings["model_type"], **{**known, "id2label": names})
    model = AutoModelForSequenceClassification.from_config(config)
    found = read_weights(folder / "onnx/model_quantized.onnx")
    state = model.state_dict()
    missing = [
        name for name in state if name not in found and not name.endswith(("_ids", "pooler.dense"))
    ]
    if missing:
        raise InputError(f"{folder} must hold every weight of {config.model_type}; lacks {missing}")
    for name, value in state.items():
        if name in found:
            value.copy_(torch.from_numpy(found[name]).reshape(value.shape))
    return as_encoder(model, Tokenizer.from_file(str(folder / "tokenizer.json")))


def read_weights(path: Path) -> dict[str, Weights]:
    """Float weights by PyTorch's names, from a file of dynamic or block-wise int8 products."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(path).graph
    values = {entry.name: numpy_helper.to_array(entry) for entry in graph.initializer}
    found = {
        name.removeprefix("inner."): value.astype(np.float32)
        for name, value in values.items()
        if name.startswith("inner.") and value.dtype == np.float32
    }
    for node in graph.node:
        weight = _weight(node, values)
        if weight is not None:
            found[_module(node.name) + ".weight"] = weight
    return found


def _weight(node: Any, values: dict[str, npt.NDArray[Any]]) -> Weights | None:
    name = node.input[1] if len(node.input) > 1 else ""
    if node.op_type == "MatMulInteger" and name.endswith("_quantized"):
        return _affine(values, name.removesuffix("_quantized")).T
    if node.op_type == "MatMulNBits":
        blocks = values[name].astype(np.float32) - 128.0  # symmetric: stored with an offset of 128
        scaled = blocks * values[node.input[2]][..., None]
        rows = scaled.reshape(len(blocks), -1)  # the last block may be filled up
        width = next(int(entry.i) for entry in node.attribute if entry.name == "K")
        return np.asarray(rows[:, :width], dtype=np.float32)
    if node.op_type == "Gather" and node.input[0].endswith(".weight_quantized"):
        return _affine(values, node.input[0].removesuffix("_quantized"))
    return None


def _affine(values: dict[str, npt.NDArray[Any]], stem: str) -> Weights:
    weights = values[f"{stem}_quantized"].astype(np.float32)
    zero = values[f"{stem}_zero_point"].astype(np.float32)
    return np.asarray((weights - zero) * values[f"{stem}_scale"], dtype=np.float32)


def _module(node: str) -> str:
    """`/inner/a/b/MatMul_quant` -> `a.b`."""
    return ".".join(node.removeprefix("/inner/").split("/")[:-1])
