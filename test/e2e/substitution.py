#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forward substitution as delta rules write it: substitution.py --work DIR --mesh WxH

For chunks of several lengths, row after row is updated by the sum of the rows
above times its elements. Numbers at random, and keys that are all equal, whose
inverse is small where powers of the matrix are not: the largest power of -1s below
the diagonal of 33 tokens has 3e8 where the inverse has 1. Held against numpy in f64.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx
from commands import run
from onnx import helper as h

BATCH = 2


def model(tokens):
    """From x [BATCH, tokens, tokens] its part below the diagonal, minus, then each row."""
    node, constants, nodes = h.make_node, {}, []

    def constant(name, value, kind=np.int64):
        constants.setdefault(name, np.array(value, kind))
        return name

    constant("above", np.triu(np.ones((tokens, tokens))), bool)
    constant("zero", 0, np.float32)
    constant("axis", [1])
    nodes += [node("Where", ["above", "zero", "x"], ["masked"]), node("Neg", ["masked"], ["x0"])]
    for row in range(1, tokens):
        old, new = f"x{row - 1}", f"x{row}"
        first, one = constant(f"first{row}", [0, row, 0]), constant(f"one{row}", [BATCH, row + 1, row])
        start, block = constant("start", [0, 0, 0]), constant(f"block{row}", [BATCH, row, row])
        rest, end = constant(f"rest{row}", [0, row, row]), constant(f"end{row}", [BATCH, row + 1, tokens])
        below, all_of = constant(f"below{row}", [0, row + 1, 0]), constant("all", [BATCH, tokens, tokens])
        above = constant(f"above{row}", [BATCH, row, tokens])
        nodes += [
            node("Slice", [old, first, one], [f"row{row}"]),
            node("Transpose", [f"row{row}"], [f"column{row}"], perm=[0, 2, 1]),
            node("Slice", [old, start, block], [f"rows{row}"]),
            node("Mul", [f"column{row}", f"rows{row}"], [f"terms{row}"]),
            node("ReduceSum", [f"terms{row}", "axis"], [f"sum{row}"]),
            node("Add", [f"row{row}", f"sum{row}"], [f"begin{row}"]),
            node("Slice", [old, rest, end], [f"tail{row}"]),
            node("Concat", [f"begin{row}", f"tail{row}"], [f"new{row}"], axis=2),
            node("Slice", [old, start, above], [f"before{row}"]),
            node("Slice", [old, below, all_of], [f"behind{row}"]),
            node("Concat", [f"before{row}", f"new{row}", f"behind{row}"], [new], axis=1)]
    value = h.make_tensor_value_info
    shape = [BATCH, tokens, tokens]
    graph = h.make_graph(
        nodes, "chunk", [value("x", 1, shape)], [value(f"x{tokens - 1}", 1, shape)],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()])
    return h.make_model(graph, ir_version=9, opset_imports=[h.make_opsetid("", 17)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--mesh", required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    work, is_good = options.work, True
    for tokens in (3, 5, 16, 33):
        onnx.save(model(tokens), work / "m.onnx")
        run(["wsec", work / "m.onnx", "--stop-after=canonicalize", "-o", work / "m.mlir"])
        products = (work / "m.mlir").read_text().count("onnx.batch_matmul")
        run(["wsec", work / "m.onnx", "-o", work / "m.wafer", f"--mesh={options.mesh}", "--quiet"])
        random = np.random.default_rng(tokens).uniform(-1, 1, (BATCH, tokens, tokens))
        for name, x in {"random": random, "equal": np.ones((BATCH, tokens, tokens))}.items():
            np.save(work / "x.npy", x.astype("f4"))
            run(["wse-run", work / "m.wafer", f"--weights={work}", "--input", f"x={work / 'x.npy'}",
                 "--output", f"x{tokens - 1}={work / 'y.npy'}", "--quiet"])
            lower = -np.tril(x.astype("f4").astype("f8"), -1)
            expected = np.linalg.inv(np.eye(tokens) - lower) - np.eye(tokens)
            error = np.abs(np.load(work / "y.npy") - expected).max() / np.abs(expected).max()
            print(f"{tokens} {name}: {products} products, {'' if error < 1e-5 else f'off by {error:.1e}, not '}right")
            is_good &= error < 1e-5
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
