#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What 16 bits save: a perceptron in f32, f16, cb16 and bf16 on the same PEs.

  check_precision.py --mesh 64x8 [--tokens 8] [--features 129] [--sram] [--work DIR]

Weights of 16 bits come two to a word, so that half the bytes stream, and cycles
fall, and with --sram the SRAM peak (of few features code is the most of it);
biases stay f32. Outputs are held against numpy in f64,
which is to be as far off as the run's report says, and the engines against each
other, bit by bit. Exit code 0 or 1.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).parent))
from commands import run  # noqa: E402

# Of the largest value: each of four roundings (inputs, weights, activations,
# the result) is half a unit in the last place, and sums of them have both signs.
TOLERANCES = {"f32": 1e-5, "f16": 4 * 2.0**-11, "cb16": 4 * 2.0**-10, "bf16": 4 * 2.0**-8}


def write_model(work, tokens, features):
    random = np.random.default_rng(0)
    hidden, results = features + 63, features - 2  # odd and even numbers of lines
    first = random.standard_normal((features, hidden)) / np.sqrt(features)
    second = random.standard_normal((hidden, results)) / np.sqrt(hidden)
    values = {"w1": first, "b1": random.standard_normal(hidden),
              "w2": second, "b2": random.standard_normal(results)}
    values = {name: array.astype(np.float32) for name, array in values.items()}
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], name="fc1"),
        helper.make_node("Relu", ["h"], ["r"], name="relu"),
        helper.make_node("Gemm", ["r", "w2", "b2"], ["y"], name="fc2"),
    ]
    graph = helper.make_graph(
        nodes, "perceptron",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [tokens, features])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [tokens, results])],
        [numpy_helper.from_array(array, name) for name, array in values.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, work / "model.onnx")
    x = random.standard_normal((tokens, features)).astype(np.float32)
    np.save(work / "x.npy", x)
    wide = {name: array.astype(np.float64) for name, array in values.items()}
    y = np.maximum(x @ wide["w1"] + wide["b1"], 0) @ wide["w2"] + wide["b2"]
    np.save(work / "y.npy", y.astype(np.float32))
    return y, 4 * (first.size + second.size), 4 * (hidden + results)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mesh", required=True)
    parser.add_argument("--tokens", type=int, default=8)
    parser.add_argument("--features", type=int, default=129)
    parser.add_argument("--sram", action="store_true")
    parser.add_argument("--work", type=Path, default=Path("."))
    options = parser.parse_args()
    work = options.work
    work.mkdir(parents=True, exist_ok=True)
    expected, matrices, vectors = write_model(work, options.tokens, options.features)
    largest = np.abs(expected).max()
    faults, reports = [], {}
    for precision, tolerance in TOLERANCES.items():
        wafer = work / f"{precision}.wafer"
        run(["wsec", work / "model.onnx", "-o", wafer, f"--mesh={options.mesh}", "--quiet",
             f"--precision={precision}", f"--report={work / 'compiled.json'}"])
        stated = json.loads((work / "compiled.json").read_text())["precision"]
        streamed = stated["streamed_bytes"]
        run(["wse-run", wafer, "--input", f"x={work / 'x.npy'}", "--engine=wavelet",
             "--output", f"y={work / 'out.npy'}", "--compare", f"y={work / 'y.npy'}",
             "--atol", str(tolerance * largest), f"--report={work / 'ran.json'}", "--quiet"])
        report = json.loads((work / "ran.json").read_text())
        reports[precision] = report
        error = report["errors"][0]
        measured = np.abs(np.load(work / "out.npy") - expected).max()
        if (stated["format"], stated["accumulate"]) != (precision, "f32") or \
                stated["elements_per_word"] != (1 if precision == "f32" else 2):
            faults.append(f"the report of {precision} says {stated}")
        # The last of an odd number of lines comes twice, in one word.
        most = (1 if precision == "f32" else 1.02) * matrices + vectors
        if not matrices + vectors <= streamed["in_f32"] <= most or \
                streamed["here"] != report["weights"]["streamed_bytes"]:
            faults.append(f"the report of {precision} says {stated}, of {matrices + vectors} bytes")
        its = report["precision"]
        if {**its, "error": None} != {**stated, "error": None} or \
                abs(its["error"]["max"] * largest - measured) > 1e-6 * largest or \
                abs(its["error"]["rms"] * largest - error["rms"]) > 1e-6 * largest:
            faults.append(f"{precision}: the run says {its}")
        if abs(error["max_abs"] - measured) > 1e-6 * largest:
            faults.append(f"{precision}: error {measured}, the report says {error['max_abs']}")
        print(f"{precision} {report['weights']['streamed_bytes']} bytes, "
              f"{report['cycles']['total']} cycles, SRAM {report['sram']['peak_bytes']}, "
              f"error {error['max_abs'] / largest:.1e} rms {error['rms'] / largest:.1e}")
    for precision in ("f16", "cb16", "bf16"):
        report = reports[precision]
        # Of an odd number of lines the last comes alone, in words half used.
        most = (matrices / 2) * 1.02 + vectors
        if report["weights"]["streamed_bytes"] > most:
            faults.append(f"{precision} streams more than {most} bytes")
        falling = [("cycles", "total")] + [("sram", "peak_bytes")] * options.sram
        for what, part in falling:
            if report[what][part] >= reports["f32"][what][part]:
                faults.append(f"{precision}: no fewer {what} than f32")
    errors = [reports[precision]["errors"][0]["rms"] for precision in TOLERANCES]
    if errors != sorted(set(errors)):
        faults.append("errors do not grow from f32 to f16 to cb16 to bf16")
    for fault in faults:
        print("FAIL", fault)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
