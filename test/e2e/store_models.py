# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that move elements through the store, against onnxruntime.

Usage: store_models.py WORK [--mesh WxH ...]. Each model is compiled for each mesh and run by all engines; a line each.
"""

import argparse
import pathlib

import numpy as np
import onnx
import onnxruntime
from commands import run
from onnx import TensorProto as T
from onnx import helper as h

ENGINES = ["burst", "strips", "wavelet"]


def model(nodes, inputs, outputs, initializers=()):
    graph = h.make_graph(
        nodes, "g", [h.make_tensor_value_info(*value) for value in inputs],
        [h.make_tensor_value_info(name, T.FLOAT, shape) for name, shape in outputs], list(initializers))
    result = h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(result)
    return result


def constant(name, values):
    return onnx.numpy_helper.from_array(np.asarray(values), name)


def models():
    random = np.random.default_rng(0)

    def normal(*shape):
        return random.standard_normal(shape).astype("f4")

    node = h.make_node
    yield "attention", model(
        [node("Tanh", ["x"], ["a"], name="a"), node("Reshape", ["a", "s"], ["r"], name="r"),
         node("Transpose", ["r"], ["t"], perm=[0, 2, 1, 3], name="t"),
         node("Transpose", ["t"], ["k"], perm=[0, 1, 3, 2], name="k"),
         node("MatMul", ["t", "k"], ["p"], name="p"), node("Softmax", ["p"], ["q"], name="q"),
         node("Abs", ["q"], ["y"], name="abs")],
        [("x", T.FLOAT, [2, 6, 8])], [("y", [2, 2, 6, 6])], [constant("s", [2, 6, 2, 4])]), {"x": normal(2, 6, 8)}
    # An overflow beside the slice stays where it was.
    yield "slice", model(
        [node("MatMul", ["x", "w"], ["a"], name="a"), node("Mul", ["a", "a"], ["b"], name="b"),
         node("Slice", ["b", "from", "to", "axis"], ["y"], name="y")],
        [("x", T.FLOAT, [1, 2])], [("y", [1, 1])],
        [constant("w", np.eye(2, dtype="f4")), constant("from", [0]), constant("to", [1]), constant("axis", [1])],
    ), {"x": np.array([[3, 1e20]], "f4")}
    yield "concat", model(
        [node("Tanh", ["x"], ["a"], name="a"), node("Transpose", ["a"], ["b"], perm=[1, 0, 2], name="b"),
         node("Concat", ["b", "z"], ["c"], axis=1, name="c"), node("Concat", ["c", "c"], ["d"], axis=2, name="d"),
         node("Relu", ["d"], ["y"], name="y")],
        [("x", T.FLOAT, [3, 5, 4]), ("z", T.FLOAT, [5, 2, 4])], [("y", [5, 5, 8])]), {
            "x": normal(3, 5, 4), "z": normal(5, 2, 4)}
    yield "reduce", model(
        [node("Tanh", ["x"], ["a"], name="a"), node("ReduceMax", ["a", "axes"], ["b"], name="b", keepdims=1),
         node("Sub", ["a", "b"], ["y"], name="y")],
        [("x", T.FLOAT, [3, 5, 4])], [("y", [3, 5, 4])], [constant("axes", [0, 2])]), {"x": normal(3, 5, 4)}
    yield "broadcast", model(
        [node("Tanh", ["x"], ["a"], name="a"), node("MatMul", ["z", "w"], ["b"], name="b"),
         node("Add", ["a", "b"], ["y"], name="y")],
        [("x", T.FLOAT, [3, 5, 4]), ("z", T.FLOAT, [3, 1, 4])], [("y", [3, 5, 4])],
        [constant("w", normal(4, 4))]), {"x": normal(3, 5, 4), "z": normal(3, 1, 4)}
    yield "products", model(
        [node("Tanh", ["x"], ["a"], name="a"), node("MatMul", ["a", "z"], ["y"], name="y")],
        [("x", T.FLOAT, [2, 1, 5, 4]), ("z", T.FLOAT, [3, 4, 7])], [("y", [2, 3, 5, 7])]), {
            "x": normal(2, 1, 5, 4), "z": normal(3, 4, 7)}
    yield "gather", model(
        [node("Tanh", ["x"], ["a"], name="a"), node("Gather", ["a", "ids"], ["y"], axis=1, name="y")],
        [("x", T.FLOAT, [2, 5, 4]), ("ids", T.INT64, [3])], [("y", [2, 3, 4])]), {
            "x": normal(2, 5, 4), "ids": np.array([4, 0, -2])}
    # Strides that no stream walks at once.
    yield "permute", model(
        [node("Transpose", ["x"], ["a"], perm=[4, 2, 0, 3, 1], name="a"), node("Relu", ["a"], ["y"], name="y")],
        [("x", T.FLOAT, [2, 3, 4, 3, 2])], [("y", [2, 4, 2, 3, 3])]), {"x": normal(2, 3, 4, 3, 2)}
    # What repeats is merged with what does not.
    yield "repeat", model(
        [node("Abs", ["x"], ["a"], name="a"), node("Expand", ["a", "wide"], ["b"], name="b"),
         node("Reshape", ["b", "flat"], ["c"], name="c"), node("Neg", ["c"], ["y"], name="y")],
        [("x", T.FLOAT, [2, 1, 4])], [("y", [6, 4])],
        [constant("wide", [2, 3, 4]), constant("flat", [6, 4])]), {"x": normal(2, 1, 4)}
    # Two heads of keys serve four of queries; a mask of keys a batch element.
    yield "grouped", model(
        [node("Reshape", ["x", "q4"], ["q0"], name="q0"), node("Transpose", ["q0"], ["q"], perm=[0, 2, 1, 3], name="q"),
         node("MatMul", ["x", "w"], ["k0"], name="k0"), node("Reshape", ["k0", "k4"], ["k1"], name="k1"),
         node("Transpose", ["k1"], ["k2"], perm=[0, 2, 1, 3], name="k2"),
         node("Unsqueeze", ["k2", "two"], ["k3"], name="k3"), node("Expand", ["k3", "k5"], ["k6"], name="k6"),
         node("Reshape", ["k6", "merged"], ["k"], name="k"), node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2], name="kt"),
         node("MatMul", ["q", "kt"], ["s"], name="s"), node("Add", ["s", "mask"], ["sm"], name="sm"),
         node("Softmax", ["sm"], ["p"], name="p"), node("MatMul", ["p", "k"], ["y"], name="y")],
        [("x", T.FLOAT, [2, 5, 16]), ("mask", T.FLOAT, [2, 1, 1, 5])], [("y", [2, 4, 5, 4])],
        [constant("w", normal(16, 8)), constant("q4", [2, 5, 4, 4]), constant("k4", [2, 5, 2, 4]), constant("two", [2]),
         constant("k5", [2, 2, 2, 5, 4]), constant("merged", [2, 4, 5, 4])]), {
             "x": normal(2, 5, 16), "mask": np.where(normal(2, 1, 1, 5) > 1, -1e9, 0).astype("f4")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--mesh", action="append", required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    for name, made, inputs in models():
        path = options.work / f"{name}.onnx"
        onnx.save(made, path)
        np.savez(path.with_suffix(".npz"), **inputs)
        expected = onnxruntime.InferenceSession(path).run(None, inputs)[0]
        for mesh in options.mesh:
            program = options.work / f"{name}-{mesh}.wafer"
            run(["wsec", path, "-o", program, f"--mesh={mesh}", "--quiet"])
            found = []
            for engine in ENGINES:
                output = options.work / "y.npy"
                run(["wse-run", program, "--inputs", path.with_suffix(".npz"), "--output", f"y={output}",
                    f"--engine={engine}", "--quiet"])
                found.append(np.load(output))
            np.testing.assert_allclose(found[0], expected, rtol=2e-6, atol=2e-6, err_msg=f"{name} on {mesh}")
            for engine, values in zip(ENGINES, found):
                np.testing.assert_array_equal(values, found[0], err_msg=f"{name} on {mesh}: {engine}")
            print(f"{name} {mesh} ok")


if __name__ == "__main__":
    main()
