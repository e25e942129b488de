#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixtures of experts: experts.py --work DIR --mesh WxH [--mode MODE] [FORM ...]

onnxruntime's MoE with every activation, its QMoE, and weights that a graph looks up for
each token; with numbers, with a token or its scores that are not numbers, and with
an expert of NaN and infinities that no token chooses. onnxruntime's values, and NaN
where it has NaN; the tokens of each expert as the scores have them; of a single
token the weights of the experts that it chose stream, and no others, or, in resident
mode, no more than their biases. A line a form; exit code 0 or 1.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from commands import run
from onnx import helper as h

TOKENS, SIZE, INNER, EXPERTS = 7, 16, 12, 8
MANY = 32  # experts, of which each row of PEs holds some features at a time, and a token takes its own
QUANTISED = 32  # of both sizes: blocks are of 16 numbers or more
SWIGLU = dict(activation_type="swiglu", activation_alpha=1.702, activation_beta=1.0)
FORMS = {
    "relu-1": dict(activation_type="relu", k=1),
    "silu-2": dict(activation_type="silu", k=2),
    "gelu-2": dict(activation_type="gelu", k=2, normalize_routing_weights=1),
    "identity-3": dict(activation_type="identity", k=3, normalize_routing_weights=1),
    "swiglu-interleaved": dict(SWIGLU, k=2, swiglu_fusion=1, swiglu_limit=0.5),
    "swiglu-halves": dict(SWIGLU, k=2, swiglu_fusion=2, normalize_routing_weights=1),
    "silu-third": dict(activation_type="silu", k=2),
    "looked-up": dict(k=2),
    "4-bits": dict(SWIGLU, k=2, swiglu_fusion=1, expert_weight_bits=4),
    "4-bits-zeros": dict(activation_type="silu", k=2, expert_weight_bits=4),
    "4-bits-blocks-zeros": dict(SWIGLU, k=2, swiglu_fusion=1, expert_weight_bits=4, block_size=16,
                                normalize_routing_weights=1),
    "2-bits-blocks-weights": dict(activation_type="silu", k=3, expert_weight_bits=2, block_size=16),
    "8-bits": dict(activation_type="gelu", k=3, expert_weight_bits=8),
    "many-silu-4": dict(activation_type="silu", k=4, normalize_routing_weights=1),
    "many-swiglu-4": dict(SWIGLU, k=4, swiglu_fusion=1),
    "many-looked-up": dict(k=5),
    "token-relu-1": dict(activation_type="relu", k=1),
    "token-silu-2": dict(activation_type="silu", k=2, normalize_routing_weights=1),
    "token-swiglu": dict(SWIGLU, k=2, swiglu_fusion=1),
    "token-looked-up": dict(k=4),
}


def tokens_of(form):
    return 1 if form.startswith("token") else TOKENS


def experts_of(form):
    return MANY if form.startswith("many") else EXPERTS


def size_of(form):
    return QUANTISED if "bits" in form else SIZE


def mixing(form):
    """The input, if any, by which results are added instead of by the scores."""
    return ["r"] if "weights" in form else []


def packed(numbers, bits):
    """Along the last axis, lowest bits first, in whole bytes."""
    each = 8 // bits
    padding = [(0, 0)] * (numbers.ndim - 1) + [(0, -numbers.shape[-1] % each)]
    numbers = np.pad(numbers, padding).reshape(*numbers.shape[:-1], -1, each)
    return (numbers << bits * np.arange(each)).sum(-1).astype(np.uint8)


