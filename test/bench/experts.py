#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cycles of a mixture of experts, beside the time in which the weights that it needs stream.

  experts.py --check       are the predictions those of experts.md, within 2 %, and what the engine counts within 5 % of them
  experts.py --update      writes experts.md

A model is a router, onnxruntime's MoE of three products (SiLU, two of eight experts) and what adds the result to the tokens; all of
its kernels count, with tokens that come from the host and results that go back. Predicted: weights are absent, for no cycle
depends on them. Counted: random ones, on the strips engine, and values as NumPy has them. A second table has calls of programs
whose weights stay, beside the same mixture of weights that stream."""

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from predicted_table import BIN, HERE, alike, call, compiled, initializers

TABLE = HERE / "experts.md"
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

    def bounds(self):
        """Cycles in which the channels bring the weights of the experts that are needed, and in which all PEs make the
        multiply-adds that tokens chose."""
        experts = CHOSEN if self.tokens == 1 else EXPERTS
        width, height = map(int, self.mesh.split("x"))
        each = 3 * self.size * self.inner
        return {"stream": experts * each / min(MACHINE["channels"], height),
                "compute": self.tokens * CHOSEN * each / (width * height) / MACHINE["fmac_rate"]}

    def bound(self):
        return max(self.bounds().items(), key=lambda its: its[1])


ROWS = [Row(tokens, 1024, 3584, mesh) for mesh in ("32x32", "64x64", "750x994") for tokens in (1, 16, 26, 64)]
ROWS += [Row(tokens, 4096, 14336, mesh) for mesh in ("64x64", "750x994") for tokens in (1, 26)]
COUNTED = [Row(1, 256, 896, "32x32", True), Row(26, 256, 896, "8x8", True), Row(16, 512, 1792, "32x32", True),
           Row(26, 256, 896, "64x64", True)]
HELD = [Row(16, 256, 896, "32x32", True), Row(26, 256, 896, "64x64", True)]
ENTRIES = {"decode": lambda row: 1, "prompt": lambda row: row.tokens}


def write_model(path, row, random=None, tokens=None):
    """Without `random` weights lie in a file that is not there. Returns them. `tokens` may name their dimension."""
    shapes = {"router": (row.size, EXPERTS), "gate": (EXPERTS, row.inner, row.size), "up": (EXPERTS, row.inner, row.size),
              "down": (EXPERTS, row.size, row.inner)}
    made, weights = initializers(shapes, random, lambda shape: shape[-1] ** -0.5)
    nodes = [
        helper.make_node("MatMul", ["x", "router"], ["p"], "router"),
        helper.make_node("MoE", ["x", "p", "gate", "", "down", "", "up"], ["y"], "experts", domain="com.microsoft",
                         activation_type="silu", k=CHOSEN, normalize_routing_weights=1),
        helper.make_node("Add", ["x", "y"], ["z"], "add")]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [tokens or row.tokens, row.size]) for name in "xz"]
    graph = helper.make_graph(nodes, "mixture", value[:1], value[1:], weights)
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


def measure(work, row):
    """Predicted cycles; those that are counted and the error of values, where they are."""
    random = np.random.default_rng(3) if row.counted else None
    weights = write_model(work / "mixture.onnx", row, random)
    absent = [] if row.counted else ["--allow-absent-weights"]
    report = compiled(work / "mixture.onnx", work / "mixture.wafer", f"--mesh={row.mesh}", *absent)
    predicted = sum(kernel["cycles"] for kernel in report["kernels"])
    if not row.counted:
        return predicted, None, 0
    x = random.standard_normal((row.tokens, row.size)).astype(np.float32)
    np.save(work / "x.npy", x)
    call(BIN / "wse-run", work / "mixture.wafer", f"--weights={work}", "--input", f"x={work}/x.npy", "--output",
         f"z={work}/z.npy", f"--report={work}/run.json", "--quiet")
    expected = reference(weights, x)
    error = np.abs(np.load(work / "z.npy") - expected).max() / np.abs(expected).max()
    return predicted, json.loads((work / "run.json").read_text())["cycles"]["total"], error


def measure_held(work, row):
    """Of each entry of a program whose weights stay: tokens, cycles predicted and counted, and the error of values."""
    random = np.random.default_rng(3)
    weights = write_model(work / "held.onnx", row, random, tokens="tokens")
    entries = [f"--entry={name}:tokens={tokens(row)}" for name, tokens in ENTRIES.items()]
    report = compiled(work / "held.onnx", work / "held.wafer", f"--mesh={row.mesh}", "--mode=resident", *entries)
    for entry, tokens in ENTRIES.items():
        x = random.standard_normal((tokens(row), row.size)).astype(np.float32)
        np.save(work / "x.npy", x)
        call(BIN / "wse-run", work / "held.wafer", f"--weights={work}", f"--entry={entry}", "--input",
             f"{entry}.x={work}/x.npy", "--output", f"{entry}.z={work}/z.npy", f"--report={work}/run.json", "--quiet")
        run = json.loads((work / "run.json").read_text())
        called = {kernel["name"] for kernel in run["kernels"] if kernel["cycles"]}
        predicted = sum(kernel["cycles"] for kernel in report["kernels"] if kernel["name"] in called)
        expected = reference(weights, x)
        error = np.abs(np.load(work / "z.npy") - expected).max() / np.abs(expected).max()
        yield tokens(row), predicted, run["cycles"]["total"], error


def held_table(isGood):
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for row in HELD:
            for tokens, predicted, counted, error in measure_held(Path(folder), row):
                _, streamed, _ = measure(Path(folder), replace(row, tokens=tokens))
                lines.append(f"| {tokens} | {row.size} x {row.inner} | {row.mesh} | stay | {predicted:,.0f} | {counted:,} | "
                             f"{streamed:,} |\n")
                if error > 1e-5 or abs(predicted / counted - 1) > 0.1:
                    print(f"{row}: error {error:.1e}, predicted {predicted:,.0f}, counted {counted:,}")
                    isGood.clear()
    return "".join(lines)


def table(isGood):
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for row in ROWS + COUNTED:
            predicted, counted, error = measure(Path(folder), row)
            what, bound = row.bound()
            times = (counted or predicted) / bound
            isMet = "yes" if times <= BARS[row.tokens == 1] else "no"
            lines.append(f"| {row.tokens} | {row.size} x {row.inner} | {row.mesh} | {what} | {bound:,.0f} | {predicted:,.0f} | "
                         f"{format(counted, ',') if counted else ''} | {times:.2f} | {isMet} |\n")
            if error > 1e-5 or (counted and abs(predicted / counted - 1) > 0.05):
                print(f"{row}: error {error:.1e}, predicted {predicted:,.0f}, counted {counted:,}")
                isGood.clear()
    return "".join(lines)


def is_row(line):
    return line[:3].strip("| ").isdigit()


HEAD = f"""# A mixture of experts, and the stream of its weights

