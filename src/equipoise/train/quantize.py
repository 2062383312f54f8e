"""A float ONNX file made int8, token by token where one scale for all tokens is too coarse.

Source: ours; the measurements are in docs/log.md.
"""

import importlib
import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.errors import InputError

_SMALLEST = 1e-6
"""A token of zeros is divided by this, not by 0."""


@dataclass(frozen=True, slots=True)
class Quantized:
    """How many int8 products the file has, and how many of them are scaled token by token."""

    scaled: int
    dynamic: int


def quantize(source: Path, target: Path, *, feed_forward: tuple[int, int] | None) -> Quantized:
    """Write the int8 file: dynamic quantization of all products with weights, and of embeddings.

    The inputs of the feed-forward products have tokens with values far beyond the others', which
    one scale for the whole input flattens. So each token is divided by its largest value before,
    and the product multiplied by it after: closer to the float model than block-wise int8
    (`MatMulNBits`) was, and a quarter faster (docs/log.md).

    Weights have all 8 bits. Subtle: on processors without VNNI such weights can overflow the 16-bit
    sums of the multiply instruction, so there `OnnxRunner` asks for the exact, slower one. Seven
    bits (`reduce_range`) need no such care, and lose what a second training changed: its steps are
    smaller than theirs, and rounding leads back to the weights it began from (docs/log.md).

    Args:
        source: the float32 file.
        target: the file to write.
        feed_forward: (inner size, hidden size), see `feed_forward_shape`: names of nodes differ
            from architecture to architecture. None scales nothing.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    between = target.with_suffix(".part")
    model = onnx.load(source)
    chosen = feed_forward_products(model.graph, feed_forward)
    onnx.save(scale_rows(model, chosen), between)
    with _quiet():
        quantize_dynamic(
            between,
            target,
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=False,
            # The shapes that it looks for are not always known after the rewrite.
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )
    between.unlink()
    kinds = [node.op_type for node in onnx.load(target).graph.node]
    return Quantized(len(chosen), kinds.count("MatMulInteger"))


def feed_forward_shape(config: Any) -> tuple[int, int] | None:
    """(inner size, hidden size) of a model's feed-forward blocks, or None where it says neither."""
    inner = getattr(config, "intermediate_size", None) or getattr(config, "hidden_dim", None)
    hidden = getattr(config, "hidden_size", None)
    return (int(inner), int(hidden)) if inner and hidden else None


def feed_forward_products(graph: Any, shape: tuple[int, int] | None) -> set[str]:
    """Names of the products from hidden to inner size (gated ones twice that) and back.

    Where inner and hidden size are equal, the products of attention have that shape too: then they
    are scaled as well, which costs a little time and no accuracy.
    """
    if shape is None:
        return set()
    inner, hidden = shape
    wanted = {(hidden, inner), (hidden, 2 * inner), (inner, hidden)}
    shapes = {entry.name: tuple(entry.dims) for entry in graph.initializer}
    return {
        node.name
        for node in graph.node
        if node.op_type == "MatMul" and shapes.get(node.input[1]) in wanted
    } - {""}


def scale_rows(model: Any, products: Collection[str]) -> Any:
    """A copy in which each input row of the named products is divided by its largest magnitude.

    Dynamic quantization takes one scale for all rows of an input; rows that all end in [-1, 1] lose
    little by that. Names of weights and products stay (`unquantize` reads by them).

    Raises:
        InputError: a name is not that of a MatMul.
    """
    from onnx import numpy_helper

    changed = _copy(model)
    graph = changed.graph
    known = {node.name for node in graph.node if node.op_type == "MatMul"}
    if missing := sorted(set(products) - known):
        raise InputError(f"products must be names of MatMul nodes; these are not: {missing}")
    smallest = numpy_helper.from_array(np.asarray(_SMALLEST, np.float32), "smallest_row")
    graph.initializer.append(smallest)
    nodes: list[Any] = []
    divided: set[str] = set()
    for node in graph.node:
        if node.name not in products:
            nodes.append(node)
            continue
        rows = str(node.input[0])
        if rows not in divided:  # products may share an input
            divided.add(rows)
            nodes += _divided(rows, smallest.name)
        nodes += _product(node, rows)
    kept = [_copy(node) for node in nodes]
    del graph.node[:]
    graph.node.extend(kept)
    return changed


def _divided(rows: str, smallest: str) -> list[Any]:
    from onnx import helper

    size, top, row = f"{rows}/size", f"{rows}/top", f"{rows}/row"
    return [
        helper.make_node("Abs", [rows], [size], size),
        helper.make_node("ReduceMax", [size], [top], top, axes=[-1]),
        helper.make_node("Max", [top, smallest], [row], row),
        helper.make_node("Div", [rows, row], [f"{rows}/divided"], f"{rows}/divided"),
    ]


def _product(node: Any, rows: str) -> list[Any]:
    from onnx import helper

    result, small = node.output[0], f"{node.name}/of_divided"
    node.input[0], node.output[0] = f"{rows}/divided", small
    return [node, helper.make_node("Mul", [small, f"{rows}/row"], [result], f"{node.name}/undo")]


def _copy(message: Any) -> Any:
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


@contextmanager
def _quiet() -> Iterator[None]:
    """Hold back what ONNX Runtime's quantizer logs to the root logger; then it is as it was.

    Subtle: importing it sets the root logger up, so that comes first.
    """
    logger = logging.getLogger()
    level, handlers = logger.level, list(logger.handlers)
    importlib.import_module("onnxruntime.quantization.quantize")
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.handlers[:] = handlers
