"""Rows scaled before int8: the same function in float, a closer one in int8."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from equipoise.errors import InputError
from equipoise.train.encoder import load_encoder
from equipoise.train.quantize import feed_forward_products, quantize, scale_rows
from equipoise.train.to_onnx import export_float

SHAPE = (32, 16)  # inner and hidden size of the tiny encoders
MakeGraph = Callable[[str], Any]


@pytest.fixture(scope="module")
def make_graph(
    make_base: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> MakeGraph:
    """A function that exports a tiny encoder to a float graph."""
    made: dict[str, Any] = {}

    def make(kind: str) -> Any:
        import torch

        if kind not in made:
            torch.manual_seed(5)
            encoder = load_encoder(make_base(kind))
            encoder.model.config._attn_implementation = "eager"
            encoder.model.eval()
            path = tmp_path_factory.mktemp("graph") / f"{kind}.onnx"
            export_float(encoder, path)
            made[kind] = onnx.load(path)
        return made[kind]

    return make


def outputs(model: Any, *, rows: int, length: int) -> Any:
    """Logits of random ids, every row but the first with padding at its end."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    ids = np.random.default_rng(1).integers(4, 30, (rows, length))
    mask = np.ones_like(ids)
    for row in range(1, rows):
        mask[row, length - 4 * row :] = 0
    ids[mask == 0] = 1
    given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    return session.run(None, {entry.name: given[entry.name] for entry in session.get_inputs()})[0]


@pytest.mark.parametrize("shape", [(1, 7), (3, 23), (2, 64)])
@pytest.mark.parametrize("kind", ["mpnet", "bert", "roberta", "modernbert"])
def test_scaled_rows_give_the_plain_graphs_outputs(
    kind: str, shape: tuple[int, int], make_graph: MakeGraph
) -> None:
    plain = make_graph(kind)
    chosen = feed_forward_products(plain.graph, SHAPE)
    assert len(chosen) >= 4  # two in each of two layers
    rows, length = shape
    np.testing.assert_allclose(
        outputs(scale_rows(plain, chosen), rows=rows, length=length),
        outputs(plain, rows=rows, length=length),
        atol=2e-5,
    )


def test_names_and_weights_of_the_products_stay(make_graph: MakeGraph) -> None:
    plain = make_graph("mpnet")
    weights = {entry.name for entry in plain.graph.initializer}

    def products(model: Any) -> dict[str, str]:
        return {
            node.name: node.input[1]
            for node in model.graph.node
            if node.op_type == "MatMul" and node.input[1] in weights
        }

    assert products(scale_rows(plain, feed_forward_products(plain.graph, SHAPE))) == products(plain)


def rows_graph(weight: Any) -> Any:
    """y = x w and z = x w, two products of one input."""
    make = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [
            onnx.helper.make_node("MatMul", ["x", "w"], ["y"], "first"),
            onnx.helper.make_node("MatMul", ["x", "w"], ["z"], "second"),
        ],
        "rows",
        [make("x", onnx.TensorProto.FLOAT, ["n", 64])],
        [make(name, onnx.TensorProto.FLOAT, ["n", 32]) for name in ("y", "z")],
        [onnx.numpy_helper.from_array(weight, "w")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 9
    return model


@pytest.mark.parametrize("feed_forward", [None, (32, 64)])
def test_rows_of_unlike_size_survive_int8_only_when_scaled(
    feed_forward: tuple[int, int] | None, tmp_path: Path
) -> None:
    """One row a thousand times the other, a third of zeros: one scale leaves the small one nothing."""
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(64, 32)).astype(np.float32)
    rows = (rng.normal(size=(3, 64)) * [[1.0], [1000.0], [0.0]]).astype(np.float32)
    onnx.save(rows_graph(weight), tmp_path / "float.onnx")
    made = quantize(tmp_path / "float.onnx", tmp_path / "int8.onnx", feed_forward=feed_forward)
    session = onnxruntime.InferenceSession(
        tmp_path / "int8.onnx", providers=["CPUExecutionProvider"]
    )
    found = session.run(None, {"x": rows})[0]
    error = np.abs(found[0] - rows[0] @ weight).max()
    assert made.dynamic == 2
    assert np.isfinite(found).all()
    if feed_forward is None:
        assert (made.scaled, error > 1) == (0, True)
    else:
        assert (made.scaled, error < 0.3) == (2, True)


def test_the_model_given_is_not_changed(make_graph: MakeGraph) -> None:
    plain = make_graph("mpnet")
    before = plain.SerializeToString()
    scale_rows(plain, feed_forward_products(plain.graph, SHAPE))
    assert plain.SerializeToString() == before


def test_products_that_are_not_there_are_refused(make_graph: MakeGraph) -> None:
    with pytest.raises(InputError, match="nowhere"):
        scale_rows(make_graph("mpnet"), ["nowhere"])
