"""The float ONNX graph of an encoder, rewritten so that its int8 form runs faster.

Each function takes a model and returns a changed copy; names of weights and of the products with
weights stay (`unquantize` reads by them). To be called between `export_float` and quantization, in
the order of `fuse`. The gains are measured on passages of the embedded corpus, one thread.

Source: ours.
"""

from collections.abc import Collection
from math import isclose, prod, sqrt
from typing import Any

import numpy as np

from equipoise.errors import InputError

_SHARED = "com.microsoft"


def fuse(model: Any, *, heads: int, products: Collection[str]) -> Any:
    """Attention as one operator, the last layer for the first token only, `products` scaled by row.

    Raises:
        InputError: the graph is not of the kind that these rewrites know (see each of them).
    """
    return scale_rows(first_token_only(join_attention(model, heads=heads)), products)


def scale_rows(model: Any, products: Collection[str]) -> Any:
    """Divide each input row of the named products by its largest value, and undo it after them.

    Dynamic quantization takes one scale for all rows of a product's input; the second feed-forward
    products have rows (tokens) far larger than the rest, which it would flatten. With rows of
    like size it keeps what block-wise int8 (`MatMulNBits`) keeps, at a third of the time.

    Their inputs are outputs of an activation, which fall little below 0 (GELU -0.17, SiLU -0.28,
    ReLU 0): with no row divided by less than that, all values end in [-1, 1].

    Args:
        model: the float model.
        products: names of products whose inputs come from such an activation.

    Raises:
        InputError: a name is not that of a MatMul.
    """
    changed = _copy(model)
    known = {node.name for node in changed.graph.node if node.op_type == "MatMul"}
    if missing := sorted(set(products) - known):
        raise InputError(f"products must be names of MatMul nodes; these are not: {missing}")
    nodes: list[Any] = []
    floor = _constant(changed.graph, "rows_at_least", np.asarray(0.28, dtype=np.float32))
    for node in changed.graph.node:
        nodes += _scaled(node, floor) if node.name in products else [node]
    _replace_nodes(changed.graph, nodes)
    return changed


def _scaled(product: Any, floor: str) -> list[Any]:
    from onnx import helper

    rows, result, name = product.input[0], product.output[0], product.name
    product.input[0], product.output[0] = f"{name}/rows_scaled", f"{name}/rows_product"
    return [
        helper.make_node("ReduceMax", [rows], [f"{name}/top"], f"{name}/top", axes=[-1]),
        helper.make_node("Max", [f"{name}/top", floor], [f"{name}/row"], f"{name}/row"),
        helper.make_node("Div", [rows, f"{name}/row"], [product.input[0]], f"{name}/divide"),
        product,
        helper.make_node("Mul", [product.output[0], f"{name}/row"], [result], f"{name}/undo"),
    ]


def join_attention(model: Any, *, heads: int) -> Any:
    """Each layer's attention as one `MultiHeadAttention` of ONNX Runtime.

    Position bias and mask are added to each other once, instead of to every layer's scores.

    Raises:
        InputError: no attention was found, or one whose scores are not divided by the root of the
            size of a head.
    """
    changed = _copy(model)
    graph = changed.graph
    made = _producers(graph)
    sums: dict[tuple[str, ...], str] = {}
    added: dict[str, list[Any]] = {}
    for softmax in [node for node in graph.node if node.op_type == "Softmax"]:
        found = _scores(graph, made, softmax.input[0])
        if found is None:
            continue
        scores, biases, factor = found
        mixed = next(node for node in graph.node if softmax.output[0] in node.input)
        inputs = [_before_heads(made, name) for name in (*scores.input, mixed.input[1])]
        size = _width(graph, made, inputs[0]) // heads
        if not isclose(factor, 1 / sqrt(size), rel_tol=1e-3):
            raise InputError(
                f"attention scores must be divided by sqrt({size}) (heads={heads}), got a factor "
                f"of {factor:.4g} in {softmax.name}"
            )
        end = _after_heads(graph, mixed)
        nodes, bias = _summed(biases, sums)
        added[end.name] = [*nodes, _attention(softmax.name, inputs, bias, heads, end.output[0])]
    if not added:
        raise InputError("the graph must have attention: a softmax over scaled products; none has")
    nodes = [new for node in graph.node for new in added.get(node.name, [node])]
    _replace_nodes(graph, nodes)
    _import_operators(changed)
    return _pruned(changed)


