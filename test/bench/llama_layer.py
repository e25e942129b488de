#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One LLaMA3-8B layer as this compiler makes it of ONNX, beside what WaferLLM published of its own program by hand.

  llama_layer.py --check       are the predictions those of llama_layer.md, within 2 %
  llama_layer.py --update      writes llama_layer.md
  llama_layer.py --values      a small layer on few PEs: values as NumPy has them, cycles as predicted

The model has f16 activations and no weights (they are absent: no cycle depends on them). A layer is what two of them take
more than one, so that tokens that come from the host and results that go back do not count, as in what was published;
neither do weights that stay, once they are there. In prefill weights stream, and their cycles count."""

import argparse
import functools
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from predicted_table import BIN, HERE, alike, call, compiled, initializers

sys.path[:0] = [str(HERE / "published"), str(HERE.parents[1] / "python")]
import llama  # noqa: E402
import prefill  # noqa: E402
from wsec import program  # noqa: E402

TABLE = HERE / "llama_layer.md"
INPUT = "inputs_embeds"


@dataclass(frozen=True)
class Sizes:
    """Features, features of the MLP, heads, heads of keys, features of a head."""

    features: int = 4096
    hidden: int = 14336
    heads: int = 32
    keys: int = 8
    head: int = 128

    def weights(self, layer):
        d, f, q, kv = self.features, self.hidden, self.heads * self.head, self.keys * self.head
        shapes = {"n1": (d,), "wq": (d, q), "wk": (d, kv), "wv": (d, kv), "wo": (q, d), "n2": (d,), "wg": (d, f), "wu": (d, f),
                  "wd": (f, d)}
        return {f"{name}_{layer}": shape for name, shape in shapes.items()}


def write_model(path, sizes, tokens, layers, random=None, cached=False, norms=1):
    """A decoder, with or without a cache. Without `random` weights lie in a file that is not there. Returns them."""
    shapes = {name: shape for layer in range(layers) for name, shape in sizes.weights(layer).items()}
    made, weights = initializers(shapes, random, lambda shape: norms if len(shape) == 1 else shape[0] ** -0.5)
    nodes, value = [], INPUT
    pasts, presents = [], []
    for layer in range(layers):
        def add(kind, inputs, output, *, at=layer, **attributes):
            named = [f"{name}_{at}" if f"{name}_{at}" in written else name for name in inputs]
            nodes.append(helper.make_node(kind, named, [f"{output}_{at}"], f"{output}_{at}", **attributes))
            written.add(f"{output}_{at}")

        written = set(sizes.weights(layer))
        add("RMSNormalization", [value, "n1"], "a", axis=-1, epsilon=1e-5)
        for name in "qkv":
            add("MatMul", ["a", f"w{name}"], name)
        add("Attention", ["q", "k", "v"], "o", q_num_heads=sizes.heads, kv_num_heads=sizes.keys, is_causal=1)
        if cached:
            for tensors, name, tokens_of in ((nodes[-1].input, "past", "past"), (nodes[-1].output, "present", "total")):
                names = [f"{name}_key_{layer}", f"{name}_value_{layer}"]
                tensors.extend(names if name == "present" else ["", *names])
                (pasts if name == "past" else presents).extend(helper.make_tensor_value_info(
                    its, TensorProto.FLOAT, [1, sizes.keys, tokens_of, sizes.head]) for its in names)
        add("MatMul", ["o", "wo"], "p")
        add("Add", [value, "p"], "r")
        add("RMSNormalization", ["r", "n2"], "b", axis=-1, epsilon=1e-5)
        add("MatMul", ["b", "wg"], "g")
        add("MatMul", ["b", "wu"], "u")
        add("Sigmoid", ["g"], "s")
        add("Mul", ["g", "s"], "gs")
        add("Mul", ["gs", "u"], "m")
        add("MatMul", ["m", "wd"], "z")
        add("Add", ["r", "z"], "y")
        value = f"y_{layer}"
    shape = [1, "sequence" if cached else tokens, sizes.features]
    graph = helper.make_graph(nodes, "layers", [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, shape), *pasts],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, shape), *presents], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11), path)
    return made


def reference(sizes, weights, x, layer=0):
    """What a layer makes of tokens x features, in f64."""
    w = {name.rsplit("_", 1)[0]: array.astype(np.float64) for name, array in weights.items() if name.endswith(f"_{layer}")}

    def norm(x, scale):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale

    def heads(x, count):
        return x.reshape(len(x), count, sizes.head).transpose(1, 0, 2)
    x = x.astype(np.float64)
    a = norm(x, w["n1"])
    q, k, v = heads(a @ w["wq"], sizes.heads), heads(a @ w["wk"], sizes.keys), heads(a @ w["wv"], sizes.keys)
    k, v = (np.repeat(t, sizes.heads // sizes.keys, axis=0) for t in (k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(sizes.head)
    scores = np.where(np.triu(np.ones(scores.shape[1:]), 1), -np.inf, scores)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    o = (powers / powers.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(x), -1)
    r = x + o @ w["wo"]
    b = norm(r, w["n2"])
    g = b @ w["wg"]
    return r + (g / (1 + np.exp(-g)) * (b @ w["wu"])) @ w["wd"]


def report_of(work, model, mesh, resident, *flags, cache=0):
    """The report of its program, of one token a call with a cache of so many."""
    mode = ["--mode=resident"] if resident else []
    mode += [f"--kv-capacity={cache}", "--entry", "decode:sequence=1"] if cache else ["--samples=1"] if resident else []
    return compiled(model, work / "layer.wafer", f"--mesh={mesh}", *mode, *flags)


def calls(report):
    """Cycles of a call, once weights that stay are there, and the region's shape."""
    return sum(kernel["cycles"] for kernel in report["kernels"] if kernel["kind"] != "fill"), report["region"]["shape"]