Generated by `experts.py --update`; do not edit. Cycles of a router and a mixture in f32 on `wse2`, each token with {CHOSEN} of {EXPERTS} experts
of three products; with tokens that come from the host and results that go back. The bound is the larger one of two. *stream*: channels
bring a word a cycle each, of the weights of all experts, or of those that a token alone chose. *compute*: all PEs make the
multiply-adds that tokens chose, at the `fmac_rate` of `compiler/machine/wse2.json`. The bar is {BARS[False]} times that, and {BARS[True]} of one token.
Counted by `strips`; where nothing was counted, `times` is what is predicted.

"""
COLUMNS = """| tokens | sizes | mesh | bound by | bound | predicted | counted | times | bar met |
|---|---|---|---|---|---|---|---|---|
"""


HELD_COLUMNS = """
Weights that stay (`--mode=resident`), of a program with an entry for one token and one for a prompt; and what is counted of the
same mixture where weights stream.

| tokens | sizes | mesh | weights | predicted | counted | of weights that stream |
|---|---|---|---|---|---|---|
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    isGood = [True]
    found = COLUMNS + table(isGood) + HELD_COLUMNS + held_table(isGood)
    print(found, end="")
    if arguments.update:
        TABLE.write_text(HEAD + found)
    if arguments.check and not alike(TABLE.read_text(), found, is_row, range(1, 5), (5, 6, 7)):
        print(f"{TABLE.name} has other numbers: experts.py --update")
        return 1
    return 0 if isGood else 1


if __name__ == "__main__":
    sys.exit(main())
