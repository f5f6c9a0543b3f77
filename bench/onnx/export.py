"""Writes a shipped checkpoint as an ONNX graph: (sources, targets) to losses, each [windows][length].

python export.py CHECKPOINT OUT [--attention plain|fused]
"""

import argparse
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).parent.parent))
from checkpoint import distance_bias, read_checkpoint

MASKED = np.float32(-1e9)
# The longest window that the tables of positions reach.
LENGTH_MAX = 8192


class Graph:
    """Nodes and constants, each result under a name of its own."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, value, name=None):
        name = name or f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def add(self, kind, *inputs, outputs=1, **attributes):
        names = [f"{kind}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names


def score_bias(graph, by_distance):
    """The causal mask with the bias in it, [heads or 1][T][T], from the shape of the input."""
    length = graph.add("Gather", graph.add("Shape", "sources"), graph.constant(np.array(1, np.int64)))
    zero, one = (graph.constant(np.array(value, np.int64)) for value in (0, 1))
    position = graph.add("Range", zero, length, one)
    query = graph.add("Unsqueeze", position, graph.ints(1))
    key = graph.add("Unsqueeze", position, graph.ints(0))
    distance = graph.add("Sub", query, key)
    is_ahead = graph.add("Less", distance, zero)
    masked = graph.constant(MASKED)
    if by_distance is None:
        bias = graph.add("Where", is_ahead, masked, graph.constant(np.float32(0)))
        return graph.add("Unsqueeze", bias, graph.ints(0))
    row = graph.add("Max", distance, zero)
    values = graph.add("Gather", graph.constant(by_distance), row, axis=1)
    return graph.add("Where", is_ahead, masked, values)


def export(config, tensors, fused):
    """The graph of a model; `fused` takes onnxruntime's own operator for attention."""
    assert config["tied_output"] and config["activation"] == "gelu_tanh"
    width, heads, scale = config["d_model"], config["heads"], np.float32(config["score_scale"])
    d_head = width // heads
    graph = Graph()
    constant = lambda name: graph.constant(tensors[name], name)
    epsilon = config["norm_epsilon"]

    def norm(x, name):
        return graph.add("LayerNormalization", x, constant(name + ".weight"), constant(name + ".bias"), axis=-1, epsilon=epsilon)

    def linear(x, name, query_scale=None):
        weight, bias = (tensors[f"{name}.{part}"].copy() for part in ("weight", "bias"))
        if query_scale is not None:
            weight[:width] *= query_scale
            bias[:width] *= query_scale
        return graph.add("Add", graph.add("MatMul", x, graph.constant(np.ascontiguousarray(weight.T))), graph.constant(bias))

    rotary = config["encoding"]["kind"] == "rotary"
    if rotary:
        pairs = d_head // 2
        frequency = config["encoding"]["base"] ** (-np.arange(pairs) / pairs)
        angle = np.arange(LENGTH_MAX)[:, None] * frequency
        turns = [graph.ints(0), graph.constant(np.cos(angle).astype(np.float32)), graph.constant(np.sin(angle).astype(np.float32))]
    bias = score_bias(graph, distance_bias(config, tensors, LENGTH_MAX))
    if fused:
        bias = graph.add("Unsqueeze", bias, graph.ints(0))
    into_heads = graph.ints(0, 0, heads, d_head)
    joined = graph.ints(0, 0, width)
    embedding = tensors["token_embedding.weight"]
    x = graph.add("Gather", graph.constant(embedding * np.float32(config["embedding_scale"])), "sources")
    for layer in range(config["layers"]):
        name = f"layers.{layer}."
        qkv = linear(norm(x, name + "attention_norm"), name + "attention.qkv", None if fused else scale)
        parts = graph.add("Split", qkv, graph.ints(width, width, width), outputs=3, axis=-1)
        turn = lambda part: graph.add("RotaryEmbedding", part, *turns, domain="com.microsoft", num_heads=heads, interleaved=0)
        if fused:
            q, k, v = parts
            if rotary:
                q, k = turn(q), turn(k)
            y = graph.add("MultiHeadAttention", q, k, v, "", "", bias, domain="com.microsoft", num_heads=heads, scale=float(scale))
        else:
            split = lambda part: graph.add("Transpose", graph.add("Reshape", part, into_heads), perm=[0, 2, 1, 3])
            q, k, v = map(split, parts)
            if rotary:
                q, k = turn(q), turn(k)
            scores = graph.add("Add", graph.add("MatMul", q, graph.add("Transpose", k, perm=[0, 1, 3, 2])), bias)
            y = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), v)
            y = graph.add("Reshape", graph.add("Transpose", y, perm=[0, 2, 1, 3]), joined)
        x = graph.add("Add", x, linear(y, name + "attention.out"))
        up = linear(norm(x, name + "mlp_norm"), name + "mlp.up")
        x = graph.add("Add", x, linear(graph.add("Gelu", up, approximate="tanh"), name + "mlp.down"))
    logits = graph.add("MatMul", norm(x, "final_norm"), graph.constant(np.ascontiguousarray(embedding.T)))
    column = graph.ints(2)
    chosen = graph.add("GatherElements", graph.add("LogSoftmax", logits, axis=-1), graph.add("Unsqueeze", "targets", column), axis=2)
    graph.nodes.append(helper.make_node("Squeeze", [graph.add("Neg", chosen), column], ["losses"]))

    shape = ["windows", "length"]
    value = helper.make_tensor_value_info
    inputs = [value(name, TensorProto.INT32, shape) for name in ("sources", "targets")]
    body = helper.make_graph(graph.nodes, "longview", inputs, [value("losses", TensorProto.FLOAT, shape)], graph.constants)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(body, opset_imports=opsets, ir_version=10)
    onnx.checker.check_model(model)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint")
    parser.add_argument("out")
    parser.add_argument("--attention", choices=["plain", "fused"], default="plain")
    arguments = parser.parse_args()
    model = export(*read_checkpoint(arguments.checkpoint), arguments.attention == "fused")
    onnx.save(model, arguments.out)


main()
