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

ENGINES = ["burst", "strips", "wavelet"]
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


NARROW = {T.INT8: "i1", T.UINT8: "u1", T.INT16: "i2", T.UINT16: "u2", T.UINT32: "u4"}


def narrow_models(random):
    """Types that 32 bits carry: all of their numbers, and what wraps."""
    for kind, code in NARROW.items():
        limits = np.iinfo(code)
        a, b = (random.integers(limits.min, limits.max, SHAPE, code, endpoint=True) for _ in "ab")
        a.flat[:2], b.flat[:2] = limits.max, limits.min
        if kind in (T.INT8, T.UINT8, T.UINT32):
            both = {"a": kind, "b": kind}
            for op in ("Add", "Sub", "Mul") if kind != T.UINT32 else ("Add", "Sub", "Mul", "Max", "Min"):
                # onnxruntime lacks some of these types: numpy wraps as ONNX does.
                function = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum,
                            "Min": np.minimum}[op]
                yield f"{op.lower()}-{code}", model([(op, ["a", "b"], "y")], both, kind), {
                    "a": a, "b": b}, function(a, b)
            divisor = np.where(b == 0, limits.max, b)
            floats = a.astype("f8") / divisor.astype("f8")
            yield f"div-{code}", model([("Div", ["a", "b"], "y")], both, kind), {"a": a, "b": divisor}, np.trunc(
                floats).astype("i8").astype(code)
            yield f"less-{code}", model([("Less", ["a", "b"], "y")], both, T.BOOL), {"a": a, "b": b}, a < b
        for target, narrow in NARROW.items():
            yield f"cast-{code}-{narrow}", model([("Cast", ["a"], "y", {"to": target})], {"a": kind}, target), {
                "a": a}, a.astype(narrow)
        yield f"float-{code}", model([("Cast", ["a"], "y", {"to": T.FLOAT})], {"a": kind}, T.FLOAT), {
            "a": a}, a.astype("f4")
    bytes_ = random.integers(0, 256, SHAPE, "u1")
    bytes_.flat[3] = 0
    yield "min-u1", model([("ReduceMin", ["a", "axes"], "y")], {"a": T.UINT8}, T.UINT8, [5, 1], [("axes", [1])]), {
        "a": bytes_}, bytes_.min(1, keepdims=True)
    close = (2**24 + random.integers(0, 9, SHAPE)).astype("i4")
    for op, function in ("ArgMin", np.argmin), ("ArgMax", np.argmax):
        yield op.lower(), model([(op, ["a"], "y", {"axis": 1})], {"a": T.INT32}, T.INT64, [5, 1]), {
            "a": close}, function(close, 1, keepdims=True).astype("i8")
    a, b = random.integers(-99, 99, SHAPE), random.integers(1, 9, SHAPE) * random.choice([-1, 1], SHAPE)
    yield "mod", model([("Mod", ["a", "b"], "y")], {"a": T.INT64, "b": T.INT64}, T.INT64), {"a": a, "b": b}, None
    x = (random.standard_normal(SHAPE) * 10.0**random.integers(-3, 9, SHAPE)).astype("f4")
    y = (random.standard_normal(SHAPE) * 10.0**random.integers(-2, 2, SHAPE)).astype("f4")
    x.flat[:4], y.flat[:4] = [3, np.inf, 5, -7], [np.inf, 2, 0, 7]
    floats = {"a": T.FLOAT, "b": T.FLOAT}
    with np.errstate(invalid="ignore"):
        yield "fmod", model([("Mod", ["a", "b"], "y", {"fmod": 1})], floats, T.FLOAT), {"a": x, "b": y}, np.fmod(x, y)
    words, shifts = random.integers(0, 2**32, SHAPE, "u4"), random.integers(0, 32, SHAPE, "u4")
    shifts.flat[0] = 31
    for direction, function in ("LEFT", np.left_shift), ("RIGHT", np.right_shift):
        yield f"shift-{direction.lower()}", model([("BitShift", ["a", "b"], "y", {"direction": direction})], {
            "a": T.UINT32, "b": T.UINT32}, T.UINT32), {"a": words, "b": shifts}, function(words, shifts)
    whole = {"a": T.UINT64, "b": T.UINT64}
    yield "sub-u8-negative", model([("Sub", ["a", "b"], "s"), ("Less", ["s", "a"], "y")], whole, T.BOOL), {
        "a": np.full(SHAPE, 5, "u8"), "b": np.full(SHAPE, 7, "u8")}, "IntegerError"
    yield "cast-u4-i8", model([("Cast", ["a"], "y", {"to": T.INT64})], {"a": T.UINT32}, T.INT64), {
        "a": np.full(SHAPE, 2**31, "u4")}, "IntegerError"