def _attention(name: str, inputs: list[str], bias: str, heads: int, output: str) -> Any:
    from onnx import helper

    return helper.make_node(
        "MultiHeadAttention",
        [*inputs, "", "", bias],
        [output],
        f"{name}/joined",
        domain=_SHARED,
        num_heads=heads,
    )


def _summed(biases: list[str], sums: dict[tuple[str, ...], str]) -> tuple[list[Any], str]:
    """Nodes that add up the biases (none where an earlier layer did), and the sum's name."""
    from onnx import helper

    key = tuple(sorted(biases))
    if len(key) < 2 or key in sums:
        return [], sums.get(key, key[0] if key else "")
    if len(key) > 2:
        raise InputError(f"attention scores must get at most two summands, got {list(key)}")
    sums[key] = "attention_bias"
    return [helper.make_node("Add", list(key), [sums[key]], sums[key])], sums[key]


def _scores(
    graph: Any, made: dict[str, Any], name: str, depth: int = 5
) -> tuple[Any, list[str], float] | None:
    """The product of queries and keys behind `name`, what is added to it, and its factor."""
    node = made.get(name)
    if node is None or depth == 0:
        return None
    if node.op_type == "MatMul":
        heads = all(
            made.get(side) is not None and made[side].op_type == "Transpose" for side in node.input
        )
        return (node, [], 1.0) if heads else None
    if node.op_type not in ("Add", "Mul", "Div"):
        return None
    for at, side in enumerate(node.input):
        found = _scores(graph, made, side, depth - 1)
        if found is None:
            continue
        product, biases, factor = found
        other = node.input[1 - at]
        if node.op_type == "Add":
            return product, [*biases, other], factor
        value = float(_value(graph, made, other))
        return product, biases, factor * value if node.op_type == "Mul" else factor / value
    return None


def _before_heads(made: dict[str, Any], name: str) -> str:
    """The value of shape (batch, length, width) that was cut into heads."""
    node = made[name]
    while node.op_type == "Transpose":
        node = made[node.input[0]]
    if node.op_type != "Reshape":
        raise InputError(f"heads must be made by Reshape and Transpose, got {node.op_type}")
    return str(node.input[0])


def _after_heads(graph: Any, mixed: Any) -> Any:
    """The Reshape that puts the heads together again."""
    turned = next(node for node in graph.node if mixed.output[0] in node.input)
    return next(
        node
        for node in graph.node
        if node.op_type == "Reshape" and node.input[0] == turned.output[0]
    )


def _width(graph: Any, made: dict[str, Any], name: str) -> int:
    """The last dimension of a value that has a bias vector added to it.

    Raises:
        InputError: it has none.
    """
    sizes = {entry.name: prod(entry.dims) for entry in graph.initializer}
    width = int(max(sizes.get(side, 0) for side in made[name].input))
    if width == 0:
        raise InputError(f"queries must be a product with a bias added; {name} is not")
    return width


