#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoder with and without a cache in one model: branches.py --work DIR

As Optimum merges them: an If takes the branch of a first pass or of a later
step, by the input `use_cache_branch`; weights lie around it, but for one of each
branch, and one branch decides by a shape once more. Bound to true and to false it
gives onnxruntime's logits and caches on all engines. Exit code 0 or 1.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent))
from heads import ENGINES, run  # noqa: E402

TOKENS, PAST, HEADS, SIZE, WORDS = 5, 4, 2, 32, 48
WIDTH = HEADS * SIZE
SHAPES = {True: (1, PAST), False: (TOKENS, 1)}  # of ids and of the cache


def values(*names, type=TensorProto.FLOAT, shape=None):
    return [helper.make_tensor_value_info(name, type, shape) for name in names]


def weights(rng, **shapes):
    return [numpy_helper.from_array((rng.standard_normal(shape) / 4).astype("f4"), name) for name, shape in shapes.items()]


def constants(**arrays):
    return [numpy_helper.from_array(np.array(array), name) for name, array in arrays.items()]


def decoder(rng, past):
    """One layer; both branches have the same names in them. Its own norm is no
    weight of the graph around it."""
    def node(operator, inputs, output, **attributes):
        nodes.append(helper.make_node(operator, inputs.split(), [output], f"/layer/{output}", **attributes))
    nodes = []
    node("Gather", "embedding ids", "x")
    for which in "qkv":
        node("MatMul", f"x w_{which}", f"{which}_flat")
        node("Reshape", f"{which}_flat heads", f"{which}_split")
        node("Transpose", f"{which}_split", which, perm=[0, 2, 1, 3])
    for which in "kv":
        name = f"new_{which}"
        if past:
            node("Concat", f"past_{which} {which}", name, axis=2)
        else:
            node("Identity", which, name)
    node("Transpose", "new_k", "keys", perm=[0, 1, 3, 2])
    node("MatMul", "q keys", "products")
    node("Mul", "products factor", "scores")
    if not past:
        node("Add", "scores causal", "seen")
    node("Softmax", "scores" if past else "seen", "probabilities", axis=-1)
    node("MatMul", "probabilities new_v", "context")
    node("Transpose", "context", "tokens", perm=[0, 2, 1, 3])
    node("Reshape", "tokens flat", "attended")
    node("Add", "x attended", "residual")
    node("LayerNormalization", "residual norm", "normed")
    node("MatMul", "normed head", "all_logits")
    own = weights(rng, norm=(WIDTH,))
    if past:  # One token: its axis goes, by the shape.
        shape, = (helper.make_node("Shape", ["all_logits"], ["extents"], "/layer/extents"),)
        nodes += [shape, helper.make_node("Gather", ["extents", "second"], ["count"], "/layer/count"),
                  helper.make_node("Equal", ["count", "second"], ["single"], "/layer/single"),
                  helper.make_node("If", ["single"], ["some_logits"], "/layer/if",
                                   then_branch=only("Squeeze", "all_logits second_axis"),
                                   else_branch=only("Identity", "all_logits"))]
    else:
        node("Squeeze", "all_logits first_axis", "some_logits")
        own += constants(causal=np.triu(np.full((TOKENS, TOKENS), -1e4, "f4"), 1))
    return helper.make_graph(nodes, "decoder", [], values("some_logits", "new_k", "new_v"), own)


def only(operator, inputs):
    return helper.make_graph([helper.make_node(operator, inputs.split(), ["some"], f"/layer/{operator}")], "only", [],
                             values("some"))


def merged(rng):
    square = (WIDTH, WIDTH)
    shared = weights(rng, embedding=(WORDS, WIDTH), w_q=square, w_k=square, w_v=square, head=(WIDTH, WORDS))
    shared += constants(heads=[0, 0, HEADS, SIZE], flat=[0, 0, WIDTH], factor=np.float32(SIZE**-0.5), second=1,
                        first_axis=[0], second_axis=[1])
    choice = helper.make_node("If", ["use_cache_branch"], ["logits", "present_k", "present_v"], "optimum::if",
                              then_branch=decoder(rng, True), else_branch=decoder(rng, False))
    inputs = values("ids", type=TensorProto.INT64, shape=(1, "tokens"))
    inputs += values("past_k", "past_v", shape=(1, HEADS, "past", SIZE))
    inputs += values("use_cache_branch", type=TensorProto.BOOL, shape=(1,))
    graph = helper.make_graph([choice], "merged", inputs, values("logits", "present_k", "present_v"), shared)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def check(path, rng, session, branch, work):
    tokens, past = SHAPES[branch]
    feeds = {"ids": rng.integers(0, WORDS, (1, tokens))}
    feeds |= {name: rng.standard_normal((1, HEADS, past, SIZE)).astype("f4") for name in ("past_k", "past_v")}
    expected = session.run(None, feeds | {"use_cache_branch": np.array([branch])})
    np.savez(work / "in.npz", **feeds)
    run(["wsec", path, "-o", work / "m.wafer", "--mesh=6x6", f"--dim=tokens={tokens}", f"--dim=past={past}",
         f"--bind=use_cache_branch=[{str(branch).lower()}]"])
    names = [output.name for output in session.get_outputs()]
    for engine in ENGINES:
        run(["wse-run", work / "m.wafer", f"--engine={engine}", f"--inputs={work / 'in.npz'}",
             *(f"--output={name}={work / name}.npy" for name in names)])
        for name, right in zip(names, expected):
            y = np.load(work / f"{name}.npy")
            assert y.shape == right.shape, (branch, engine, name, y.shape, right.shape)
            error = np.abs(y - right).max() / np.abs(right).max()
            assert error < 1e-5, (branch, engine, name, error)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True)
    work = parser.parse_args().work
    work.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(5)
    path = work / "merged.onnx"
    onnx.save(merged(rng), path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for branch in SHAPES:
        check(path, rng, session, branch, work)
        print(f"use_cache_branch = {branch}: equal")


if __name__ == "__main__":
    main()