def lookup_models(random):
    """Places that the wafer computes."""
    table = [("table", random.standard_normal((9, 4)).astype("f4")), ("two", np.int64(2)), ("one", np.int64(1))]
    ids = random.integers(-4, 4, SHAPE)
    places = [("Mul", ["a", "two"], "m"), ("Add", ["m", "one"], "p")]

    def looks_up(*nodes, output=T.FLOAT, shape=None):
        return model([*places, *nodes], {"a": T.INT64}, output, shape, table)

    yield "gather", looks_up(("Gather", ["table", "p"], "y"), shape=SHAPE + [4]), {"a": ids}, None
    outside = np.array(ids)
    outside[2, 3] = 5
    yield "gather-outside", looks_up(("Gather", ["table", "p"], "y"), shape=SHAPE + [4]), {"a": outside}, "BadTensor"
    x = {"x": T.FLOAT, "i": T.INT64}
    data = random.standard_normal(SHAPE).astype("f4")
    data[1, 2], data[3, 3] = np.nan, np.inf
    inside = random.integers(-5, 5, SHAPE)
    for axis in (0, 1):
        yield f"elements-{axis}", model([("GatherElements", ["x", "i"], "y", {"axis": axis})], x, T.FLOAT), {
            "x": data, "i": inside}, None
    beyond = np.array(inside)
    beyond[4, 6] = 5
    # Inside of the tensor as a number of an element, outside of its dimension.
    yield "elements-outside", model([("GatherElements", ["x", "i"], "y", {"axis": 0})], x, T.FLOAT), {
        "x": data, "i": beyond}, "BadTensor"
    rows = np.array([[0], [-1], [2], [2], [1]])
    yield "scatter", scatter("ScatterND", "none"), {"x": data, "i": rows, "u": data[::-1] * 2}, None
    yield "scatter-outside", scatter("ScatterND", "none"), {"x": data, "i": rows + 4, "u": data}, "BadTensor"
    finite = np.round(np.nan_to_num(data, nan=1, posinf=2) * 8) / 8  # no sum or product rounds
    for reduction in ("add", "mul", "max", "min"):
        yield f"scatter-{reduction}", scatter("ScatterND", reduction), {"x": finite, "i": rows, "u": finite * 2}, None


def scatter(op, reduction):
    graph = h.make_graph([h.make_node(op, ["x", "i", "u"], ["y"], name="y", reduction=reduction)], "g",
                         [h.make_tensor_value_info("x", T.FLOAT, SHAPE), h.make_tensor_value_info("i", T.INT64, [5, 1]),
                          h.make_tensor_value_info("u", T.FLOAT, SHAPE)],
                         [h.make_tensor_value_info("y", T.FLOAT, SHAPE)])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=9)


