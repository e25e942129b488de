#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An encoder compiled once for a range of lengths, called with several, beside onnxruntime.

usage: lengths.py --work DIR [--batch N] [--mesh WxH] [--engine NAME] [--model FILE.onnx] [--write KIND FILE.onnx]

Without --model the encoder is a small one with exporters' ways to say lengths: positions sliced by Shape, masks of
padding, heads by Reshape; its outputs are all tokens, the first, and means, by the mask and without.
With --write it writes a model that is to be refused. Exit code 1 where a call differs.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import wsec  # noqa: E402
from wsec.tools import InputError  # noqa: E402

MOST, WIDTH, HEADS, VOCABULARY, LAYERS = 128, 32, 2, 31, 1


class Graph:
    def __init__(self):
        self.nodes, self.initializers, self.random = [], [], np.random.default_rng(0)

    def add(self, op, *inputs, **attributes):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, array, name=None):
        name = name or f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, *shape):
        return self.constant(self.random.normal(0, 0.4, shape).astype(np.float32), f"weight_{len(self.initializers)}")

    def linear(self, x, rows, columns):
        return self.add("Add", self.add("MatMul", x, self.weight(rows, columns)), self.weight(columns))

    def norm(self, x):
        return self.add("LayerNormalization", x, self.weight(WIDTH), self.weight(WIDTH), epsilon=1e-5)

    def heads(self, x):
        split = self.add("Reshape", x, self.constant(np.array([0, 0, HEADS, WIDTH // HEADS])))
        return self.add("Transpose", split, perm=[0, 2, 1, 3])

    def layer(self, x, *biases):
        q, k, v = (self.heads(self.linear(x, WIDTH, WIDTH)) for _ in range(3))
        scores = self.add("MatMul", q, self.add("Transpose", k, perm=[0, 1, 3, 2]))
        scores = self.add("Div", scores, self.constant(np.float32((WIDTH // HEADS)**0.5)))
        for bias in biases:
            scores = self.add("Add", scores, bias)
        context = self.add("Transpose", self.add("MatMul", self.add("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        context = self.add("Reshape", context, self.constant(np.array([0, 0, WIDTH])))
        x = self.norm(self.add("Add", x, self.linear(context, WIDTH, WIDTH)))
        inner = self.linear(x, WIDTH, 4 * WIDTH)
        erf = self.add("Erf", self.add("Div", inner, self.constant(np.float32(2**0.5))))
        gelu = self.add("Mul", self.add("Mul", inner, self.add("Add", erf, self.constant(np.float32(1)))),
                        self.constant(np.float32(0.5)))
        return self.norm(self.add("Add", x, self.linear(gelu, 4 * WIDTH, WIDTH)))

    def encoder(self):
        ones = self.constant(np.array([1]))
        count = self.add("Gather", self.add("Shape", "input_ids"), ones, axis=0)
        positions = self.add("Slice", self.constant(np.arange(MOST)), self.constant(np.array([0])), count)
        x = self.add("Add", self.add("Gather", self.weight(VOCABULARY, WIDTH), "input_ids"),
                     self.add("Gather", self.weight(MOST, WIDTH), positions))
        x = self.norm(x)
        self.positions = self.add("Cast", positions, to=TensorProto.FLOAT)
        mask = self.add("Cast", "attention_mask", to=TensorProto.FLOAT)
        bias = self.add("Mul", self.add("Sub", self.constant(np.float32(1)),
                                        self.add("Unsqueeze", mask, self.constant(np.array([1, 2])))),
                        self.constant(np.float32(-10000)))
        for _ in range(LAYERS):
            x = self.layer(x, bias)
        return x, mask

    def outputs(self):
        x, mask = self.encoder()
        kept = self.add("Unsqueeze", mask, self.constant(np.array([2])))
        one = self.constant(np.array([1]))
        sums = self.add("ReduceSum", self.add("Mul", x, kept), one, keepdims=0)
        by_mask = self.add("Div", sums, self.add("ReduceSum", kept, one, keepdims=0))
        first = self.add("Gather", x, self.constant(np.array(0)), axis=1)
        return {"tokens": x, "positions": self.positions, "first": self.add("Tanh", self.linear(first, WIDTH, WIDTH)), "sentence": by_mask,
                "mean": self.add("ReduceMean", x, one, keepdims=0) if self.opset >= 18 else
                self.add("ReduceMean", x, axes=[1], keepdims=0),
                "largest": self.add("ReduceMax", x, axes=[1], keepdims=0) if self.opset < 18 else
                self.add("ReduceMax", x, one, keepdims=0)}

    opset = 17

    def special(self, kind):
        """What is not the same at each length; "alone", where nothing asks for the length; "replaced", scores that are
        replaced behind a bias; "causal", tokens that see none behind them; "counted", positions that are running sums of a mask, and
        "backward", from the end; "relative", biases of each head by how far apart tokens are; "infinite", numbers behind those of a call that are none; "cut", tokens of what has no length."""
        bare = ("alone", "replaced", "cut", "branch", "trips", "clamped", "causal", "counted", "backward", "relative")
        x = "" if kind in bare else self.encoder()[0]
        at = {"last": lambda: self.add("Gather", x, self.constant(np.array(-1)), axis=1),
              "shifted": lambda: self.add("Slice", x, self.constant(np.array([1])), self.constant(np.array([MOST])),
                                          self.constant(np.array([1]))),
              "flat": lambda: self.add("Reshape", x, self.constant(np.array([-1]))),
              "joined": lambda: self.add("Concat", x, x, axis=1),
              "root": lambda: self.add("Mul", x, self.add("Sqrt", self.add(
                  "Cast", self.add("Gather", self.add("Shape", "input_ids"), self.constant(np.array(1)), axis=0),
                  to=TensorProto.FLOAT))),
              "alone": lambda: self.linear(self.embedded(), WIDTH, WIDTH),
              "replaced": lambda: self.replaced(self.embedded()),
              "causal": lambda: self.layer(self.embedded(), self.causal(), self.padding()),
              "counted": lambda: self.layer(self.counted(0), self.padding()),
              "backward": lambda: self.layer(self.counted(1), self.padding()),
              "relative": lambda: self.layer(self.embedded(), self.relative(), self.padding()),
              "cut": lambda: self.add("Add", self.embedded(), self.add(
                  "Slice", self.linear(self.weight(1, MOST, WIDTH), WIDTH, WIDTH), self.constant(np.array([0])),
                  self.add("Reshape", self.length(), self.constant(np.array([1]))), self.constant(np.array([1])))),
              "infinite": lambda: self.add("MatMul", self.add("Softmax", self.add("MatMul", x, self.add(
                  "Transpose", x, perm=[0, 2, 1])), axis=-1), self.infinite()),
              "threshold": lambda: self.above(x, 5),
              "few": lambda: self.above(x, 2),
              "branch": lambda: self.branch(self.embedded()),
              "trips": lambda: self.trips(self.embedded()),
              "clamped": lambda: self.clamped(self.embedded()),
              "most": lambda: self.add("Mul", x, self.add("Cast", self.add("Max", self.length(), self.constant(np.array(2))),
                                                         to=TensorProto.FLOAT)),
              "least": lambda: self.add("Mul", x, self.add("Cast", self.add("Min", self.length(), self.constant(np.array(5))),
                                                          to=TensorProto.FLOAT))}
        return {"out": at[kind]()}

    def above(self, x, length):
        return self.add("Where", self.add("Greater", self.length(), self.constant(np.array(length))), x, self.add("Neg", x))

    def is_one(self):
        return self.add("Equal", self.length(), self.constant(np.array(1)))

    def body(self, op, *inputs):
        """Of an If, or of a Loop, whose own operand is "carried"."""
        values = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in (
            ("trip", TensorProto.INT64, []), ("goes", TensorProto.BOOL, []), ("carried", TensorProto.FLOAT, None),
            (op, TensorProto.FLOAT, None), ("went", TensorProto.BOOL, []))]
        nodes = [helper.make_node(op, list(inputs), [op], name=op)]
        if "carried" not in inputs:
            return helper.make_graph(nodes, op, [], values[3:4])
        nodes.append(helper.make_node("Identity", ["goes"], ["went"]))
        return helper.make_graph(nodes, op, values[:3], [values[4], values[3]])

    def branch(self, x):
        """A branch of its own at length 1, and a node that nobody reads."""
        self.add("Neg", self.add("Max", self.length(), self.constant(np.array(2))))
        return self.add("If", self.is_one(), then_branch=self.body("Neg", x), else_branch=self.body("Relu", x))

    def trips(self, x):
        trips = self.add("Add", self.add("Cast", self.is_one(), to=TensorProto.INT64), self.constant(np.array(1)))
        return self.add("Loop", trips, "", x, body=self.body("Add", "carried", "carried"))

    def clamped(self, x):
        """What differs at length 1 is read by what does not, or by nobody."""
        length, two = self.length(), self.constant(np.array(2))
        self.add("Max", length, two)
        self.add("If", self.is_one(), then_branch=self.body("Neg", x), else_branch=self.body("Relu", x))
        least = self.add("Min", self.add("Max", length, two), length)
        return self.add("Mul", x, self.add("Cast", least, to=TensorProto.FLOAT))

    def embedded(self):
        return self.add("Gather", self.weight(VOCABULARY, WIDTH), "input_ids")

    def padding(self):
        hidden = self.add("Sub", self.constant(np.float32(1)), self.add("Cast", "attention_mask", to=TensorProto.FLOAT))
        return self.add("Mul", self.add("Unsqueeze", hidden, self.constant(np.array([1, 2]))), self.constant(np.float32(-1e4)))

    def apart(self):
        """How many tokens a key is ahead of a query, of each two."""
        zero, one = self.constant(np.array(0)), self.constant(np.array(1))
        places = self.add("Range", zero, self.length(), one)
        axes = [self.constant(np.array([axis])) for axis in (0, 1)]
        return self.add("Sub", *(self.add("Unsqueeze", places, its) for its in axes))

    def causal(self):
        later = self.add("Greater", self.apart(), self.constant(np.array(0)))
        hidden = self.add("Where", later, self.constant(np.float32(-3e38)), self.constant(np.float32(0)))
        return self.add("Unsqueeze", hidden, self.constant(np.array([0, 1])))

    def counted(self, reverse):
        places = self.add("Mul", self.add("CumSum", "attention_mask", self.constant(np.array(1)), reverse=reverse), "attention_mask")
        return self.add("Add", self.embedded(), self.add("Gather", self.weight(MOST + 1, WIDTH), places))

    def relative(self):
        apart = self.add("Min", self.add("Max", self.apart(), self.constant(np.array(-5))), self.constant(np.array(5)))
        bias = self.add("Gather", self.weight(11, HEADS), self.add("Add", apart, self.constant(np.array(5))))
        return self.add("Unsqueeze", self.add("Transpose", bias, perm=[2, 0, 1]), self.constant(np.array([0])))

    def infinite(self):
        table = np.full((1, MOST, WIDTH), np.inf, np.float32)
        table[:, :MOST // 2] = self.random.normal(0, 1, (1, MOST // 2, WIDTH))
        return self.add("Slice", self.constant(table), self.constant(np.array([0])), self.add(
            "Reshape", self.length(), self.constant(np.array([1]))), self.constant(np.array([1])))

    def replaced(self, x):
        q, k, v = (self.heads(self.linear(x, WIDTH, WIDTH)) for _ in range(3))
        bias = self.add("Unsqueeze", self.add("Cast", "attention_mask", to=TensorProto.FLOAT), self.constant(np.array([1, 2])))
        scores = self.add("Add", self.add("MatMul", q, self.add("Transpose", k, perm=[0, 1, 3, 2])), bias)
        seen = self.add("Unsqueeze", self.add("Cast", "attention_mask", to=TensorProto.BOOL), self.constant(np.array([1, 2])))
        scores = self.add("Where", seen, scores, self.constant(np.float32(-2)))
        context = self.add("Transpose", self.add("MatMul", self.add("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        return self.add("Reshape", context, self.constant(np.array([0, 0, WIDTH])))

    def length(self):
        return self.add("Gather", self.add("Shape", "input_ids"), self.constant(np.array(1)), axis=0)

    def model(self, outputs, batch):
        for name, value in outputs.items():
            self.nodes.append(helper.make_node("Identity", [value], [name], name=name))
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, [batch, "sequence"])
                  for name in ("input_ids", "attention_mask")]
        graph = helper.make_graph(self.nodes, "encoder", inputs,
                                  [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
                                  self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)


def feeds(session, random, length, batch):
    given = {}
    for its in session.get_inputs():
        if "mask" in its.name:
            # Some callers pad the end of a sequence themselves.
            ends = [max(1, length - 2 * i) for i in range(batch)]
            given[its.name] = np.array([[int(at < end) for at in range(length)] for end in ends])
        elif "type" in its.name:
            given[its.name] = np.zeros((batch, length), np.int64)
        else:
            given[its.name] = random.integers(1, VOCABULARY, (batch, length))
    return given


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--mesh", default="4x4")
    parser.add_argument("--engine", default="burst")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--dim", action="append", default=[], help="of --model, NAME=N")
    parser.add_argument("--sequence", default="sequence", help="the dimension's name in --model")
    parser.add_argument("--most", type=int, default=MOST, help="the longest (default: %(default)s)")
    parser.add_argument("--lengths", default="1,7,64,128")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--write", nargs=2)
    words = parser.parse_args()
    if words.write:
        graph = Graph()
        onnx.save(graph.model(graph.special(words.write[0]), 1), words.write[1])
        return 0
    model = words.model or words.work / "encoder.onnx"
    if not words.model:
        graph = Graph()
        onnx.save(graph.model(graph.outputs(), words.batch), model)
    reference = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    dims = dict(its.split("=") for its in words.dim) | {words.sequence: f"1..{words.most}"}
    program = wsec.compile(model, words.work / "encoder.wafer", dims=dims, mesh=words.mesh)
    session, random = program.session(engine=words.engine), np.random.default_rng(1)
    worst, before, rises = 0.0, 0.0, True
    for length in map(int, words.lengths.split(",")):
        given = feeds(reference, random, length, words.batch)
        expected = dict(zip([its.name for its in reference.get_outputs()], reference.run(None, given)))
        made = session.run(given)
        for name, value in expected.items():
            if made[name].shape != value.shape:
                print(f"{name}: {made[name].shape}, expected {value.shape}")
                return 1
            worst = max(worst, float(np.abs(made[name] - value).max()))
        cycles = session.counts.cycles
        rises &= cycles >= before
        print(f"length {length}: {cycles:.0f} cycles")
        before = cycles
    ran = program.run(given, engine=words.engine)
    same = all(np.array_equal(ran[name], made[name]) for name in expected)
    print(f"largest difference {worst:.2g}, wse-run {'agrees' if same else 'differs'}, cycles {'rise' if rises else 'FALL'}")
    try:
        session.run(feeds(reference, random, words.most + 1, words.batch))
    except InputError as error:
        print(error)
    return 0 if worst <= words.tolerance and same and rises else 1


if __name__ == "__main__":
    sys.exit(main())