def quantised(random, form, shape):
    """Weights of some bits, their scales and zero points."""
    bits, block = FORMS[form]["expert_weight_bits"], FORMS[form].get("block_size", 0)
    each = (*shape[:-1], shape[-1] // block) if block else shape[:-1]
    found = {"w": packed(random.integers(0, 1 << bits, shape), bits),
             "s": (random.uniform(1, 3, each) / (1 << bits)).astype("f4")}
    return found | ({"z": packed(random.integers(0, 1 << bits, each), bits)} if "zeros" in form else {})


def of_bits(random, form, how):
    up = QUANTISED * (2 if how["activation_type"] == "swiglu" else 1)
    found = {}
    for number, shape in (("1", (EXPERTS, up, QUANTISED)), ("2", (EXPERTS, QUANTISED, QUANTISED))):
        found |= {kind + number: array for kind, array in quantised(random, form, shape).items()}
        found["b" + number] = 0.4 * random.standard_normal(shape[:-1]).astype("f4")
    return found


def weights(random, form, how):
    if "bits" in form:
        return of_bits(random, form, how)
    up = INNER * (2 if how.get("activation_type") == "swiglu" else 1)
    shapes = {"w1": (up, SIZE), "b1": (up,), "w2": (SIZE, INNER), "b2": (SIZE,)}
    if "third" in form:
        shapes |= {"w3": shapes["w1"], "b3": shapes["b1"]}
    return {name: 0.4 * random.standard_normal((experts_of(form), *shape)).astype("f4")
            for name, shape in shapes.items()}


def looked_up(how, tokens):
    """What exporters write: weights of its experts beside each token."""
    k = how["k"]
    node, constants = h.make_node, {
        "k": [k], "one": [1], "repeats": [tokens, k, SIZE], "rows": [tokens * k, SIZE, 1],
        "count": [tokens * k], "column": [tokens * k, 1], "sums": [tokens, k, SIZE], "end": [2]}
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
    nodes = [h.make_node("MoE", ["x", "p", "w1", "b1", "w2", "b2"] + ["w3", "b3"] * ("w3" in constants), ["y"],
                         "experts", domain="com.microsoft", **how)]
    tokens, size = tokens_of(form), size_of(form)
    if "bits" in form:
        names = ["x", "p", "w1", "s1", "b1", "w2", "s2", "b2", "", "", "", "z1", "z2", "", "r"]
        given = [*constants, "x", "p", *mixing(form)]
        nodes = [h.make_node("QMoE", [name * (name in given) for name in names], ["y"], "experts",
                             domain="com.microsoft", **how)]
    if "looked-up" in form:
        nodes, more = looked_up(how, tokens)
        constants = constants | more
    value = h.make_tensor_value_info
    graph = h.make_graph(
        nodes, form, [value("x", 1, [tokens, size]),
                      *(value(name, 1, [tokens, experts_of(form)]) for name in ["p", *mixing(form)])],
        [value("y", 1, [tokens, size])],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()])
    return h.make_model(graph, ir_version=9, opset_imports=[h.make_opsetid("", 17),
                                                            h.make_opsetid("com.microsoft", 1)])


def reference(form, constants):
    """For onnxruntime, which knows gates only beside what they let through."""
    if form == "swiglu-halves":
        order = np.arange(2 * INNER).reshape(2, INNER).T.ravel()
        constants = constants | {name: constants[name][:, order] for name in ("w1", "b1")}
        return model(form, constants, swiglu_fusion=1).SerializeToString()
    if form == "silu-third":
        both = {name + "1": np.stack([constants[name + "1"], constants[name + "3"]], 2) for name in "wb"}
        both = {name: array.reshape(EXPERTS, 2 * INNER, *array.shape[3:]) for name, array in both.items()}
        constants = {name: both.get(name, constants[name]) for name in ("w1", "b1", "w2", "b2")}
        return model(form, constants, activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.0,
                     activation_beta=0.0).SerializeToString()
    return model(form, constants).SerializeToString()


