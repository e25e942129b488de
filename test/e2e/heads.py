#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with rotary embeddings and shared keys: heads.py --count N --seed S --work DIR

Models of random shapes, on meshes of random size: RotaryEmbedding as an operator
of ONNX or in the primitives exporters write, on all features of a head or on the
first, in halves or in pairs; Attention with fewer heads of keys than of queries.
All have to be recognized. All engines have to give NumPy's numbers to 1e-5 of
the largest, and equal bytes. Exit code 0 or 1.
"""

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

ENGINES = ("wavelet", "strips")


def run(command):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if result.returncode:
        print("$", " ".join(map(str, command)))
        print(result.stdout, result.stderr)
        sys.exit(1)


class Graph:
    """An ONNX graph under construction; `heads` of `size` features."""

    def __init__(self, rng, batch, tokens, size, turned, interleaved):
        self.rng, self.batch, self.tokens, self.size = rng, batch, tokens, size
        self.turned, self.interleaved = turned, interleaved
        self.nodes, self.constants = [], []

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, kind, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def part(self, x, start, end, step=1):
        return self.node("Slice", x, self.constant(np.array([start])), self.constant(np.array([end])),
                         self.constant(np.array([-1])), self.constant(np.array([step])))

    def others(self, x, heads, first):
        """concat(-second half, first half), or the same for pairs."""
        if not self.interleaved:
            half = self.turned // 2
            minus = self.node("Neg", self.part(x, half, self.turned))
            return self.node("Concat", minus, self.part(x, 0, half), axis=-1)
        axis = self.constant(np.array([-1]))
        minus = self.node("Unsqueeze", self.node("Neg", self.part(x, 1, self.turned, 2)), axis)
        pairs = self.node("Concat", minus, self.node("Unsqueeze", self.part(x, 0, self.turned, 2), axis),
                          axis=-1)
        shape = [self.batch, self.tokens, heads] if first else [self.batch, heads, self.tokens]
        return self.node("Reshape", pairs, self.constant(np.array(shape + [self.turned])))

    def rotary(self, x, heads, cos, sin):
        """[batch, tokens, heads * size] to [batch, heads, tokens, size], turned."""
        split = self.node("Reshape", x, self.constant(
            np.array([self.batch, self.tokens, heads, self.size])))
        style = self.rng.choice(["operator", "tokens first", "heads first"])
        if style != "tokens first":
            split = self.node("Transpose", split, perm=[0, 2, 1, 3])
        if style == "operator":
            return self.node("RotaryEmbedding", split, self.constant(cos), self.constant(sin),
                             interleaved=int(self.interleaved), rotary_embedding_dim=self.turned)
        axis = 2 if style == "tokens first" else 1
        repeat = (lambda a: np.repeat(a, 2, -1)) if self.interleaved else (
            lambda a: np.concatenate([a, a], -1))
        cosines, sines = (self.constant(np.expand_dims(repeat(a), axis)) for a in (cos, sin))
        x = split if self.turned == self.size else self.part(split, 0, self.turned)
        y = self.node("Add", self.node("Mul", x, cosines),
                      self.node("Mul", self.others(x, heads, style == "tokens first"), sines))
        if self.turned != self.size:
            y = self.node("Concat", y, self.part(split, self.turned, self.size), axis=-1)
        return self.node("Transpose", y, perm=[0, 2, 1, 3]) if style == "tokens first" else y


def turn(x, cos, sin, interleaved):
    """NumPy's answer for [batch, heads, tokens, size]."""
    half = cos.shape[-1]
    a, b = (slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if interleaved else (
        slice(0, half), slice(half, 2 * half))
    y, cos, sin = x.copy(), cos[:, None], sin[:, None]
    y[..., a] = x[..., a] * cos - x[..., b] * sin
    y[..., b] = x[..., b] * cos + x[..., a] * sin
    return y


def attend(q, k, v, repeats, causal):
    k, v = np.repeat(k, repeats, 1), np.repeat(v, repeats, 1)
    scores = q @ k.swapaxes(2, 3) / np.sqrt(q.shape[3])
    if causal:
        scores = np.where(np.tri(*scores.shape[2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def random_case(rng):
    batch, tokens = rng.randint(1, 3), rng.randint(1, 9)
    shared, repeats = rng.randint(1, 3), rng.randint(1, 4)
    size = 2 * rng.randint(1, 4)
    turned = rng.choice([size, 2 * rng.randint(1, size // 2)])
    interleaved, causal = rng.random() < 0.5, rng.random() < 0.5
    heads, width = shared * repeats, rng.randint(2, 10)
    numbers = np.random.default_rng(rng.randint(0, 10**6))
    graph = Graph(rng, batch, tokens, size, turned, interleaved)
    angles = numbers.standard_normal((batch, tokens, turned // 2)).astype("f4")
    cos, sin = np.cos(angles), np.sin(angles)
    x = numbers.standard_normal((batch, tokens, width)).astype("f4")
    parts, expected = [], []
    for count in (heads, shared, shared):
        weight = numbers.standard_normal((width, count * size)).astype("f4")
        parts.append(graph.node("MatMul", "x", graph.constant(weight)))
        expected.append((x @ weight).reshape(batch, tokens, count, size).swapaxes(1, 2))
    q, k = (graph.rotary(part, count, cos, sin) for part, count in zip(parts, (heads, shared)))
    v = graph.node("Transpose", graph.node("Reshape", parts[2], graph.constant(
        np.array([batch, tokens, shared, size]))), perm=[0, 2, 1, 3])
    if rng.random() < 0.5 and repeats > 1:  # as exporters repeat
        k, v = (graph.node("Reshape", graph.node("Expand", graph.node(
            "Unsqueeze", part, graph.constant(np.array([2]))), graph.constant(
                np.array([batch, shared, repeats, tokens, size]))), graph.constant(
                    np.array([batch, heads, tokens, size]))) for part in (k, v))
    y = graph.node("Attention", q, k, v, is_causal=int(causal))
    y = graph.node("Reshape", graph.node("Transpose", y, perm=[0, 2, 1, 3]),
                   graph.constant(np.array([batch, tokens, heads * size])))
    result = attend(turn(expected[0], cos, sin, interleaved), turn(expected[1], cos, sin, interleaved),
                    expected[2], repeats, causal)
    model = helper.make_model(helper.make_graph(
        graph.nodes, "heads",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, (batch, tokens, heads * size))],
        graph.constants), opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    mesh = f"{rng.randint(1, 9)}x{rng.randint(1, 7)}"
    return model, mesh, x, result.swapaxes(1, 2).reshape(batch, tokens, heads * size)


def check(seed, work):
    rng = random.Random(seed)
    model, mesh, x, expected = random_case(rng)
    onnx.save(model, work / "m.onnx")
    np.save(work / "x.npy", x)
    run(["wsec", work / "m.onnx", "-o", work / "m.wafer", f"--mesh={mesh}", f"--region={mesh}",
         f"--report={work / 'r.json'}"])
    names = [kernel["kind"] for kernel in json.loads((work / "r.json").read_text())["kernels"]]
    assert "rotary" in names and "attention" in names and "softmax" not in names, (seed, names)
    outputs = []
    for engine in ENGINES:
        run(["wse-run", work / "m.wafer", f"--engine={engine}", f"--input=x={work / 'x.npy'}",
             f"--output={model.graph.output[0].name}={work / 'y.npy'}"])
        outputs.append(np.load(work / "y.npy"))
    for engine, y in zip(ENGINES, outputs):
        assert y.tobytes() == outputs[0].tobytes(), (seed, engine)
    error = np.abs(outputs[0] - expected).max() / np.abs(expected).max()
    assert error < 1e-5, (seed, mesh, error)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        check(seed, arguments.work)
    print(arguments.count, "models with rotary embeddings and shared keys")


if __name__ == "__main__":
    main()