@functools.cache
def predict(work, tokens, mesh, resident, cache, level=0):
    """Cycles of a layer, and its region; none where another one is taken of more layers."""
    found = []
    for layers in (3, 4) if cache else (1, 2):
        write_model(work / "layers.onnx", Sizes(), tokens, layers, cached=bool(cache))
        found.append(calls(report_of(work, work / "layers.onnx", mesh, resident, "--precision=f16", f"--precision-opt-level={level}",
                                    "--allow-absent-weights", cache=cache)))
    (fewer, shape), (more, other) = found
    return (more - fewer, more, shape) if shape == other or not cache else (float("inf"), more, shape)


def rows():
    """What, mesh, published cycles, meshes to try, of which the fastest counts, tokens, whether weights stay, tokens of a
    cache, and the precision level."""
    for what, cache, level in (("decode", 4096, 0), ("decode, norms joined", 4096, 1), ("decode, no cache", 0, 0)):
        for shape, published in llama.PUBLISHED:
            side = shape.pes
            # Several layers need so many PEs, and a search among all regions of more takes minutes.
            others = () if cache else (f"{side}x{side}", f"128x{side // 2}")
            yield what, side, published, ("256x256", *others), 1, True, cache, level
    for shape, published in prefill.PUBLISHED:
        yield "prefill", shape.pes, published, (f"{shape.pes}x{shape.pes}",), 4096, False, 0, 0


def table():
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for what, side, published, meshes, tokens, *how in rows():
            ours, _, shape = min(predict(Path(folder), tokens, mesh, *how) for mesh in meshes)
            lines.append(f"| {what} | {side}x{side} | {published:,.0f} | {ours:,.0f} | {shape[0]}x{shape[1]} | {ours / published:.2f} |\n")
    return "".join(lines)


def is_row(line):
    return line.startswith(("| decode", "| prefill"))


HEAD = """# A layer of LLaMA3-8B from ONNX, beside one written by hand

Generated by `llama_layer.py --update`; do not edit. Cycles of one layer, f16, on meshes of `wse2`. Published: WaferLLM (OSDI 2025),
a program by hand, measured on a wafer; [our emulation of it](published/README.md) is within 6 %. Ours: what `wsec` predicts for a model of
two layers less that of one, or of four less that of three with a cache, so that no token comes from the host and none goes back.

*decode*: one token, the last of 4,096 in a cache that stays, as published; *norms joined*: at precision level 1, where norms go with products in f16; *no cache*: it attends to none but itself.
Weights stay, and load once, which does not count. Of three regions of the mesh the fastest counts, with a cache one. *prefill*: 4,096 tokens. Weights stream, and their
cycles count; published ones were there.

| | mesh | published | ours, predicted | region | ours / published |
|---|---|---|---|---|---|
"""