def cases(random, form):
    """(what is not a number, constants, inputs)"""
    constants = weights(random, form, FORMS[form])
    tokens = tokens_of(form)
    inputs = {"x": random.standard_normal((tokens, size_of(form))).astype("f4"),
              "p": random.standard_normal((tokens, experts_of(form))).astype("f4")}
    inputs |= {name: random.uniform(0, 1, (tokens, experts_of(form))).astype("f4") for name in mixing(form)}
    yield "numbers", constants, inputs
    broken = {name: array.copy() for name, array in inputs.items()}
    broken["x"][tokens // 2, 3] = np.nan
    if "relu-1" not in form:  # which makes 0 of it there, as the operator Relu does not
        yield "a token", constants, broken
    if mixing(form):
        return
    yield "scores", constants, {name: array.copy() for name, array in inputs.items()}
    if "bits" in form:
        return
    constants = {name: array.copy() for name, array in constants.items()}
    for name, number in zip(constants, (np.nan, np.inf, -np.inf, np.nan, np.nan, np.nan)):
        constants[name][5] = number
    inputs["p"][:, 5] = -50  # the last of eight, and at most four are chosen
    yield "an expert", constants, inputs


def loads(form, scores):
    """How many tokens choose each expert."""
    chosen = np.argsort(-scores, kind="stable")[:, :FORMS[form]["k"]]
    return np.bincount(chosen.ravel(), minlength=experts_of(form)).tolist()


def differences(form, case, report, constants, inputs, mode):
    """What is wrong in the report of a run."""
    [mixture] = report["experts"]
    if case != "scores" and mixture["tokens"] != loads(form, inputs["p"]):
        yield f"{mixture['tokens']} tokens of experts, expected {loads(form, inputs['p'])}"
    each = sum(array.nbytes for array in constants.values()) // experts_of(form)
    streamed, k = report["weights"]["streamed_bytes"], FORMS[form]["k"]
    most = (k * each, k * each + each // 8) if mode == "stream" else (0, k * each // 8)
    if (form.startswith("many") or (mode != "stream" and tokens_of(form) > 1)) and sum(kernel["kind"] == "matmul" for kernel in report["kernels"]) > 4:
        yield "a product for each expert"
    if tokens_of(form) == 1 and not most[0] <= streamed < most[1]:
        yield f"{streamed} bytes streamed, expected {most[0]} to {most[1]}"


def check(form, work, options):
    """The cases that are wrong."""
    wrong = []
    for case, constants, inputs in cases(np.random.default_rng(5), form):
        onnx.save(model(form, constants), work / "m.onnx")
        session = onnxruntime.InferenceSession(reference(form, constants), providers=["CPUExecutionProvider"])
        [expected] = session.run(None, inputs)
        if case == "scores":
            inputs["p"][tokens_of(form) // 2, 2] = np.nan
            expected[tokens_of(form) // 2] = np.nan
        np.savez(work / "in.npz", **inputs)
        run(["wsec", work / "m.onnx", "-o", work / "m.wafer", f"--mesh={options.mesh}",
             f"--mode={options.mode}", "--quiet"])
        run(["wse-run", work / "m.wafer", f"--weights={work}", "--inputs", work / "in.npz",
             "--outputs", work / "y.npz", f"--report={work / 'run.json'}", "--quiet"])
        report = json.loads((work / "run.json").read_text())
        wrong += [f"{case}: {its}" for its in differences(form, case, report, constants, inputs, options.mode)]
        with np.load(work / "y.npz") as found:
            largest = np.nan_to_num(np.abs(expected)).max()
            if not np.allclose(found["y"], expected, rtol=1e-5, atol=1e-5 * largest, equal_nan=True):
                wrong.append(f"{case}: {np.isnan(found['y']).sum()} NaN, expected {np.isnan(expected).sum()}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("forms", nargs="*", default=list(FORMS))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--mesh", required=True)
    parser.add_argument("--mode", default="stream")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    isGood = True
    for form in options.forms or FORMS:
        wrong = check(form, options.work, options)
        print(f"{form}: {'; '.join(wrong) or 'as onnxruntime'}", flush=True)
        isGood &= not wrong
    return 0 if isGood else 1


if __name__ == "__main__":
    sys.exit(main())
