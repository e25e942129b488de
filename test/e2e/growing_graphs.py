# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoders whose past grows from call to call, as exporters write them, without one.

usage: growing_graphs.py NAME FILE.onnx

concat-static..: pasts of the capacity, written at cache_position. concat: past and new joined, heads of queries that share repeated keys, positions
and a causal mask counted from the shape of the past. concat-...: the same with
what --kv-capacity refuses, or in f16. genai, multi-head: operators of com.microsoft; genai-buffer..:
pasts of the capacity; ..-sinks: a score of each head beside those of keys.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent / "families"))
sys.path.insert(0, str(Path(__file__).resolve().parent / "models"))

WORDS, WIDTH, HEADS, SHARED, SIZE, CAPACITY = 61, 32, 4, 2, 8, 24
CHUNKS = {"chunks": 5, "static-chunks": 3, "pairs": 2}
WINDOWS = {"window": 3, "narrow": 1, "middle": 7, "wide": 22}
LOWEST = float(np.finfo("f4").min)


class Graph:
    def __init__(self):
        self.nodes, self.initializers, self.random = [], [], np.random.default_rng(0)

    def constant(self, value):
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def int(self, value):
        return self.constant(np.array(value, np.int64))

    def weight(self, *shape):
        return self.constant(self.random.standard_normal(shape).astype("f4") / np.sqrt(np.float32(shape[0])))

    def add(self, op, *inputs, name=None, **attributes):
        name = name or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], f"{op}_{name}", **attributes))
        return name


def length(g, x, axis):
    return g.add("Gather", g.add("Shape", x), g.int(axis))


def heads(g, x, count):
    return g.add("Transpose", g.add("Reshape", x, g.ints(0, 0, count, SIZE)), perm=[0, 2, 1, 3])


def repeated(g, x):
    """Each head twice."""
    total = g.add("Unsqueeze", length(g, x, 2), g.ints(0))
    shape = g.add("Concat", g.ints(1, SHARED, HEADS // SHARED), total, g.ints(SIZE), axis=0)
    x = g.add("Expand", g.add("Unsqueeze", x, g.ints(2)), shape)
    return g.add("Reshape", x, g.ints(1, HEADS, -1, SIZE))


def mask(g, queries, keys, kind):
    """0 for keys that a query sees, the lowest number for others."""
    queries, keys = g.add("Unsqueeze", queries, g.ints(1)), g.add("Unsqueeze", keys, g.ints(0))
    seen = g.add("Not", g.add("Less", queries, keys))
    if kind in WINDOWS:
        seen = g.add("And", seen, g.add("Less", queries, g.add("Add", keys, g.int(WINDOWS[kind]))))
    if kind in CHUNKS:
        chunks = (g.add("Div", x, g.int(CHUNKS[kind])) for x in (queries, keys))
        seen = g.add("And", seen, g.add("Equal", *chunks))
    if kind == "first":
        near = g.add("Less", queries, g.add("Add", keys, g.int(3)))
        seen = g.add("And", seen, g.add("Or", near, g.add("Less", keys, g.int(2))))
    if kind == "both":
        seen = g.add("Or", seen, g.add("Less", queries, keys))
    return g.add("Where", seen, g.constant(np.float32(0)), g.constant(np.float32(LOWEST)))


def scattered(g, kind, past, new, present):
    """The past with what is new in the places of the call."""
    if kind == "static-elements":
        places = g.add("Expand", g.add("Reshape", "cache_position", g.ints(1, 1, -1, 1)), g.add("Shape", new))
        return g.add("ScatterElements", past, places, new, axis=2, name=present)
    places = "cache_position"
    if kind == "static-behind":
        places = g.add("Min", g.add("Add", places, g.int(1)), g.int(CAPACITY - 1))
    past, new = (g.add("Transpose", x, perm=[2, 0, 1, 3]) for x in (past, new))
    written = g.add("ScatterND", past, g.add("Unsqueeze", places, g.ints(1)), new,
                    **({"reduction": "add"} if kind == "static-add" else {}))
    return g.add("Transpose", written, perm=[1, 2, 0, 3], name=present)


def concat(kind):
    g = Graph()
    is_static = kind.startswith("static")
    past, tokens = length(g, "past_key_values.0.key", 2), length(g, "input_ids", 1)
    total = past if is_static else g.add("Add", past, tokens)
    queries, keys = (g.add("Range", start, total, g.int(1)) for start in (past, g.int(0)))
    if is_static:
        queries = "cache_position"
    x = g.add("Add", g.add("Gather", g.weight(WORDS, WIDTH), "input_ids"),
              g.add("Gather", g.weight(64, WIDTH), queries))
    if kind == "length":
        x = g.add("Mul", x, g.add("Cast", total, to=TensorProto.FLOAT))
    q = heads(g, g.add("MatMul", x, g.weight(WIDTH, HEADS * SIZE)), HEADS)
    kept = []
    for name in ("key", "value"):
        new = heads(g, g.add("MatMul", x, g.weight(WIDTH, SHARED * SIZE)), SHARED)
        parts, present = (f"past_key_values.0.{name}", new), f"present.0.{name}"
        kept.append(scattered(g, kind, *parts, present) if is_static else g.add("Concat", *parts, axis=2, name=present))
    k, v = (repeated(g, x) for x in kept)
    scores = g.add("Mul", g.add("MatMul", q, g.add("Transpose", k, perm=[0, 1, 3, 2])),
                   g.constant(np.float32(SIZE**-0.5)))
    if kind == "bias":
        slopes = g.constant(np.float32([0.5, 0.25, 0.125, 0.0625]).reshape(1, HEADS, 1, 1))
        scores = g.add("Add", scores, g.add("Mul", g.add("Cast", keys, to=TensorProto.FLOAT), slopes))
    if kind == "softcap":
        cap = g.constant(np.float32(20))
        scores = g.add("Mul", g.add("Tanh", g.add("Div", scores, cap)), cap)
    scores = g.add("Add", scores, mask(g, queries, keys, kind))
    y = g.add("MatMul", g.add("Softmax", scores, axis=-1), v)
    if kind == "read":
        y = g.add("Add", y, g.add("ReduceMean", kept[1], g.ints(1, 2), keepdims=1))
    y = g.add("Reshape", g.add("Transpose", y, perm=[0, 2, 1, 3]), g.ints(0, 0, HEADS * SIZE))
    g.add("MatMul", g.add("Add", x, g.add("MatMul", y, g.weight(WIDTH, WIDTH))), g.weight(WIDTH, WORDS),
          name="logits")
    before = CAPACITY if is_static else 5 if kind == "fixed" else "past"
    caches = [("past_key_values.0." + name, TensorProto.FLOAT, ["batch", SHARED, before, SIZE])
              for name in ("key", "value")]
    made = [("present.0." + name, TensorProto.FLOAT, ["batch", SHARED, CAPACITY if is_static else "total", SIZE])
            for name in ("key", "value")]
    values = [[helper.make_tensor_value_info(*each) for each in group] for group in (
        [("input_ids", TensorProto.INT64, ["batch", "sequence"]),
         *([("cache_position", TensorProto.INT64, ["sequence"])] * is_static), *caches],
        [("logits", TensorProto.FLOAT, ["batch", "sequence", WORDS]), *made])]
    return helper.make_model(helper.make_graph(g.nodes, "g", *values, g.initializers), ir_version=10,
                             opset_imports=[helper.make_opsetid("", 18)])


def halved(model):
    """The same in f16."""
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).clip(-65504, 65504).astype("f2"),
                                                    tensor.name))
    for value in [*model.graph.input, *model.graph.output]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    return model


