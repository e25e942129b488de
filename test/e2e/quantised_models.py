# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with weights of 4 and 8 bits: what onnxruntime gives, with and without `wsec --expand-weights`. Few tokens, and
columns that share channels: weights travel packed, but of the models that say otherwise.

Usage: quantised_models.py WORK [--mesh WxH ...] [--engine NAME ...]. Each model is compiled for each mesh with and
without --expand-weights and run by all engines; a line each.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

ENGINES = ["strips", "wavelet"]
TOKENS, K, N = 3, 75, 44
# Of the largest result: sums of 75 products, added up in another order.
TOLERANCE = 1e-5
# onnxruntime and the wafer may round an activation of a QDQ model to neighbouring numbers of 255.
STEP = 2e-2


def model(nodes, initializers, shape=(1, TOKENS, K), result=(1, TOKENS, N), opset=21):
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, shape)],
                         [h.make_tensor_value_info("y", T.FLOAT, result)], initializers)
    imports = [h.make_opsetid("", opset), h.make_opsetid("com.microsoft", 1)]
    return h.make_model(graph, opset_imports=imports, ir_version=10)


def n_bits(random, bits, block, points, bias=False, groups=False):
    """MatMulNBits, as onnxruntime's quantisers write it."""
    blocks = -(-K // block)
    packed = random.integers(0, 256, (N, blocks, block * bits // 8), "u1")
    scales = (0.01 + 0.1 * random.random((N, blocks))).astype("f4")
    tensors = {"B": packed, "scales": scales.reshape(-1)}
    names = ["x", "B", "scales", "", "", ""]
    if points:
        tensors["points"] = random.integers(0, 256, N * -(-blocks * bits // 8), "u1")
        names[3] = "points"
    if groups:
        tensors["groups"] = (np.arange(K) // block).astype("i4")
        names[4] = "groups"
    if bias:
        tensors["bias"] = random.standard_normal(N).astype("f4")
        names[5] = "bias"
    while not names[-1]:
        names.pop()
    node = h.make_node("MatMulNBits", names, ["y"], name="fc", domain="com.microsoft", K=K, N=N, bits=bits,
                       block_size=block)
    return model([node], [numpy_helper.from_array(value, name) for name, value in tensors.items()])


def integers(name, kind, values):
    """Small types by make_tensor, which packs them."""
    return h.make_tensor(name, kind, values.shape, values.reshape(-1).tolist())


def dequantized(random, kind, scales_shape, transposed=False, **attributes):
    low, high = {T.INT4: (-8, 8), T.UINT4: (0, 16), T.INT8: (-128, 128), T.UINT8: (0, 256)}[kind]
    shape = (N, K) if transposed else (K, N)
    tensors = [integers("w", kind, random.integers(low, high, shape)),
               numpy_helper.from_array((0.01 + 0.1 * random.random(scales_shape)).astype("f4"), "s"),
               integers("z", kind, random.integers(low, high, scales_shape))]
    nodes = [h.make_node("DequantizeLinear", ["w", "s", "z"], ["f"], name="dq", **attributes)]
    if transposed:
        nodes += [h.make_node("Transpose", ["f"], ["t"], name="t", perm=[1, 0])]
    nodes += [h.make_node("MatMul", ["x", "t" if transposed else "f"], ["y"], name="fc")]
    return model(nodes, tensors)


def table(random, kind, bits, points):
    """GatherBlockQuantized: rows of a table, at the places of the largest inputs."""
    blocks, in_bytes = -(-N // 16), kind == T.UINT8 and bits == 4
    shape, zeros = (K, N // 2 if in_bytes else N), (K, -(-blocks // 2) if in_bytes else blocks)
    low, high = (-8, 8) if kind == T.INT4 else (0, 16 if kind == T.UINT4 else 256)
    tensors = [integers("w", kind, random.integers(low, high, shape)),
               numpy_helper.from_array((0.01 + 0.1 * random.random((K, blocks))).astype("f4"), "s")]
    if points:
        tensors.append(integers("z", kind, random.integers(low, high, zeros)))
    nodes = [h.make_node("ArgMax", ["x"], ["ids"], name="largest", axis=2, keepdims=0),
             h.make_node("GatherBlockQuantized", ["w", "ids", "s"] + ["z"] * points, ["y"], name="table",
                         domain="com.microsoft", bits=bits, block_size=16, gather_axis=0, quantize_axis=1)]
    return model(nodes, tensors)


def two_layers(random, work):
    weights = {"w": random.standard_normal((K, N)), "v": random.standard_normal((N, N)), "b": random.standard_normal(N)}
    nodes = [h.make_node("MatMul", ["x", "w"], ["p"], name="fc"), h.make_node("Add", ["p", "b"], ["a"], name="bias"),
             h.make_node("Relu", ["a"], ["r"], name="relu"), h.make_node("MatMul", ["r", "v"], ["y"], name="out")]
    path = work / "float.onnx"
    onnx.save(model(nodes, [numpy_helper.from_array(value.astype("f4"), name) for name, value in weights.items()],
                    opset=17), path)
    return path


def dynamic(random, work):
    """What quantize_dynamic makes of them: activations are quantised in each run, products are of integers."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(two_layers(random, work), work / "dynamic.onnx", weight_type=QuantType.QInt8)
    return onnx.load(work / "dynamic.onnx")


def static(random, work, per_channel):
    """What quantize_static makes of two layers: pairs of QuantizeLinear and DequantizeLinear around each."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):
        left = [{"x": random.standard_normal((1, TOKENS, K)).astype("f4")} for _ in range(4)]

        def get_next(self):
            return self.left.pop() if self.left else None

    quantize_static(two_layers(random, work), work / "static.onnx", Reader(), quant_format=QuantFormat.QDQ,
                    per_channel=per_channel, weight_type=QuantType.QInt8)
    return onnx.load(work / "static.onnx")


def models(random, work):
    yield "int4", n_bits(random, 4, 32, False), TOLERANCE
    yield "int4-points-bias", n_bits(random, 4, 16, True, bias=True), TOLERANCE
    yield "int4-groups", n_bits(random, 4, 64, False, groups=True), TOLERANCE
    yield "int8", n_bits(random, 8, 32, False), TOLERANCE
    yield "int8-points", n_bits(random, 8, 16, True), TOLERANCE
    yield "dequantized-int4-blocks", dequantized(random, T.INT4, (3, N), axis=0, block_size=25), TOLERANCE
    yield "dequantized-uint4-axis", dequantized(random, T.UINT4, (N,), axis=1), TOLERANCE
    yield "dequantized-uint8-blocks", dequantized(random, T.UINT8, (N, 5), True, axis=1, block_size=16), TOLERANCE
    yield "dequantized-int8-axis", dequantized(random, T.INT8, (N,), True, axis=0), TOLERANCE
    yield "dequantized-int8-tensor", dequantized(random, T.INT8, ()), TOLERANCE
    # A scale for each input feature: PEs make no f32 of that.
    yield "dequantized-int8-inputs", dequantized(random, T.INT8, (K,), axis=0), TOLERANCE
    yield "table-int4", table(random, T.INT4, 4, False), 0
    yield "table-uint4-points", table(random, T.UINT4, 4, True), 0
    yield "table-bytes", table(random, T.UINT8, 4, False), 0
    yield "table-bytes-points", table(random, T.UINT8, 4, True), 0
    yield "table-uint8", table(random, T.UINT8, 8, False), 0
    yield "static", static(random, work, False), STEP
    yield "static-per-channel", static(random, work, True), STEP
    yield "dynamic", dynamic(random, work), TOLERANCE


def run(work, command):
    result = subprocess.run(command, capture_output=True, text=True, cwd=work)
    if result.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {(result.stderr + result.stdout)[:1500]}")


def execute(work, form, mesh, engine):
    run(work, ["wse-run", f"{form}.wafer", f"--engine={engine}", "--quiet", "--input", "x=x.npy", "--output",
               f"y={form}.npy", f"--report={form}.json"])
    report = json.loads((work / f"{form}.json").read_text())
    return np.load(work / f"{form}.npy"), report["cycles"]["total"], report["weights"]["streamed_bytes"]


def check(work, mesh, engines, reference, tolerance):
    for form, flags in {"packed": [], "f32": ["--expand-weights"]}.items():
        run(work, ["wsec", "m.onnx", f"--mesh={mesh}", "-o", f"{form}.wafer", "--quiet", *flags])
    found = {}
    for engine in engines:
        packed, cycles, sent = execute(work, "packed", mesh, engine)
        f32, f32_cycles, f32_sent = execute(work, "f32", mesh, engine)
        found[engine] = packed.tobytes()
        for result in packed, f32:
            error = np.abs(result - reference).max() / np.abs(reference).max()
            if error > tolerance:
                raise RuntimeError(f"{engine}: error {error:.1e}")
        # Another variant adds up in another order.
        if sent == f32_sent and packed.tobytes() != f32.tobytes():
            raise RuntimeError(f"{engine}: --expand-weights gives other bits")
    if len(set(found.values())) > 1:
        raise RuntimeError("the engines differ")
    return f"{'packed' if sent < f32_sent else 'f32'} ok: {f32_sent} B -> {sent} B, {f32_cycles:.0f} -> {cycles:.0f} cycles"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--mesh", action="append")
    parser.add_argument("--engine", action="append")
    parser.add_argument("--only")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    random, failed = np.random.default_rng(3), False
    for name, proto, tolerance in models(random, arguments.work):
        x = random.standard_normal((1, TOKENS, K)).astype("f4")
        if arguments.only and arguments.only != name:
            continue
        work = arguments.work / name
        work.mkdir(exist_ok=True)
        onnx.save(proto, work / "m.onnx")
        np.save(work / "x.npy", x)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(work / "m.onnx", options)
        reference = session.run(None, {"x": x})[0]
        for mesh in arguments.mesh or ["5x3"]:
            try:
                verdict = check(work, mesh, arguments.engine or ENGINES, reference, tolerance)
            except RuntimeError as problem:
                verdict, failed = f"FAILED: {problem}", True
            print(f"{name} {mesh} {verdict}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
