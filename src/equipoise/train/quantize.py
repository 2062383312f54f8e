"""A float ONNX file made int8: block-wise where one scale for a tensor is too coarse, else dynamic.

Source: ours; the measurements are in docs/log.md.
"""

import importlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BLOCK = 64
"""Weights of a row that share a scale in the block-wise products."""


@dataclass(frozen=True, slots=True)
class Quantized:
    """How many products of each kind the int8 file has; `blockwise` 0 says that none was found."""

    blockwise: int
    dynamic: int


def quantize(source: Path, target: Path, *, second: tuple[int, int] | None) -> Quantized:
    """Write the int8 file.

    The second product of each feed-forward block gets block-wise int8 (`MatMulNBits`), for its
    inputs have outliers that one scale for a whole tensor flattens: with dynamic quantization
    everywhere 95% of labels agreed with the float model, with this 99% (docs/log.md). All other
    products and the embedding tables get dynamic quantization, which is twice as fast.

    `reduce_range` keeps weights to 7 bits: on processors without VNNI, 8-bit weights overflow the
    16-bit sums of the multiply instruction, and labels would differ from machine to machine.

    Args:
        source: the float32 file.
        target: the file to write.
        second: the shape of those second products' weights (see `feed_forward_shape`), for names of
            nodes differ from architecture to architecture; None leaves them dynamic.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    between = target.with_suffix(".part")
    with _quiet():
        model = onnx.load(source)
        chosen = second_products(model.graph, second)
        _write_blockwise(model, chosen, between)
        quantize_dynamic(
            between, target, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
        )
    between.unlink()
    kinds = [node.op_type for node in onnx.load(target).graph.node]
    return Quantized(kinds.count("MatMulNBits"), kinds.count("MatMulInteger"))


def feed_forward_shape(config: Any) -> tuple[int, int] | None:
    """(inner size, hidden size) of a model's feed-forward blocks, or None where it says neither."""
    inner = getattr(config, "intermediate_size", None) or getattr(config, "hidden_dim", None)
    hidden = getattr(config, "hidden_size", None)
    return (int(inner), int(hidden)) if inner and hidden else None


def second_products(graph: Any, shape: tuple[int, int] | None) -> set[str]:
    """Names of the products with a constant weight of `shape`.

    Where inner and hidden size are equal, the products of attention have that shape too: then more
    becomes block-wise, which costs time and no accuracy.
    """
    shapes = {entry.name: tuple(entry.dims) for entry in graph.initializer}
    return {
        node.name
        for node in graph.node
        if node.op_type == "MatMul" and shapes.get(node.input[1]) == shape
    } - {""}


def _write_blockwise(model: Any, chosen: set[str], path: Path) -> None:
    """The model with block-wise products for the `chosen` ones."""
    import onnx
    from onnxruntime.quantization.matmul_nbits_quantizer import (
        DefaultWeightOnlyQuantConfig,
        MatMulNBitsQuantizer,
    )

    if not chosen:
        onnx.save(model, path)
        return
    config = DefaultWeightOnlyQuantConfig(
        block_size=BLOCK, is_symmetric=True, accuracy_level=4, bits=8
    )
    quantizer = MatMulNBitsQuantizer(
        model,
        block_size=BLOCK,
        is_symmetric=True,
        accuracy_level=4,
        nodes_to_exclude=[
            node.name
            for node in model.graph.node
            if node.op_type == "MatMul" and node.name not in chosen
        ],
        algo_config=config,
    )
    quantizer.process()
    quantizer.model.save_model_to_file(str(path), use_external_data_format=False)


@contextmanager
def _quiet() -> Iterator[None]:
    """Hold back what ONNX Runtime's quantizers log to the root logger; then it is as it was.

    Subtle: importing one of them sets the root logger up, so that comes first.
    """
    logger = logging.getLogger()
    level, handlers = logger.level, list(logger.handlers)
    importlib.import_module("onnxruntime.quantization.matmul_nbits_quantizer")
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.handlers[:] = handlers