def looped(model):
    """The same with logits that go through a loop of two trips."""
    for node in model.graph.node:
        node.output[:] = ["before" if name == "logits" else name for name in node.output]
    one = [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("c", TensorProto.BOOL, []),
           helper.make_tensor_value_info("h", TensorProto.FLOAT, None)]
    made = [helper.make_tensor_value_info("c", TensorProto.BOOL, []), helper.make_tensor_value_info("t", TensorProto.FLOAT, None)]
    body = helper.make_graph([helper.make_node("Abs", ["h"], ["t"], "abs")], "body", one, made)
    model.graph.node.append(helper.make_node("Loop", ["trips", "", "before"], ["logits"], "again", body=body))
    model.graph.initializer.append(numpy_helper.from_array(np.int64(2), "trips"))
    return model


def fused(name, path):
    import fused_graphs

    fused_graphs.write(FUSED[name], path)
    model = onnx.load(path)
    for value in [*model.graph.input, *model.graph.output]:
        dims = value.type.tensor_type.shape.dim
        dims[0].dim_param = "batch"
        if not value.name.startswith(("past", "present")) and value.name != "attention_mask":
            dims[1].dim_param = "sequence"
        if name.startswith("genai-buffer") and value.name.startswith(("past", "present")):
            dims[2].dim_value = CAPACITY
    return model


FUSED = {"genai": "fused-genai.extend", "genai-int4": "fused-genai.int4",
         "genai-positions": "fused-genai.rotary-node", "multi-head": "fused-genai.multi-head",
         "genai-window": "fused-genai.window-softcap", "genai-buffer": "fused-genai.extend",
         "genai-sinks": "fused-gpt-oss.prompt-window", "genai-smooth": "fused-gpt-oss.prompt-smooth",
         "genai-buffer-sinks": "fused-gpt-oss.prompt-window", "genai-int4-sinks": "fused-gpt-oss.prompt-int4"}


def main():
    name, path = sys.argv[1], Path(sys.argv[2])
    model = fused(name, path) if name in FUSED else concat(name.partition("-")[2])
    model = halved(model) if name.endswith("half") else looped(model) if name.endswith("loop") else model
    onnx.save(model, path)


main()
