#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention in the forms exporters write: masks.py --count N --seed S --work DIR

Models of random shapes, on meshes of random size: masks of padding, which leave
some queries without any key, causal ones, and both, by the lowest number, minus
infinity or -10000, added or in place of scores, with and without a guard against
NaN; capped scores; biases that differ between heads; caches; queries, keys and
values beside each other head by head; norms of heads.
All engines have to give onnxruntime's numbers to 1e-5 of the largest, NaN where
it has NaN, and equal bytes; all forms have to be recognized. Exit code 0 or 1.
"""

import argparse
import json
import random
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

sys.path.insert(0, str(Path(__file__).resolve().parent))
from heads import ENGINES, Graph, run  # noqa: E402

HIDDEN = {"lowest": float(np.finfo(np.float32).min), "infinity": -float("inf"), "-10000": -1e4}


class Forms(Graph):
    def __init__(self, rng, batch, tokens, heads, size):
        super().__init__(rng, batch, tokens, size, 0, False)
        self.heads = heads

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def floats(self, value):
        return self.constant(np.float32(value))

    def split(self, x, features):
        """[batch, heads, tokens, features] of [batch, tokens, heads * features]."""
        x = self.node("Reshape", x, self.ints(self.batch, self.tokens, self.heads, features))
        return x

    def norm(self, x, numbers):
        square = self.node("Mul", x, x)
        mean = self.node("ReduceMean", square, self.ints(-1), keepdims=1)
        root = self.node("Sqrt", self.node("Add", mean, self.floats(1e-3)))
        scale = self.constant(numbers.standard_normal(self.size).astype("f4"))
        return self.node("Mul", self.node("Div", x, root), scale)

    def masked(self, scores, keys, hidden, style, causal):
        """Hides keys by the input "mask" [batch, keys], and later ones."""
        keep = self.node("Cast", self.node("Unsqueeze", "mask", self.ints(1, 2)), to=TensorProto.BOOL)
        if causal:
            past = keys - self.tokens
            lower = np.tri(self.tokens, keys, past, dtype=bool)[None, None]
            keep = self.node("And", self.constant(lower), keep)
        low = self.floats(HIDDEN[hidden])
        if style == "replace":
            return self.node("Where", keep, scores, low)
        return self.node("Add", scores, self.node("Where", keep, self.floats(0), low))


def random_case(rng):
    batch, tokens, heads, size = rng.randint(1, 3), rng.randint(1, 7), rng.randint(1, 4), 2 * rng.randint(1, 3)
    past = rng.choice([0, 0, rng.randint(1, 6)])
    keys = past + tokens
    choice = {"hidden": rng.choice(list(HIDDEN)), "style": rng.choice(["add", "replace"]),
              "causal": rng.random() < 0.5, "guard": rng.random() < 0.5, "cap": rng.random() < 0.4,
              "bias": rng.random() < 0.3, "norm": rng.random() < 0.3, "past": past > 0,
              "interleaved": rng.random() < 0.5}
    numbers = np.random.default_rng(rng.randint(0, 10**6))
    g = Forms(rng, batch, tokens, heads, size)
    width = heads * size
    x = numbers.standard_normal((batch, tokens, 5)).astype("f4")
    weight = lambda n: g.constant(numbers.standard_normal((5, n)).astype("f4"))
    if choice["interleaved"]:
        packed = g.split(g.node("MatMul", "x", weight(3 * width)), 3 * size)
        parts = [g.part(packed, i * size, (i + 1) * size) for i in range(3)]
    else:
        parts = [g.split(g.node("MatMul", "x", weight(width)), size) for _ in range(3)]
    if choice["norm"]:
        parts[:2] = [g.norm(part, numbers) for part in parts[:2]]
    q, k, v = (g.node("Transpose", part, perm=[0, 2, 1, 3]) for part in parts)
    feeds = {"x": x, "mask": (numbers.random((batch, keys)) < 0.6).astype(np.int64)}
    if past:
        feeds |= {name: numbers.standard_normal((batch, heads, past, size)).astype("f4") for name in ("pk", "pv")}
        k, v = g.node("Concat", "pk", k, axis=2), g.node("Concat", "pv", v, axis=2)
    scores = g.node("MatMul", q, g.node("Transpose", k, perm=[0, 1, 3, 2]))
    scores = g.node("Mul", scores, g.floats(size**-0.5))
    if choice["cap"]:
        scores = g.node("Mul", g.node("Tanh", g.node("Div", scores, g.floats(1.5))), g.floats(1.5))
    if choice["bias"]:
        scores = g.node("Add", scores, g.constant(numbers.standard_normal((1, heads, tokens, keys)).astype("f4")))
    scores = g.masked(scores, keys, choice["hidden"], choice["style"], choice["causal"])
    weights = g.node("Softmax", scores, axis=-1)
    if choice["guard"]:
        weights = g.node("Where", g.node("IsNaN", weights), g.floats(0), weights)
    y = g.node("Transpose", g.node("MatMul", weights, v), perm=[0, 2, 1, 3])
    y = g.node("Reshape", y, g.ints(batch, tokens, width))
    types = {"f": TensorProto.FLOAT, "i": TensorProto.INT64}
    model = helper.make_model(helper.make_graph(
        g.nodes, "masks",
        [helper.make_tensor_value_info(name, types[value.dtype.kind], value.shape) for name, value in feeds.items()],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, (batch, tokens, width))],
        g.constants), opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return model, f"{rng.randint(1, 9)}x{rng.randint(1, 7)}", feeds, choice


def check(seed, work):
    model, mesh, feeds, choice = random_case(random.Random(seed))
    path, name = work / "m.onnx", model.graph.output[0].name
    onnx.save(model, path)
    np.savez(work / "in.npz", **feeds)
    [expected] = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, feeds)
    run(["wsec", path, "-o", work / "m.wafer", f"--mesh={mesh}", f"--region={mesh}", f"--report={work / 'r.json'}"])
    report = json.loads((work / "r.json").read_text())
    kinds = Counter(kernel["kind"] for kernel in report["kernels"])
    assert kinds["attention"] == 1 and not kinds["softmax"], (seed, choice, kinds)
    assert kinds["rms_norm"] == 2 * choice["norm"], (seed, choice, kinds)
    outputs = []
    for engine in ENGINES:
        run(["wse-run", work / "m.wafer", f"--engine={engine}", f"--inputs={work / 'in.npz'}",
             f"--output={name}={work / 'y.npy'}"])
        outputs.append(np.load(work / "y.npy"))
    for engine, y in zip(ENGINES, outputs):
        assert np.array_equal(y, outputs[0], equal_nan=True), (seed, engine)
    assert np.array_equal(np.isnan(outputs[0]), np.isnan(expected)), (seed, mesh, choice, outputs[0], expected)
    error = np.nanmax(np.abs(outputs[0] - expected), initial=0) / max(1, np.nanmax(np.abs(expected), initial=0))
    assert error < 1e-5, (seed, mesh, choice, error)
    return np.isnan(expected).any()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    empty = sum(check(seed, arguments.work) for seed in range(arguments.seed, arguments.seed + arguments.count))
    print(f"{arguments.count} attentions, {empty} with NaN in queries without a key")


if __name__ == "__main__":
    main()