def models():
    """Name, model, inputs, and the outcome (`check`)."""
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
    yield from narrow_models(random)
    yield from lookup_models(random)
    yield "add-wraps", two("Add"), {"a": np.full(SHAPE, 2**31 - 1), "b": np.full(SHAPE, 1)}, "IntegerError"
    yield "multiply-wraps", two("Mul"), binary, "IntegerError"
    yield "sum-wraps", reduction("ReduceSum", 0, [1, 7]), {"a": np.full(SHAPE, 2**30)}, "IntegerError"
    yield "quotient-wraps", two("Div"), {"a": np.full(SHAPE, -2**31), "b": np.full(SHAPE, -1)}, "IntegerError"
    yield "power", two("Pow"), {"a": small % 100, "b": np.full(SHAPE, 3)}, None
    narrow = {"a": T.INT32, "b": T.INT32}
    powers = {"a": random.integers(-9, 9, SHAPE, "i4"), "b": random.integers(0, 40, SHAPE, "i4")}
    yield "power-wraps", model([("Pow", ["a", "b"], "y")], narrow, T.INT32), powers, powers["a"]**powers["b"]
    yield "power-fraction", two("Pow"), {"a": np.resize([2, 1, -1, -3], SHAPE), "b": np.resize([-1, -5, -3, 0], SHAPE)}, \
        np.resize([0, 1, -1, 1], SHAPE)
    yield "power-reciprocal", model([("Pow", ["a", "c"], "y")], wide, T.INT64, None, [("c", np.int64(-1))]), {
        "a": np.resize([2, 1, -1, -3], SHAPE)}, np.resize([0, 1, -1, 0], SHAPE)
    real = {"a": T.INT32, "b": T.FLOAT}
    yield "power-real", model([("Pow", ["a", "b"], "y")], real, T.INT32), {
        "a": np.resize([2, 9, 5, -3, 3], SHAPE).astype("i4"), "b": np.resize([0.5, 1.5, 3, 3, -0.5], SHAPE).astype("f4")}, \
        np.resize([1, 27, 125, -27, 0], SHAPE).astype("i4")
    yield "power-real-beyond", model([("Pow", ["a", "b"], "y")], real, T.INT32), {
        "a": np.full(SHAPE, 7, "i4"), "b": np.full(SHAPE, 9, "f4")}, "IntegerError"
    yield "power-beyond", two("Pow"), {"a": np.full(SHAPE, 7), "b": np.full(SHAPE, 12)}, "IntegerError"
    distances = np.array(np.arange(35).reshape(SHAPE), "f4")
    # Sums of 16 bits would be off, or infinite.
    table = random.integers(-128, 128, (64, 7), "i1")
    product = model([("MatMulInteger", ["a", "w"], "y")], {"a": T.INT8}, T.INT32, None, [("w", table)])
    product.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 64
    for precision in "f16", "bf16":
        yield f"exact-{precision}", product, {"a": np.full((5, 64), 127, "i1")}, None, f"--precision={precision}"
        yield f"places-{precision}", model([("ArgMax", ["a"], "i", {"axis": 1}), ("Cast", ["i"], "y", {"to": T.FLOAT})], {
            "a": T.FLOAT}, T.FLOAT, [5, 1]), {"a": distances % 6}, None, f"--precision={precision}"
    # More terms than f32 sums exactly; each column of the weights has its zero point.
    weights, zeros = random.integers(0, 256, (600, 7), "u1"), random.integers(0, 256, 7, "u1")
    product = model([("MatMulInteger", ["a", "w", "", "z"], "y")], {"a": T.UINT8}, T.INT32, None,
                    [("w", weights), ("z", zeros)])
    product.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 600
    for precision in "f32", "f16":
        yield f"weights-{precision}", product, {"a": random.integers(250, 256, (5, 600), "u1")}, None, (
            f"--precision={precision}")
    # As positions of long-range encoders: nobody takes the integer of log(0).
    buckets = [("Log", ["a"], "l"), ("Cast", ["l"], "i", {"to": T.INT64}), ("Greater", ["a", "z"], "g"),
               ("Where", ["g", "i", "o"], "y")]
    yield "log-of-zero", model(buckets, {"a": T.FLOAT}, T.INT64, None, [("z", np.float32(0)), ("o", np.int64(-7))]), {
        "a": distances}, None
    floats = {"a": T.FLOAT, "b": T.FLOAT}
    remainder = model([("Mod", ["a", "b"], "y", {"fmod": 1})], floats, T.FLOAT)
    yield "far-remainder", remainder, {"a": np.full(SHAPE, 1e20, "f4"), "b": np.full(SHAPE, 7, "f4")}, "IntegerError"
    yield "input-bool", model([("Cast", ["a"], "c", {"to": T.INT64}), ("Add", ["c", "c"], "y")], {"a": T.BOOL},
                              T.INT64), {"a": large > 0}, None
    yield "divide-by-zero", two("Div"), {"a": large, "b": small * 0}, "divides by zero"
    yield "beyond-input", two("Add"), {"a": large + 2**31, "b": small}, "BadTensor"
    yield "beyond-cast", unary("Cast", kind=T.FLOAT, to=T.INT64), {"a": np.full(SHAPE, 3e9, "f4")}, "IntegerError"


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr or "no message"


def check(work, mesh, name, graph, inputs, outcome, *flags):
    """`outcome`: what the error says, the result, or nothing where it is onnxruntime's."""
    error = outcome if isinstance(outcome, str) else None
    path, feed = work / f"{name}.onnx", work / f"{name}.npz"
    onnx.save(graph, path)
    np.savez(feed, **inputs)
    program = work / f"{name}.wafer"
    refused = run(["wsec", path, "-o", program, f"--mesh={mesh}", "--quiet", *flags])
    if refused:
        return refused
    expected = outcome
    if outcome is None:
        expected = onnxruntime.InferenceSession(path).run(None, inputs)[0]
    for engine in ENGINES:
        outputs = work / f"{engine}.npz"
        said = run(["wse-run", program, "--inputs", feed, "--outputs", outputs, f"--engine={engine}", "--quiet"])
        if error or said:
            if not error or error not in said:
                return f"{engine}: {said or 'no error'}"
            continue
        with np.load(outputs) as file:
            found = file["y"]
        if found.dtype != expected.dtype or not np.array_equal(
                found, expected, equal_nan=found.dtype.kind == "f"):
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