def first_token_only(model: Any) -> Any:
    """The last layer's queries, residual and feed-forward for the first token alone.

    The classifier reads that token only; the others are still needed as keys and values. Saves ten
    twelfths of one layer. Call it after `join_attention`.

    Raises:
        InputError: something else than the first token of the last layer is read, or attention is
            not joined.
    """
    from onnx import helper

    changed = _copy(model)
    graph = changed.graph
    made = _producers(graph)
    joined = [node for node in graph.node if node.op_type == "MultiHeadAttention"]
    if not joined:
        raise InputError("the graph must have MultiHeadAttention: call join_attention first")
    _check_pooled(graph, joined[-1])
    query, key, value = (_product(made, name) for name in joined[-1].input[:3])
    hidden = query.input[0]
    if {key.input[0], value.input[0]} != {hidden}:
        raise InputError("queries, keys and values must be made of one input")
    for node in graph.node:
        if node is query or (node.op_type == "Add" and hidden in node.input):
            node.input[:] = ["first_token" if name == hidden else name for name in node.input]
    zero = _constant(graph, "first_from", np.asarray([0]))
    one = _constant(graph, "first_to", np.asarray([1]))
    two = _constant(graph, "first_axis", np.asarray([2]))
    first = helper.make_node(
        "Slice", [hidden, zero, one, one], ["first_token"], "first_token"
    )  # axis 1, of (batch, length, width)
    before = {query.name: [first]}
    if len(joined[-1].input) > 5 and joined[-1].input[5]:
        bias = helper.make_node(
            "Slice", [joined[-1].input[5], zero, one, two], ["first_bias"], "first_bias"
        )
        joined[-1].input[5] = "first_bias"
        before[joined[-1].name] = [bias]
    _replace_nodes(
        graph, [new for node in graph.node for new in (*before.get(node.name, ()), node)]
    )
    return changed


def _check_pooled(graph: Any, attention: Any) -> None:
    """Nothing, when all that is read after the last layer is the first token.

    Raises:
        InputError: something else is.
    """
    consumers: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            consumers.setdefault(name, []).append(node)
    made = _producers(graph)
    todo, seen = [attention.output[0]], set()
    gathers = 0
    while todo:
        name = todo.pop()
        for node in consumers.get(name, []):
            if node.op_type == "Gather" and name == node.input[0]:
                axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
                if axis != 1 or int(_value(graph, made, node.input[1])) != 0:
                    raise InputError(f"{node.name} must read the first token")
                gathers += 1
            elif node.output[0] not in seen:
                seen.add(node.output[0])
                todo.append(node.output[0])
    if gathers != 1 or {entry.name for entry in graph.output} & seen:
        raise InputError("the classifier must read the first token of the last layer and no other")


def _product(made: dict[str, Any], name: str) -> Any:
    """The product with a weight behind a value that has a bias added to it."""
    node = made[name]
    return next(
        made[side] for side in node.input if side in made and made[side].op_type == "MatMul"
    )


def _copy(model: Any) -> Any:
    copy = type(model)()
    copy.CopyFrom(model)
    return copy


def _constant(graph: Any, name: str, value: Any) -> str:
    from onnx import numpy_helper

    graph.initializer.append(numpy_helper.from_array(value, name))
    return name


def _producers(graph: Any) -> dict[str, Any]:
    return {name: node for node in graph.node for name in node.output}


def _value(graph: Any, made: dict[str, Any], name: str) -> Any:
    """The array of a constant.

    Raises:
        InputError: `name` is none.
    """
    from onnx import numpy_helper

    for entry in graph.initializer:
        if entry.name == name:
            return numpy_helper.to_array(entry)
    if name in made and made[name].op_type == "Constant":
        return numpy_helper.to_array(made[name].attribute[0].t)
    raise InputError(f"{name} must be a constant")


def _replace_nodes(graph: Any, nodes: list[Any]) -> None:
    kept = [_copy(node) for node in nodes]
    del graph.node[:]
    graph.node.extend(kept)


def _import_operators(model: Any) -> None:
    from onnx import helper

    if all(entry.domain != _SHARED for entry in model.opset_import):
        model.opset_import.append(helper.make_opsetid(_SHARED, 1))


def _pruned(model: Any) -> Any:
    """The model without nodes that nothing reads."""
    graph = model.graph
    needed = {entry.name for entry in graph.output}
    kept = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed.update(node.input)
            kept.append(node)
    _replace_nodes(graph, kept[::-1])
    return model
