#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NaN and infinities in attention: not_numbers.py --work DIR --mesh WxH [FORM ...]

Each form of attention, with a NaN or an infinity in a query, or in a key or a
value of the first token, which all queries see, or of the last, which masks hide
from some. NaN and infinities have to be where onnxruntime has them, in each case
by one of the engines, and numbers equal to 1e-5 of the largest. A line a form;
exit code 0 or 1.
"""

import argparse
import itertools
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from commands import run
from onnx import TensorProto as T
from onnx import helper as h

ENGINES = ("burst", "strips", "wavelet")
BATCH, HEADS, TOKENS, SIZE = 2, 2, 4, 16
LOWEST, INFINITY = float(np.finfo(np.float32).min), float("inf")
EVERY = np.ones((TOKENS, TOKENS), bool)
CAUSAL = np.tril(EVERY)
KEYS = np.array([[1, 1, 1, 0], [0, 1, 1, 0]], np.int64)  # which take part, by batch element
NUMBERS = {"NaN": np.nan, "infinity": INFINITY, "-infinity": -INFINITY}
# What is not a number: an operand, and its token.
PLACES = [(name, token) for name in "qkv" for token in (0, TOKENS - 1)]


class Graph:
    """An attention of inputs q, k, v [batch, tokens, heads * size], and perhaps mask; its result is y."""

    def __init__(self):
        self.nodes, self.constants, self.inputs = [], [], {}

    def constant(self, array):
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def input(self, name, array):
        self.inputs[name] = array
        return name

    def node(self, kind, *inputs, name="", **attributes):
        name = name or f"v{len(self.nodes)}"
        domain = "com.microsoft" if attributes.pop("fused", False) else ""
        self.nodes.append(h.make_node(kind, inputs, [name], name, domain=domain, **attributes))
        return name

    def heads(self, x, perm=(0, 2, 1, 3)):
        split = self.node("Reshape", x, self.constant(np.array([0, 0, HEADS, SIZE])))
        return self.node("Transpose", split, perm=perm)

    def scores(self):
        product = self.node("MatMul", self.heads("q"), self.heads("k", (0, 2, 3, 1)))
        return self.node("Mul", product, self.constant(np.float32(SIZE**-0.5)))

    def weigh(self, scores, guard=False):
        weights = self.node("Softmax", scores, axis=-1)
        if guard:
            weights = self.node("Where", self.node("IsNaN", weights), self.constant(np.float32(0)), weights)
        merged = self.node("Transpose", self.node("MatMul", weights, self.heads("v")), perm=[0, 2, 1, 3])
        self.node("Reshape", merged, self.constant(np.array([0, 0, HEADS * SIZE])), name="y")
        return self

    def bias(self, keep, hidden):
        return self.node("Where", keep, self.constant(np.float32(0)), self.constant(np.float32(hidden)))

    def keys(self):
        mask = self.node("Cast", self.input("mask", KEYS), to=T.BOOL)
        return self.node("Unsqueeze", mask, self.constant(np.array([1, 2])))

    def model(self):
        shape = (BATCH, TOKENS, HEADS * SIZE)
        values = {name: np.zeros(shape, "f4") for name in "qkv"} | self.inputs
        inputs = [h.make_tensor_value_info(name, h.np_dtype_to_tensor_dtype(value.dtype), value.shape)
                  for name, value in values.items()]
        outputs = [h.make_tensor_value_info("y", T.FLOAT, shape)]
        return h.make_model(h.make_graph(self.nodes, "attention", inputs, outputs, self.constants), ir_version=10,
                            opset_imports=[h.make_opsetid("", 23), h.make_opsetid("com.microsoft", 1)])


def added(hidden, guard=False, cap=0.0):
    """A causal mask, known, that is added."""
    g = Graph()
    scores = g.scores()
    if cap:
        scores = g.node("Mul", g.node("Tanh", g.node("Div", scores, g.constant(np.float32(cap)))),
                        g.constant(np.float32(cap)))
    mask = g.constant(np.where(CAUSAL, 0, hidden).astype("f4")[None, None])
    return g.weigh(g.node("Add", scores, mask), guard)


def replaced(hidden, guard=False):
    """The same in place of scores."""
    g = Graph()
    return g.weigh(g.node("Where", g.constant(CAUSAL[None, None]), g.scores(), g.constant(np.float32(hidden))), guard)


def filled(hidden):
    """The same, filled: where(later, hidden, scores)."""
    g = Graph()
    later = g.constant(~CAUSAL[None, None])
    return g.weigh(g.node("Where", later, g.constant(np.float32(hidden)), g.scores()))


def triangle(hidden):
    """A causal mask of a Trilu, added."""
    g = Graph()
    full = g.constant(np.full((TOKENS, TOKENS), hidden, "f4"))
    return g.weigh(g.node("Add", g.scores(), g.node("Trilu", full, g.constant(np.array(1)), upper=1)))


def padded(hidden, causal, replace=False, guard=False):
    """Keys that an input hides, and perhaps later ones, by a mask or in place of scores."""
    g = Graph()
    keep = g.keys()
    if causal:
        keep = g.node("And", keep, g.constant(CAUSAL[None, None]))
    if replace:
        return g.weigh(g.node("Where", keep, g.scores(), g.constant(np.float32(hidden))), guard)
    return g.weigh(g.node("Add", g.scores(), g.bias(keep, hidden)), guard)


def twice(*masks):
    """Masks one after the other: numbers to add, or (keep, hidden) in place of scores where keep is false."""
    g = Graph()
    scores = g.scores()
    for mask in masks:
        if isinstance(mask, tuple):
            keep, hidden = mask
            keep = g.keys() if keep is KEYS else g.constant(keep[None, None])
            scores = g.node("Where", keep, scores, g.constant(np.float32(hidden)))
        else:
            scores = g.node("Add", scores, g.constant(mask))
    return g.weigh(scores)


def clamped(hidden, low):
    """A causal mask and one of keys, both added, and a clamp, as OPT has it."""
    g = Graph()
    scores = g.node("Add", g.scores(), g.constant(np.where(CAUSAL, 0, hidden).astype("f4")[None, None]))
    scores = g.node("Add", scores, g.bias(g.keys(), hidden))
    return g.weigh(g.node("Max", scores, g.constant(np.float32(low))))


def plain():
    g = Graph()
    return g.weigh(g.scores())


def operator(mask=None, **attributes):
    """ONNX's Attention."""
    g = Graph()
    operands = ["q", "k", "v"]
    if mask is not None:
        operands.append(g.constant(mask) if mask is not KEYS else g.node("And", g.keys(), g.constant(EVERY)))
    g.node("Attention", *operands, name="y", q_num_heads=HEADS, kv_num_heads=HEADS, **attributes)
    return g


