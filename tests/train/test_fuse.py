"""Rewritten graphs give what the plain ones give."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from equipoise.errors import InputError
from equipoise.train.encoder import load_encoder
from equipoise.train.fuse import first_token_only, fuse, join_attention, scale_rows
from equipoise.train.quantize import second_products
from equipoise.train.to_onnx import export_float

SECOND = (32, 16)  # inner and hidden size of the tiny encoders
KINDS = ["mpnet", "bert", "roberta"]
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


def outputs(model: Any, *, rows: int = 3, length: int = 23) -> Any:
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


def kinds_of(model: Any) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


@pytest.mark.parametrize("shape", [(1, 7), (3, 23), (2, 64)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_rewritten_graph_gives_the_plain_ones_outputs(
    kind: str, shape: tuple[int, int], make_graph: MakeGraph
) -> None:
    plain = make_graph(kind)
    fused = fuse(plain, heads=2, products=second_products(plain.graph, SECOND))
    rows, length = shape
    np.testing.assert_allclose(
        outputs(fused, rows=rows, length=length),
        outputs(plain, rows=rows, length=length),
        atol=2e-5,
    )
    found = kinds_of(fused)
    assert (found["MultiHeadAttention"], found["Softmax"], found["ReduceMax"]) == (2, 0, 2)


def test_only_the_first_token_goes_through_the_last_layer(make_graph: MakeGraph) -> None:
    fused = first_token_only(join_attention(make_graph("mpnet"), heads=2))
    fused.graph.output.extend(
        onnx.helper.make_empty_tensor_value_info(node.output[0])
        for node in fused.graph.node
        if node.op_type == "MultiHeadAttention"
    )
    session = onnxruntime.InferenceSession(
        fused.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    ids = np.full((2, 9), 5)
    _, first, last = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
    assert (first.shape, last.shape) == ((2, 9, 16), (2, 1, 16))


def test_names_of_products_with_weights_stay(make_graph: MakeGraph) -> None:
    plain = make_graph("mpnet")
    weights = {entry.name for entry in plain.graph.initializer}

    def products(model: Any) -> dict[str, str]:
        return {
            node.name: node.input[1]
            for node in model.graph.node
            if node.op_type == "MatMul" and node.input[1] in weights
        }

    fused = fuse(plain, heads=2, products=second_products(plain.graph, SECOND))
    assert products(fused) == products(plain)


def test_rows_of_unlike_size_survive_dynamic_int8(tmp_path: Path) -> None:
    """One row a thousand times the other: one scale for both would leave the small one nothing."""
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(64, 8)).astype(np.float32)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"], "product")],
        "rows",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 64])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 8])],
        [onnx.numpy_helper.from_array(weight, "w")],
    )
    plain = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    plain.ir_version = 9
    rows = np.abs(rng.normal(size=(2, 64))).astype(np.float32) * [[1.0], [1000.0]]
    errors = {}
    for name, model in {"plain": plain, "scaled": scale_rows(plain, ["product"])}.items():
        from onnxruntime.quantization import QuantType, quantize_dynamic

        onnx.save(model, tmp_path / "float.onnx")
        quantize_dynamic(
            tmp_path / "float.onnx", tmp_path / "int8.onnx", weight_type=QuantType.QInt8
        )
        session = onnxruntime.InferenceSession(
            tmp_path / "int8.onnx", providers=["CPUExecutionProvider"]
        )
        found = session.run(None, {"x": rows.astype(np.float32)})[0]
        errors[name] = np.abs(found[0] - rows[0] @ weight).max()
    assert errors["scaled"] < 0.2 < 1 < errors["plain"]


def test_the_model_given_is_not_changed(make_graph: MakeGraph) -> None:
    plain = make_graph("mpnet")
    before = plain.SerializeToString()
    fuse(plain, heads=2, products=second_products(plain.graph, SECOND))
    assert plain.SerializeToString() == before


def test_a_wrong_number_of_heads_is_refused(make_graph: MakeGraph) -> None:
    with pytest.raises(InputError, match=r"divided by sqrt\(4\) \(heads=4\)"):
        join_attention(make_graph("mpnet"), heads=4)


@pytest.mark.parametrize("kind", ["deberta", "modernbert"])
def test_another_kind_of_graph_is_refused(kind: str, make_graph: MakeGraph) -> None:
    plain = make_graph(kind)
    with pytest.raises(InputError):
        fuse(plain, heads=2, products=[])


def test_products_that_are_not_there_are_refused(make_graph: MakeGraph) -> None:
    with pytest.raises(InputError, match="nowhere"):
        scale_rows(make_graph("mpnet"), ["nowhere"])
    with pytest.raises(InputError, match="call join_attention first"):
        first_token_only(make_graph("mpnet"))


def test_a_classifier_that_reads_other_tokens_is_refused(make_graph: MakeGraph) -> None:
    joined = join_attention(make_graph("mpnet"), heads=2)
    gather = [node for node in joined.graph.node if node.name.endswith("/classifier/Gather")]
    joined.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(1), "second"))
    gather[0].input[1] = "second"
    with pytest.raises(InputError, match="must read the first token"):
        first_token_only(joined)