def check_cached(mesh, precision, bound, layers=1, tokens=9, norms=1, activations=1, level=0):
    """Of small layers, token after token, on both engines, and cycles of the last one: scales of norms and activations are about as large as said."""
    sizes, random = Sizes(96, 208, 6, 2, 16), np.random.default_rng(5)
    right = True
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        weights = write_model(work / "layers.onnx", sizes, 1, layers, random, cached=True, norms=norms)
        predicted, _ = calls(report_of(work, work / "layers.onnx", mesh, True, f"--precision={precision}",
                                       *([f"--precision-opt-level={level}"] if level else []), "--bundle", cache=tokens))
        x = activations * random.standard_normal((tokens, sizes.features)).astype(np.float32)
        expected = x
        for layer in range(layers):
            expected = reference(sizes, weights, expected, layer)
        for engine in ("wavelet", "strips"):
            session = program.load(work / "layer.wafer").session(engine=engine)
            made = np.concatenate([session.run({INPUT: x[None, i:i + 1]}, entry="decode", arguments={"position": i})[f"y_{layers - 1}"][0]
                                   for i in range(tokens)])
            error, off = np.abs(made - expected).max() / np.abs(expected).max(), predicted / session.counts.cycles - 1
            its = error <= bound and (engine == "strips" or abs(off) <= 0.1)
            right &= its
            print(f"{tokens} tokens, one a call, {layers} layers on {mesh}, {precision}, {engine}: error {error:.1e}, the last "
                  f"{session.counts.cycles:,.0f} cycles, predicted {100 * off:+.1f} %{'' if its else ' WRONG'}")
    return right


def check_values(mesh, tokens, resident, precision, bound):
    """Of a small layer."""
    sizes, random = Sizes(96, 208, 6, 2, 16), np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        weights = write_model(work / "layers.onnx", sizes, tokens, 1, random)
        report = report_of(work, work / "layers.onnx", mesh, resident, f"--precision={precision}", "--bundle")
        x = random.standard_normal((1, tokens, sizes.features)).astype(np.float32)
        np.save(work / "x.npy", x)
        call(BIN / "wse-run", work / "layer.wafer", "--input", f"{INPUT}={work}/x.npy", "--output", f"y_0={work}/y.npy",
             "--engine=wavelet", f"--report={work}/run.json", "--quiet")
        expected = reference(sizes, weights, x[0])
        error = np.abs(np.load(work / "y.npy")[0] - expected).max() / np.abs(expected).max()
        counted = json.loads((work / "run.json").read_text())["cycles"]["total"]
    off = calls(report)[0] / counted - 1
    right = error <= bound and abs(off) <= 0.1
    print(f"{tokens} tokens on {mesh}, {precision}, weights {'stay' if resident else 'stream'}: error {error:.1e}, "
          f"{counted} cycles, predicted {100 * off:+.1f} %{'' if right else ' WRONG'}")
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--values", action="store_true")
    arguments = parser.parse_args()
    if arguments.values:
        return not all([check_values("12x16", 1, True, "f32", 2e-6), check_values("13x11", 1, True, "f16", 6e-3),
                        check_values("16x12", 40, False, "f16", 6e-3), check_cached("12x16", "f32", 2e-6),
                        check_cached("13x11", "f16", 6e-3), check_cached("8x100", "f16", 6e-3),
                        check_cached("16x1", "f32", 2e-6), check_cached("1x16", "f32", 2e-6),
                        # Values that f16 has, whose normalized ones times the scale before the root are none.
                        check_cached("13x11", "f16", 6e-3, norms=30, activations=1000), check_cached("13x11", "f32", 3e-6, 4), check_cached("60x40", "f16", 8e-3, 4),
                        check_cached("60x40", "f16", 8e-3, 4, level=1), check_cached("13x11", "f16", 8e-3, 2, level=1)])
    found = HEAD + table()
    print(found[found.index("| | mesh"):], end="")
    if arguments.update:
        TABLE.write_text(found)
    if arguments.check and not alike(TABLE.read_text(), found, is_row, range(1, 4), (4,)):
        print(f"{TABLE.name} has other numbers: llama_layer.py --update")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