def multi_head(keys=False, bias=None, known=True, **attributes):
    """onnxruntime's; its bias is known, or an input."""
    g = Graph()
    operands = ["q", "k", "v", "", "", ""]
    if keys:
        operands[4] = g.input("mask", KEYS.astype(np.int32))
    if bias is not None:
        operands[5] = g.constant(bias) if known else g.input("bias", bias)
    g.node("MultiHeadAttention", *operands, name="y", fused=True, num_heads=HEADS, **attributes)
    return g


def packed(keys=None, **attributes):
    """onnxruntime's older one, with weights that change nothing."""
    g = Graph()
    width = HEADS * SIZE
    x = g.node("Concat", "q", "k", "v", axis=-1)
    operands = [x, g.constant(np.eye(3 * width, dtype="f4")), g.constant(np.zeros(3 * width, "f4"))]
    if keys is not None:
        operands.append(g.input("mask", keys.astype(np.int32)))
    g.node("Attention", *operands, name="y", fused=True, num_heads=HEADS, qkv_hidden_sizes=[width] * 3, **attributes)
    return g


def grouped(last=(TOKENS - 1,) * BATCH, **attributes):
    g = Graph()
    g.node("GroupQueryAttention", "q", "k", "v", "", "", g.constant(np.array(last, np.int32)),
           g.constant(np.array(TOKENS, np.int32)), name="y", fused=True, num_heads=HEADS, kv_num_heads=HEADS,
           **attributes)
    return g


