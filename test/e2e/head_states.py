# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""States with heads first, [batch, heads, tokens, size], as exporters have caches: a
layer of attention against onnxruntime, call by call, in two entries.

usage: head_states.py --work FOLDER
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from wsec import program  # noqa: E402

WIDTH, HEADS, KEY_HEADS, SIZE, CAPACITY = 24, 4, 2, 6, 17


def write(path):
    random = np.random.default_rng(0)
    weights = {name: random.standard_normal((rows, columns), "f4") / 5 for name, rows, columns in (
        ("q", WIDTH, HEADS * SIZE), ("k", WIDTH, KEY_HEADS * SIZE), ("v", WIDTH, KEY_HEADS * SIZE), ("o", HEADS * SIZE, WIDTH))}
    nodes = []

    def node(operator, inputs, output, **attributes):
        nodes.append(helper.make_node(operator, inputs, [output], output, **attributes))
        return output
    byhead = {}
    for name, heads in (("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS)):
        split = node("Reshape", [node("MatMul", ["x", name], f"{name}/product"), f"{name}/shape"], f"{name}/split")
        byhead[name] = node("Transpose", [split], f"{name}/heads", perm=[0, 2, 1, 3])
    caches = [node("TensorScatter", [f"past_key_values.0.{word}", byhead[name], "cache_position"], f"present.0.{word}")
              for name, word in (("k", "key"), ("v", "value"))]
    length = node("Add", [node("Shape", ["x"], "tokens", start=1, end=2), "cache_position"], "length")
    mixed = node("Attention", [byhead["q"], *caches, "", "", "", length], "mixed", is_causal=1)
    joined = node("Reshape", [node("Transpose", [mixed], "tokens_first", perm=[0, 2, 1, 3]), "joined/shape"], "joined")
    node("MatMul", [joined, "o"], "y")
    shapes = {"q/shape": [0, -1, HEADS, SIZE], "k/shape": [0, -1, KEY_HEADS, SIZE], "v/shape": [0, -1, KEY_HEADS, SIZE],
              "joined/shape": [0, -1, WIDTH]}
    cache = [1, KEY_HEADS, CAPACITY, SIZE]

    def value(name, shape, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, shape)
    graph = helper.make_graph(
        nodes, "heads", [value("x", [1, "sequence", WIDTH]), value("cache_position", [1], TensorProto.INT64),
                         value("past_key_values.0.key", cache), value("past_key_values.0.value", cache)],
        [value("y", [1, "sequence", WIDTH]), value("present.0.key", cache), value("present.0.value", cache)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()]
        + [numpy_helper.from_array(np.array(shape), name) for name, shape in shapes.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11), path)


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--work", type=Path, required=True)
    words = words.parse_args()
    words.work.mkdir(parents=True, exist_ok=True)
    model, wafer = words.work / "m.onnx", words.work / "m.wafer"
    write(model)
    # Of 7 rows some get no token of a call, which strips then runs beside those it has kept.
    for mesh, engine in (("7x3", "wavelet"), ("7x7", "strips")):
        subprocess.run(["wsec", model, "-o", wafer, f"--mesh={mesh}", "--quiet", "--states", "--entry=one:sequence=1",
                        "--entry=some:sequence=5"], check=True)
        print(f"on {mesh}, {engine}")
        compare(model, program.load(wafer).session(engine=engine))


def compare(model, session):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    reference = onnxruntime.InferenceSession(model, options)
    random, position = np.random.default_rng(1), 0
    caches = {f"past_key_values.0.{word}": np.zeros((1, KEY_HEADS, CAPACITY, SIZE), "f4") for word in ("key", "value")}
    for tokens in (5, 1, 2, 3, 1, 1):
        # Behind the tokens of a chunk that is not full stands anything.
        entry, count = ("one", 1) if tokens == 1 else ("some", 5)
        x = random.standard_normal((1, count, WIDTH), "f4")
        y, *kept = reference.run(None, caches | {"x": x, "cache_position": np.array([position])})
        caches = dict(zip(caches, kept))
        made = session.run({"x": x}, entry=entry, arguments={"cache_position": position})["y"]
        difference = float(np.abs(made - y)[:, :tokens].max())
        print(f"{tokens} at {position}:", "equal" if difference < 1e-5 else f"differ by {difference:.2g}")
        position += tokens


main()
