#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixtures of experts: experts.py --work DIR --mesh WxH [FORM ...]

onnxruntime's MoE with every activation, and weights that a graph looks up for
each token; with numbers, with a token that is not a number, and with an expert of
NaN and infinities that no token chooses. onnxruntime's values, and NaN where it
has NaN. A line a form; exit code 0 or 1.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from commands import run
from onnx import helper as h

TOKENS, SIZE, INNER, EXPERTS = 7, 16, 12, 4
SWIGLU = dict(activation_type="swiglu", activation_alpha=1.702, activation_beta=1.0)
FORMS = {
    "relu-1": dict(activation_type="relu", k=1),
    "silu-2": dict(activation_type="silu", k=2),
    "gelu-2": dict(activation_type="gelu", k=2, normalize_routing_weights=1),
    "identity-3": dict(activation_type="identity", k=3, normalize_routing_weights=1),
    "swiglu-interleaved": dict(SWIGLU, k=2, swiglu_fusion=1, swiglu_limit=0.5),
    "swiglu-halves": dict(SWIGLU, k=2, swiglu_fusion=2, normalize_routing_weights=1),
    "looked-up": dict(k=2),
}


def weights(random, how):
    up = INNER * (2 if how.get("activation_type") == "swiglu" else 1)
    shapes = {"w1": (up, SIZE), "b1": (up,), "w2": (SIZE, INNER), "b2": (SIZE,)}
    return {name: 0.4 * random.standard_normal((EXPERTS, *shape)).astype("f4")
            for name, shape in shapes.items()}


def looked_up(how):
    """What exporters write: weights of its experts beside each token."""
    k = how["k"]
    node, constants = h.make_node, {
        "k": [k], "one": [1], "repeats": [TOKENS, k, SIZE], "rows": [TOKENS * k, SIZE, 1],
        "count": [TOKENS * k], "column": [TOKENS * k, 1], "sums": [TOKENS, k, SIZE], "end": [2]}
    nodes = [
        node("Softmax", ["p"], ["s"]), node("TopK", ["s", "k"], ["values", "places"]),
        node("Unsqueeze", ["x", "one"], ["x1"]), node("Expand", ["x1", "repeats"], ["xk"]),
        node("Reshape", ["xk", "rows"], ["r"]), node("Reshape", ["places", "count"], ["ids"]),
        node("Gather", ["w1", "ids"], ["w1s"]), node("MatMul", ["w1s", "r"], ["u"]),
        node("Gather", ["b1", "ids"], ["b1s"]), node("Unsqueeze", ["b1s", "end"], ["b1c"]),
        node("Add", ["u", "b1c"], ["ub"]), node("Tanh", ["ub"], ["t"]),
        node("Gather", ["w2", "ids"], ["w2s"]), node("MatMul", ["w2s", "t"], ["d"]),
        node("Squeeze", ["d", "end"], ["d2"]), node("Gather", ["b2", "ids"], ["b2s"]),
        node("Add", ["d2", "b2s"], ["db"]), node("Reshape", ["values", "column"], ["v"]),
        node("Mul", ["db", "v"], ["m"]), node("Reshape", ["m", "sums"], ["ms"]),
        node("ReduceSum", ["ms", "one"], ["y"], keepdims=0)]
    return nodes, {name: np.array(value, np.int64) for name, value in constants.items()}


def model(form, constants, **changes):
    how = FORMS[form] | changes
    nodes = [h.make_node("MoE", ["x", "p", "w1", "b1", "w2", "b2"], ["y"], "experts",
                         domain="com.microsoft", **how)]
    if form == "looked-up":
        nodes, more = looked_up(how)
        constants = constants | more
    value = h.make_tensor_value_info
    graph = h.make_graph(
        nodes, form, [value("x", 1, [TOKENS, SIZE]), value("p", 1, [TOKENS, EXPERTS])],
        [value("y", 1, [TOKENS, SIZE])],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()])
    return h.make_model(graph, ir_version=9, opset_imports=[h.make_opsetid("", 17),
                                                            h.make_opsetid("com.microsoft", 1)])


def reference(form, constants):
    """For onnxruntime, which knows gates only beside what they let through."""
    if form == "swiglu-halves":
        order = np.arange(2 * INNER).reshape(2, INNER).T.ravel()
        constants = constants | {name: constants[name][:, order] for name in ("w1", "b1")}
        return model(form, constants, swiglu_fusion=1).SerializeToString()
    return model(form, constants).SerializeToString()


def cases(random, form):
    """(what is not a number, constants, inputs)"""
    constants = weights(random, FORMS[form])
    inputs = {"x": random.standard_normal((TOKENS, SIZE)).astype("f4"),
              "p": random.standard_normal((TOKENS, EXPERTS)).astype("f4")}
    yield "numbers", constants, inputs
    broken = {name: array.copy() for name, array in inputs.items()}
    broken["x"][2, 3] = np.nan
    if form != "relu-1":  # which makes 0 of it there, as the operator Relu does not
        yield "a token", constants, broken
    constants = {name: array.copy() for name, array in constants.items()}
    for name, number in zip(constants, (np.nan, np.inf, -np.inf, np.nan)):
        constants[name][3] = number
    inputs["p"][:, 3] = -50  # the last of four, and at most three are chosen
    yield "an expert", constants, inputs


def check(form, work, mesh):
    """The cases that are wrong."""
    wrong = []
    for case, constants, inputs in cases(np.random.default_rng(5), form):
        onnx.save(model(form, constants), work / "m.onnx")
        session = onnxruntime.InferenceSession(reference(form, constants), providers=["CPUExecutionProvider"])
        [expected] = session.run(None, inputs)
        np.savez(work / "in.npz", **inputs)
        run(["wsec", work / "m.onnx", "-o", work / "m.wafer", f"--mesh={mesh}", "--quiet"])
        run(["wse-run", work / "m.wafer", f"--weights={work}", "--inputs", work / "in.npz",
             "--outputs", work / "y.npz", "--quiet"])
        with np.load(work / "y.npz") as found:
            if not np.allclose(found["y"], expected, rtol=1e-5, atol=1e-5 * np.nanmax(np.abs(expected)),
                               equal_nan=True):
                wrong.append(f"{case}: {np.isnan(found['y']).sum()} NaN, expected {np.isnan(expected).sum()}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("forms", nargs="*", default=list(FORMS))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--mesh", required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    isGood = True
    for form in options.forms or FORMS:
        wrong = check(form, options.work, options.mesh)
        print(f"{form}: {'; '.join(wrong) or 'as onnxruntime'}", flush=True)
        isGood &= not wrong
    return 0 if isGood else 1


if __name__ == "__main__":
    sys.exit(main())