ADDED = np.where(CAUSAL, 0, -INFINITY).astype("f4")[None, None]
# Of one query all keys, of another all up to its own.
EMPTY = np.where([[0, 1, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0]], 0, -INFINITY).astype("f4")[None, None]
# Of relative positions: not a mask.
RELATIVE = 3 * np.random.default_rng(3).standard_normal((1, HEADS, TOKENS, TOKENS)).astype("f4")
FORMS = {
    "plain": plain(),
    "lowest added": added(LOWEST),
    "infinity added": added(-INFINITY),
    "lowest added to capped": added(LOWEST, cap=5.0),
    "infinity added, guarded": added(-INFINITY, guard=True),
    "lowest in place": replaced(LOWEST),
    "infinity in place": replaced(-INFINITY),
    "infinity in place, guarded": replaced(-INFINITY, guard=True),
    "ten thousand added": added(-1e4),
    "ten thousand in place": replaced(-1e4),
    "lowest filled": filled(LOWEST),
    "infinity filled": filled(-INFINITY),
    "lowest in a triangle": triangle(LOWEST),
    **{f"{'causal ' * causal}padding by {name}{' in place' * replace}{', guarded' * guard}":
       padded(hidden, causal, replace, guard)
       for name, hidden in (("lowest", LOWEST), ("infinity", -INFINITY), ("ten thousand", -1e4))
       for causal, replace, guard in itertools.product((False, True), repeat=3) if not (guard and hidden == -1e4)},
    **{f"positions added, {name}": twice(RELATIVE, (keep, hidden))
       for name, keep, hidden in (("lowest in place", CAUSAL, LOWEST), ("infinity in place", CAUSAL, -INFINITY),
                                  ("keys in place", KEYS, LOWEST), ("ten thousand in place", CAUSAL, -1e4))},
    **{f"{name} in place, positions added": twice((keep, hidden), RELATIVE)
       for name, keep, hidden in (("lowest", CAUSAL, LOWEST), ("keys", KEYS, -INFINITY), ("five", CAUSAL, 5.0))},
    "infinity in place, keys by lowest": twice((CAUSAL, -INFINITY), (KEYS, LOWEST)),
    "positions and ten thousand added": twice(RELATIVE, np.where(CAUSAL, 0, -1e4).astype("f4")[None, None]),
    "all ten thousand": twice(np.full((1, 1, TOKENS, TOKENS), -1e4, "f4")),
    "all but the last key by ten thousand and lowest": twice(
        np.array([-1e4, LOWEST, -1e4, 0], "f4").reshape(1, 1, 1, TOKENS)),
    **{f"{name}, clamped": clamped(hidden, LOWEST)
       for name, hidden in (("lowest", LOWEST), ("infinity", -INFINITY), ("ten thousand", -1e4))},
    "Attention": operator(),
    "Attention, causal": operator(is_causal=1),
    "Attention, causal, capped": operator(is_causal=1, softcap=5.0),
    "Attention, known bias": operator(ADDED),
    "Attention, lowest bias": operator(np.maximum(ADDED, LOWEST)),
    "Attention, padding": operator(KEYS),
    "Attention, causal padding": operator(KEYS, is_causal=1),
    "Attention, causal bias": operator(ADDED, is_causal=1),
    "Attention, a query without keys": operator(EMPTY),
    "Attention, causal, queries without keys": operator(EMPTY, is_causal=1),
    "Attention, causal positions": operator(RELATIVE, is_causal=1),
    "MultiHeadAttention": multi_head(),
    "MultiHeadAttention, causal": multi_head(unidirectional=1),
    "MultiHeadAttention, keys": multi_head(keys=True),
    "MultiHeadAttention, causal keys": multi_head(keys=True, unidirectional=1),
    "MultiHeadAttention, known bias": multi_head(bias=np.maximum(ADDED, LOWEST)),
    **{f"MultiHeadAttention, {'causal ' * causal}{'keys, ' * keys}{'known ' * known}positions":
       multi_head(keys, RELATIVE, known, unidirectional=int(causal))
       for causal, keys, known in itertools.product((False, True), repeat=3)},
    "packed Attention, causal": packed(unidirectional=1),
    "packed Attention, keys": packed(KEYS),
    "GroupQueryAttention": grouped(),
    "GroupQueryAttention, window": grouped(local_window_size=2),
    "GroupQueryAttention, capped": grouped(softcap=5.0),
    "GroupQueryAttention, capped window": grouped(softcap=5.0, local_window_size=2),
    "GroupQueryAttention, not causal": grouped(causal=0),
}


def cases(graph):
    """(what is not a number, inputs)"""
    random = np.random.default_rng(7)
    shape = (BATCH, TOKENS, HEADS, SIZE)
    numbers = {name: random.standard_normal(shape).astype("f4") for name in "qkv"}
    for (name, token), (kind, value) in itertools.product(PLACES, NUMBERS.items()):
        given = {key: array.copy() for key, array in numbers.items()}
        given[name][:, token, 0, 3] = value
        operands = {key: array.reshape(BATCH, TOKENS, -1) for key, array in given.items()}
        yield f"{kind} in {name}[{token}]", operands | graph.inputs


def is_right(expected, found):
    if not (np.array_equal(np.isnan(expected), np.isnan(found)) and
            np.array_equal(np.isinf(expected) * np.sign(expected), np.isinf(found) * np.sign(found), equal_nan=True)):
        return False
    finite = np.isfinite(expected)
    largest = np.abs(expected[finite]).max(initial=1)
    return np.abs(expected[finite] - found[finite]).max(initial=0) <= 1e-5 * largest


def check(form, work, mesh):
    """The cases that are wrong."""
    graph = FORMS[form]
    onnx.save(graph.model(), work / "m.onnx")
    session = onnxruntime.InferenceSession(work / "m.onnx", providers=["CPUExecutionProvider"])
    run(["wsec", work / "m.onnx", "-o", work / "m.wafer", f"--mesh={mesh}", "--quiet"])
    wrong, checked = [], 0
    for checked, (case, inputs) in enumerate(cases(graph), 1):
        [expected] = session.run(None, inputs)
        np.savez(work / "in.npz", **inputs)
        engine = ENGINES[checked % len(ENGINES)]
        run(["wse-run", work / "m.wafer", "--inputs", work / "in.npz", "--outputs", work / "y.npz",
             f"--engine={engine}", "--quiet"])
        with np.load(work / "y.npz") as found:
            if not is_right(expected, found["y"]):
                wrong.append(f"{case}, {engine}")
    return checked, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("forms", nargs="*", default=list(FORMS))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--mesh", required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    isGood = True
    for form in options.forms:
        checked, wrong = check(form, options.work, options.mesh)
        print(f"{form}: {checked - len(wrong)} of {checked}", flush=True)
        for case in wrong:
            print("  wrong:", case)
        isGood &= not wrong
    return 0 if isGood else 1


if __name__ == "__main__":
    sys.exit(main())
