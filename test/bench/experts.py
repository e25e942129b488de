#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cycles of a mixture of experts, beside the time in which the weights that it needs stream.

  experts.py --check       are the predictions those of experts.md, within 2 %, and what the engine counts within 5 % of them
  experts.py --update      writes experts.md

A model is a router, onnxruntime's MoE of three products (SiLU, two of eight experts) and what adds the result to the tokens; all of
its kernels count, with tokens that come from the host and results that go back. Predicted: weights are absent, for no cycle
depends on them. Counted: random ones, on the strips engine, and values as NumPy has them."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

HERE = Path(__file__).parent
TABLE = HERE / "experts.md"
BIN = Path(os.environ.get("WSEC_BIN", HERE.parents[1] / "build/release/bin"))
MACHINE = json.loads((HERE.parents[1] / "compiler/machine/wse2.json").read_text())
EXPERTS, CHOSEN = 8, 2
BARS = {True: 1.5, False: 1.3}  # of one token, of a prompt


@dataclass(frozen=True)
class Row:
    tokens: int
    size: int
    inner: int
    mesh: str
    counted: bool = False

    def bound(self):
        """Cycles in which the channels bring the weights of the experts that are needed."""
        experts = CHOSEN if self.tokens == 1 else EXPERTS
        channels = min(MACHINE["channels"], int(self.mesh.split("x")[1]))
        return experts * 3 * self.size * self.inner / channels


ROWS = [Row(tokens, 1024, 3584, mesh) for mesh in ("32x32", "64x64", "750x994") for tokens in (1, 16, 26, 64)]
ROWS += [Row(tokens, 4096, 14336, mesh) for mesh in ("64x64", "750x994") for tokens in (1, 26)]
COUNTED = [Row(1, 256, 896, "32x32", True), Row(26, 256, 896, "8x8", True), Row(16, 512, 1792, "32x32", True),
           Row(26, 256, 896, "64x64", True)]


def write_model(path, row, random=None):
    """Without `random` weights lie in a file that is not there. Returns them."""
    shapes = {"router": (row.size, EXPERTS), "gate": (EXPERTS, row.inner, row.size), "up": (EXPERTS, row.inner, row.size),
              "down": (EXPERTS, row.size, row.inner)}
    made, initializers, offset = {}, [], 0
    for name, shape in shapes.items():
        if random is not None:
            made[name] = (random.standard_normal(shape) * shape[-1] ** -0.5).astype(np.float32)
            initializers.append(onnx.numpy_helper.from_array(made[name], name))
            continue
        size = 4 * int(np.prod(shape))
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, text in (("location", "absent.data"), ("offset", offset), ("length", size)):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, str(text)
        initializers.append(tensor)
        offset += size
    nodes = [
        helper.make_node("MatMul", ["x", "router"], ["p"], "router"),
        helper.make_node("MoE", ["x", "p", "gate", "", "down", "", "up"], ["y"], "experts", domain="com.microsoft",
                         activation_type="silu", k=CHOSEN, normalize_routing_weights=1),
        helper.make_node("Add", ["x", "y"], ["z"], "add")]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [row.tokens, row.size]) for name in "xz"]
    graph = helper.make_graph(nodes, "mixture", value[:1], value[1:], initializers)
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17),
                                                                   helper.make_opsetid("com.microsoft", 1)]), path)
    return made


def reference(weights, x):
    """What the mixture makes of tokens, in f64."""
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    x = x.astype(np.float64)
    z = x.copy()
    for token, scores in enumerate(x @ w["router"]):
        chosen = np.argsort(-scores, kind="stable")[:CHOSEN]
        shares = np.exp(scores[chosen] - scores.max())
        for expert, share in zip(chosen, shares / shares.sum(), strict=True):
            gate = w["gate"][expert] @ x[token]
            z[token] += share * (w["down"][expert] @ (gate / (1 + np.exp(-gate)) * (w["up"][expert] @ x[token])))
    return z


def call(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().split("\n")[0])


def measure(work, row):
    """Predicted cycles; those that are counted and the error of values, where they are."""
    random = np.random.default_rng(3) if row.counted else None
    weights = write_model(work / "mixture.onnx", row, random)
    absent = [] if row.counted else ["--allow-absent-weights"]
    call(BIN / "wsec", work / "mixture.onnx", "-o", work / "mixture.wafer", f"--mesh={row.mesh}", f"--report={work}/compile.json",
         "--quiet", *absent)
    predicted = sum(kernel["cycles"] for kernel in json.loads((work / "compile.json").read_text())["kernels"])
    if not row.counted:
        return predicted, None, 0
    x = random.standard_normal((row.tokens, row.size)).astype(np.float32)
    np.save(work / "x.npy", x)
    call(BIN / "wse-run", work / "mixture.wafer", f"--weights={work}", "--input", f"x={work}/x.npy", "--output",
         f"z={work}/z.npy", f"--report={work}/run.json", "--quiet")
    expected = reference(weights, x)
    error = np.abs(np.load(work / "z.npy") - expected).max() / np.abs(expected).max()
    return predicted, json.loads((work / "run.json").read_text())["cycles"]["total"], error


def table(isGood):
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for row in ROWS + COUNTED:
            predicted, counted, error = measure(Path(folder), row)
            times = (counted or predicted) / row.bound()
            isMet = "yes" if times <= BARS[row.tokens == 1] else "no"
            lines.append(f"| {row.tokens} | {row.size} x {row.inner} | {row.mesh} | {row.bound():,.0f} | {predicted:,.0f} | "
                         f"{format(counted, ',') if counted else ''} | {times:.2f} | {isMet} |\n")
            if error > 1e-5 or (counted and abs(predicted / counted - 1) > 0.05):
                print(f"{row}: error {error:.1e}, predicted {predicted:,.0f}, counted {counted:,}")
                isGood.clear()
    return "".join(lines)


def alike(kept, found):
    """Whether two tables have the same rows, and numbers within 2 %."""
    def cells(text):
        return [line.split("|") for line in text.splitlines() if line[:3].strip("| ").isdigit()]

    def number(text):
        return float(text.replace(",", "") or 1)
    pairs = list(zip(cells(kept), cells(found), strict=True))
    return pairs and all(a[1:5] == b[1:5] and all(abs(number(a[i].strip()) / number(b[i].strip()) - 1) <= 0.02 for i in (5, 6))
                         for a, b in pairs)


HEAD = f"""# A mixture of experts, and the stream of its weights

Generated by `experts.py --update`; do not edit. Cycles of a router and a mixture in f32 on `wse2`, each token with {CHOSEN} of {EXPERTS} experts
of three products; with tokens that come from the host and results that go back. The bound is that of the channels: a word a
cycle each, of the weights of all experts, or of those that a token alone chose. The bar is {BARS[False]} times that, and {BARS[True]} of one token.
Counted by `strips`; where nothing was counted, `times` is what is predicted.

"""
COLUMNS = """| tokens | sizes | mesh | bound | predicted | counted | times | bar met |
|---|---|---|---|---|---|---|---|
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    isGood = [True]
    found = COLUMNS + table(isGood)
    print(found, end="")
    if arguments.update:
        TABLE.write_text(HEAD + found)
    if arguments.check and not alike(TABLE.read_text(), found):
        print(f"{TABLE.name} has other numbers: experts.py --update")
        return 1
    return 0 if isGood else 1


if __name__ == "__main__":
    sys.exit(main())
