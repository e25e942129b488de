# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers on the wafer, equal to onnxruntime's; what 32 bits do not hold ends the run by name.

Usage: integer_models.py WORK [--mesh WxH ...]. Each model is compiled for each mesh and run by all engines; a line each.
"""

import argparse
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper as h

ENGINES = ["burst", "strips", "streams", "wavelet"]
SHAPE = [5, 7]


def model(nodes, inputs, output, shape=None, initializers=()):
    """Nodes are (operator, operands, result[, attributes]); inputs name: type."""
    graph = h.make_graph([h.make_node(op, x, [y], name=y, **dict(*more)) for op, x, y, *more in nodes], "g",
                         [h.make_tensor_value_info(name, kind, SHAPE) for name, kind in inputs.items()],
                         [h.make_tensor_value_info("y", output, shape or SHAPE)],
                         [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in initializers])
    result = h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(result)
    return result


def models():
    """Name, model, inputs, and what the run's error says where it fails."""
    random = np.random.default_rng(1)
    large = random.integers(-2**30, 2**30, SHAPE)
    near = large + random.integers(-1, 2, SHAPE)
    small = random.integers(1, 40000, SHAPE) * random.choice([-1, 1], SHAPE)
    both, wide = {"a": T.INT64, "b": T.INT64}, {"a": T.INT64}
    binary = {"a": large, "b": small}

    def two(op, output=T.INT64, **attributes):
        return model([(op, ["a", "b"], "y", attributes)], both, output)

    def unary(op, output=T.INT64, kind=T.INT64, **attributes):
        return model([(op, ["a"], "y", attributes)], {"a": kind}, output)

    def reduction(op, axis, shape):
        return model([(op, ["a", "axes"], "y")], wide, T.INT64, shape, [("axes", [axis])])

    yield "add", two("Add"), {"a": np.full(SHAPE, 16777217), "b": np.full(SHAPE, 1)}, None
    yield "constants", model([("Sub", ["a", "c"], "d"), ("Add", ["d", "v"], "y")], wide, T.INT64, None,
                             [("c", np.int64(-123456789)), ("v", np.arange(7) * 16777217)]), {"a": large}, None
    yield "divide", two("Div"), binary, None
    yield "multiply", two("Mul"), {"a": small, "b": small}, None
    yield "wrap", model([("Mul", ["a", "b"], "y")], {"a": T.INT32, "b": T.INT32}, T.INT32), {
        "a": large.astype("i4"), "b": small.astype("i4")}, None
    yield "less", two("Less", T.BOOL), {"a": large, "b": near}, None
    yield "equal", model([("Equal", ["a", "b"], "e"), ("Cast", ["e"], "i", {"to": T.INT64}), ("Mul", ["i", "a"], "y")],
                         both, T.INT64), {"a": large, "b": near}, None
    yield "where", model([("Greater", ["a", "b"], "g"), ("Where", ["g", "a", "b"], "w"), ("Neg", ["w"], "n"),
                          ("Abs", ["n"], "m"), ("Max", ["m", "a"], "y")], both, T.INT64), {"a": large, "b": near}, None
    yield "from-float", unary("Cast", kind=T.FLOAT, to=T.INT64), {
        "a": (random.standard_normal(SHAPE) * 1e8).astype("f4")}, None
    yield "to-float", unary("Cast", T.FLOAT, to=T.FLOAT), {"a": large}, None
    yield "sum-features", reduction("ReduceSum", 1, [5, 1]), {"a": large // 8}, None
    yield "sum-tokens", reduction("ReduceSum", 0, [1, 7]), {"a": large // 8}, None
    yield "max", reduction("ReduceMax", 0, [1, 7]), {"a": large}, None
    yield "transpose", model([("Add", ["a", "a"], "d"), ("Transpose", ["d"], "t"), ("Sub", ["t", "o"], "y")], wide,
                             T.INT64, [7, 5], [("o", np.int64(1))]), {"a": large // 4}, None
    yield "add-wraps", two("Add"), {"a": np.full(SHAPE, 2**31 - 1), "b": np.full(SHAPE, 1)}, "IntegerError"
    yield "multiply-wraps", two("Mul"), binary, "IntegerError"
    yield "sum-wraps", reduction("ReduceSum", 0, [1, 7]), {"a": np.full(SHAPE, 2**30)}, "IntegerError"
    yield "divide-by-zero", two("Div"), {"a": large, "b": small * 0}, "divides by zero"
    yield "beyond-input", two("Add"), {"a": large + 2**31, "b": small}, "BadTensor"
    yield "beyond-cast", unary("Cast", kind=T.FLOAT, to=T.INT64), {"a": np.full(SHAPE, 3e9, "f4")}, "IntegerError"


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr or "no message"


def check(work, mesh, name, graph, inputs, error):
    path, feed = work / f"{name}.onnx", work / f"{name}.npz"
    onnx.save(graph, path)
    np.savez(feed, **inputs)
    program = work / f"{name}.wafer"
    refused = run(["wsec", path, "-o", program, f"--mesh={mesh}", "--quiet"])
    if refused:
        return refused
    expected = None if error else onnxruntime.InferenceSession(path).run(None, inputs)[0]
    for engine in ENGINES:
        outputs = work / f"{engine}.npz"
        said = run(["wse-run", program, "--inputs", feed, "--outputs", outputs, f"--engine={engine}", "--quiet"])
        if error or said:
            if not error or error not in said:
                return f"{engine}: {said or 'no error'}"
            continue
        with np.load(outputs) as file:
            found = file["y"]
        if found.dtype != expected.dtype or not np.array_equal(found, expected):
            return f"{engine}: {found.ravel()[:4]} in place of {expected.ravel()[:4]}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--mesh", action="append", required=True)
    parser.add_argument("--only", action="append")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    good = True
    for mesh in options.mesh:
        for name, *rest in models():
            if options.only and name not in options.only:
                continue
            problem = check(options.work, mesh, name, *rest)
            good &= not problem
            print(f"{name} {mesh} {problem or 'ok'}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
