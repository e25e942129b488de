# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients as the wafer computes them, held against PyTorch's autograd in f64.

Usage: gradients.py WORK FAMILY --mesh WxH [--only REGEX], FAMILY one of FAMILIES.

A model of all nodes of the family; its loss is the sum of what they give, times random numbers. Gradients of all
operands of floats, relative to the largest of each, are off by 1e-5 at most, on engines with the same bits. A line
an engine; names of nodes whose gradients are wrong.
"""

import argparse
import functools
import pathlib
import re

import numpy as np
import onnx
import torch
from onnx import TensorProto as T
from onnx import helper as h

import torch_graph
from commands import run

ENGINES = ["strips", "wavelet"]
TOLERANCE = 1e-5


class Graph:
    """Nodes, and random tensors that are their inputs."""

    def __init__(self):
        self.random = np.random.default_rng(0)
        self.nodes, self.inputs, self.constants, self.results = [], {}, {}, []
        self.wanted, self.case = [], ""

    def x(self, *shape, low=None, high=None, wanted=True):
        """An input of random floats, normally or evenly distributed."""
        value = self.random.standard_normal(shape) if low is None else self.random.uniform(low, high, shape)
        name = f"{self.case}.{len(self.inputs)}"
        self.inputs[name] = value.astype("f4")
        if wanted:
            self.wanted.append(name)
        return name

    def ids(self, most, *shape, low=None):
        name = f"{self.case}.{len(self.inputs)}"
        self.inputs[name] = self.random.integers(-most if low is None else low, most, shape)
        return name

    def constant(self, value):
        name = f"{self.case}.c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def node(self, operator, *operands, results=1, domain="", **attributes):
        names = [f"{self.case}.n{len(self.nodes)}" + (f".{i}" if i else "") for i in range(results)]
        operands = [o if isinstance(o, str) else self.constant(o) for o in operands]
        self.nodes.append(h.make_node(operator, operands, names, names[0], domain=domain, **attributes))
        return names if results > 1 else names[0]

    def result(self, value):
        self.results.append((self.case, value))


FAMILIES = {}


def case(family):
    def add(function):
        FAMILIES.setdefault(family, []).append(function)
        return function
    return add


@case("functions")
def unary(g):
    for name, low, high in [("Neg", -2, 2), ("Abs", -2, 2), ("Exp", -2, 2), ("Log", 0.1, 3), ("Sqrt", 0.1, 3),
                            ("Reciprocal", 0.3, 2), ("Tanh", -2, 2), ("Erf", -2, 2), ("Sigmoid", -3, 3), ("Sin", -3, 3),
                            ("Cos", -3, 3), ("Atan", -3, 3), ("Relu", -2, 2), ("Gelu", -3, 3), ("Softplus", -3, 3),
                            ("Softsign", -3, 3), ("Elu", -2, 2), ("Celu", -2, 2), ("LeakyRelu", -2, 2), ("HardSwish", -5, 5),
                            ("HardSigmoid", -5, 5), ("Mish", -3, 3), ("Tan", -1, 1), ("Asinh", -2, 2), ("Acosh", 1.2, 3),
                            ("Atanh", -0.8, 0.8), ("Asin", -0.8, 0.8), ("Acos", -0.8, 0.8), ("Sinh", -2, 2), ("Cosh", -2, 2)]:
        g.case = name
        g.result(g.node(name, g.x(3, 7, low=low, high=high)))
    g.case = "GeluTanh"
    g.result(g.node("Gelu", g.x(3, 7), approximate="tanh"))
    g.case = "Rsqrt"
    g.result(g.node("Reciprocal", g.node("Sqrt", g.x(3, 7, low=0.2, high=2))))
    g.case = "Steps"  # flat, beside what is not
    x = g.x(3, 7)
    g.result(g.node("Sum", *[g.node("Mul", x, g.node(step, x)) for step in ("Floor", "Ceil", "Round", "Sign")]))


@case("corners")
def corners(g):
    """Where functions have corners: PyTorch's choice."""
    values = np.array([[-1, 0, 0, 2, 0, 1, -2]], "f4")
    for name, make in [("relu", lambda x: g.node("Relu", x)), ("clip", lambda x: g.node("Clip", x, np.float32(-1), np.float32(1))),
                       ("abs", lambda x: g.node("Abs", x)), ("max", lambda x: g.node("Max", x, y)),
                       ("min", lambda x: g.node("Min", x, y)), ("square", lambda x: g.node("Pow", x, np.float32(2))),
                       ("cube", lambda x: g.node("Pow", x, np.float32(3)))]:
        g.case = "at_" + name
        x, y = g.x(1, 7), g.x(1, 7)
        g.inputs[x], g.inputs[y] = values, np.roll(values, 1)
        if name not in ("max", "min"):
            g.wanted.remove(y)
            del g.inputs[y]
        g.result(make(x))


@case("pairs")
def binary(g):
    for name in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Pow", "PRelu", "Sum", "Mean"):
        for shapes in [((3, 7), (3, 7)), ((2, 3, 7), (7,)), ((2, 3, 7), (1, 3, 1)), ((5, 1), (1, 6)), ((2, 3), ())]:
            if name == "PRelu" and shapes == ((5, 1), (1, 6)):
                continue
            g.case = f"{name}{len(g.inputs)}"
            low = 0.5 if name in ("Pow", "Div") else -2
            g.result(g.node(name, g.x(*shapes[0], low=low, high=2), g.x(*shapes[1], low=low, high=2)))
    g.case = "square"
    x = g.x(4, 6)
    g.result(g.node("Mul", x, x))
    g.case = "Mod"
    g.result(g.node("Mod", g.x(4, 6), g.x(4, 6, low=0.5, high=1), fmod=1))


@case("corners")
def choices(g):
    g.case = "Where"
    x, y, z = g.x(3, 7), g.x(3, 7), g.x(7)
    g.result(g.node("Where", g.node("Less", x, y), x, z))
    g.case = "WhereConstant"
    g.result(g.node("Where", np.arange(21).reshape(3, 7) % 3 == 0, g.x(3, 7), np.float32(2)))
    g.case = "Cast"
    g.result(g.node("Cast", g.node("Cast", g.x(3, 7), to=T.FLOAT), to=T.FLOAT))
    g.case = "uses"  # of one value, many
    x = g.x(2, 8)
    g.result(g.node("Add", g.node("Mul", g.node("Tanh", x), g.node("Exp", x)), g.node("Add", x, x)))


@case("movement")
def movement(g):
    i = lambda *numbers: np.array(numbers)
    for name, make in {
        "Reshape": lambda: g.node("Reshape", g.x(2, 3, 8), i(4, 12)),
        "Transpose": lambda: g.node("Transpose", g.x(2, 3, 8), perm=[2, 0, 1]),
        "Expand": lambda: g.node("Expand", g.x(3, 1), i(2, 3, 5)),
        "Squeeze": lambda: g.node("Squeeze", g.x(1, 5, 1, 4), i(0, 2)),
        "Slice": lambda: g.node("Slice", g.x(6, 9), i(1, 2), i(5, 7), i(0, 1), i(1, 1)),
        "SliceSteps": lambda: g.node("Slice", g.x(6, 9), i(1, 0), i(6, 9), i(0, 1), i(2, 3)),
        "SliceBack": lambda: g.node("Slice", g.x(6, 9), i(4, 8), i(-7, -10), i(0, 1), i(-1, -3)),
        "SliceOne": lambda: g.node("Slice", g.x(2, 6, 9), i(5), i(6), i(1), i(1)),
        "Concat": lambda: g.node("Concat", g.x(2, 3, 4), g.x(2, 3, 5), g.x(2, 3, 1), axis=2),
        "ConcatTokens": lambda: g.node("Concat", g.x(2, 3, 4), g.x(2, 1, 4), axis=1),
        "Pad": lambda: g.node("Pad", g.x(3, 4), i(1, 0, 2, 3)),
        "Unsqueeze": lambda: g.node("Unsqueeze", g.x(3, 4), i(0, 3)),
    }.items():
        g.case = name
        g.result(make())
    g.case = "Split"
    a, b, c = g.node("Split", g.x(2, 3, 10), i(3, 5, 2), results=3, axis=2)
    g.result(g.node("Concat", g.node("Tanh", b), c, a, axis=2))


@case("reductions")
def reductions(g):
    for operator in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceLogSumExp", "ReduceSumSquare", "ReduceL2"):
        for axes in ([-1], [1], [0, 1], [0, 2]):
            for keepdims in (0, 1):
                g.case = f"{operator}{len(g.inputs)}"
                g.result(g.node(operator, g.x(3, 4, 5), np.array(axes), keepdims=keepdims))
    g.case = "ReduceMaxTies"
    x = g.x(3, 4)
    g.inputs[x] = np.array([[1, 2, 2, 0], [3, 3, 3, 3], [0, 1, 0, 1]], "f4")
    g.result(g.node("ReduceMax", x, np.array([1]), keepdims=0))


@case("products")
def products(g):
    for shapes in [((5, 6), (6, 4)), ((2, 5, 6), (6, 4)), ((2, 3, 5, 6), (2, 3, 6, 4)), ((2, 3, 5, 6), (3, 6, 4)),
                   ((5, 6), (2, 6, 4)), ((6,), (6, 4)), ((5, 6), (6,)), ((1, 7), (7, 5))]:
        g.case = f"MatMul{len(g.inputs)}"
        g.result(g.node("MatMul", g.x(*shapes[0]), g.x(*shapes[1])))
    g.case = "Gemm"
    g.result(g.node("Gemm", g.x(5, 6), g.x(4, 6), g.x(4), transB=1, alpha=0.5, beta=2.0))
    g.case = "constant"
    w, b = (g.random.standard_normal(s).astype("f4") for s in ((6, 9), (9,)))
    g.result(g.node("Add", g.node("MatMul", g.x(2, 5, 6), w), b))
    g.case = "Conv"
    g.result(g.node("Conv", g.x(1, 3, 8, 8), g.x(5, 3, 4, 4), strides=[4, 4]))


@case("norms")
def norms(g):
    g.case = "LayerNormalization"
    g.result(g.node("LayerNormalization", g.x(2, 5, 12), g.x(12), g.x(12), epsilon=1e-5))
    g.case = "LayerNormNoBias"
    g.result(g.node("LayerNormalization", g.x(7, 10), g.x(10), epsilon=1e-3))
    g.case = "RMS"
    g.result(g.node("RMSNormalization", g.x(2, 5, 12), g.x(12), epsilon=1e-5))
    g.case = "Softmax"
    g.result(g.node("Softmax", g.x(2, 5, 12)))
    g.case = "SoftmaxTokens"
    g.result(g.node("Softmax", g.x(2, 5, 12), axis=1))
    g.case = "LogSoftmax"
    g.result(g.node("LogSoftmax", g.x(5, 12)))


@case("lookups")
def lookups(g):
    g.case = "Gather"
    g.result(g.node("Gather", g.x(11, 6), g.ids(11, 2, 5)))
    g.case = "GatherTwice"
    table = g.x(7, 4)
    g.result(g.node("MatMul", g.node("Gather", table, g.ids(7, 3, 4)), g.node("Transpose", table, perm=[1, 0])))
    g.case = "GatherLast"
    g.result(g.node("Gather", g.x(2, 5, 6), np.array(4), axis=1))
    g.case = "GatherFeatures"
    g.result(g.node("Gather", g.x(3, 8), np.array([1, 1, 6]), axis=1))
    g.case = "GatherElements"
    g.result(g.node("GatherElements", g.x(5, 6), g.ids(6, 5, 3), axis=1))
    g.case = "TopK"  # shares of experts, as a router has them
    g.result(g.node("Softmax", g.node("TopK", g.x(2, 5, 12), np.array([3]), results=2)[0]))
    g.case = "CumSum"
    g.result(g.node("Tanh", g.node("CumSum", g.x(2, 5, 6), np.array(1), exclusive=1)))
    g.case = "CumSumLast"
    g.result(g.node("Tanh", g.node("CumSum", g.x(3, 7), np.array(1), reverse=1)))
    g.case = "TopKSmallest"
    g.result(g.node("TopK", g.node("Tanh", g.x(6, 7)), np.array([2]), results=2, axis=0, largest=0)[0])


def heads(g, x, shape, number):
    x = g.node("Reshape", x, np.array([shape[0], shape[1], number, shape[2] // number]))
    return g.node("Transpose", x, perm=[0, 2, 1, 3])


def attention_of(g, batch, queries, keys, size, number, groups, mask=None, softcap=None):
    """Grouped heads, a mask (an addend), scores bounded."""
    q, k, v = g.x(batch, queries, number * size), g.x(batch, keys, groups * size), g.x(batch, keys, groups * size)
    q = heads(g, q, (batch, queries, number * size), number)
    k, v = (heads(g, x, (batch, keys, groups * size), groups) for x in (k, v))
    if groups != number:
        k, v = (g.node("Reshape", g.node("Expand", g.node("Unsqueeze", x, np.array([2])),
                                         np.array([batch, groups, number // groups, keys, size])),
                       np.array([batch, number, keys, size])) for x in (k, v))
    scores = g.node("Mul", g.node("MatMul", q, g.node("Transpose", k, perm=[0, 1, 3, 2])), np.float32(size**-0.5))
    if softcap:
        scores = g.node("Mul", g.node("Tanh", g.node("Div", scores, np.float32(softcap))), np.float32(softcap))
    if mask is not None:
        scores = g.node("Add", scores, mask)
    y = g.node("Transpose", g.node("MatMul", g.node("Softmax", scores), v), perm=[0, 2, 1, 3])
    return g.node("Reshape", y, np.array([batch, queries, number * size]))


@case("attention")
def attention(g):
    causal = np.where(np.tril(np.ones((6, 6), bool)), 0, np.float32(-3.4028235e38)).astype("f4")
    g.case = "plain"
    g.result(attention_of(g, 2, 6, 6, 4, 3, 3))
    g.case = "causal"
    g.result(attention_of(g, 2, 6, 6, 4, 3, 3, mask=causal[None, None]))
    g.case = "grouped"
    g.result(attention_of(g, 2, 6, 6, 4, 4, 2, mask=causal[None, None]))
    g.case = "cross"
    g.result(attention_of(g, 2, 3, 7, 4, 2, 2))
    g.case = "softcap"
    g.result(attention_of(g, 1, 6, 6, 4, 2, 2, mask=causal[None, None], softcap=3.0))
    g.case = "padding"
    mask = g.x(2, 1, 1, 6, wanted=False)
    g.inputs[mask] = np.array([[0, 0, 0, 0, -1e4, -1e4], [0] * 6], "f4").reshape(2, 1, 1, 6)
    g.result(attention_of(g, 2, 6, 6, 4, 2, 2, mask=mask))
    g.case = "bias"  # relative positions that train
    bias = g.node("Unsqueeze", g.node("Transpose", g.x(6, 6, 2), perm=[2, 0, 1]), np.array([0]))
    g.result(attention_of(g, 2, 6, 6, 4, 2, 2, mask=bias))


@case("attention")
def rotary(g):
    for interleaved, part in ((0, 4), (1, 4), (0, 2)):
        g.case = f"rotary{interleaved}{part}"
        angles = g.random.standard_normal((1, 5, part // 2)).astype("f4")
        x = g.x(2, 3, 5, 4)
        g.result(g.node("RotaryEmbedding", x, np.repeat(np.cos(angles), 2, 0), np.repeat(np.sin(angles), 2, 0),
                        interleaved=interleaved, rotary_embedding_dim=part if part < 4 else 0))


def losses(g, reduction):
    """ONNX's two, with every option; labels that count for nothing are among them."""
    for operator in ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"):
        for number, ignored in enumerate((None, -1, 3)):
            for weighted in (False, True):
                g.case = f"{operator}{len(g.inputs)}"
                shape = (2, 7, 3) if weighted == number % 2 else (5, 7)
                z = g.x(*shape)
                if operator.startswith("Neg"):
                    z = g.node("LogSoftmax", z, axis=1)
                labels = g.ids(7, shape[0], *shape[2:], low=0 if ignored != -1 else -1)
                weights = [g.random.uniform(0.5, 2, 7).astype("f4")] if weighted else []
                options = {} if ignored is None else {"ignore_index": ignored}
                g.result(g.node(operator, z, labels, *weights, reduction=reduction, **options))


for word in ("none", "mean", "sum"):
    case(f"losses-{word}")(functools.partial(losses, reduction=word))


def model_of(g):
    """Each result times random numbers, summed up, all of them added."""
    types = {v.name: v for v in onnx.shape_inference.infer_shapes(h.make_model(graph_of(g, []), opset_imports=opsets())).graph.value_info}
    sums = []
    for name, value in g.results:
        g.case = name + ".loss"
        shape = [d.dim_value for d in types[value].type.tensor_type.shape.dim]
        product = g.node("Mul", value, g.x(*shape, wanted=False))
        sums.append(g.node("ReduceSum", product, keepdims=0))
    g.case = "loss"
    loss = g.node("Sum", *sums)
    return h.make_model(graph_of(g, [h.make_tensor_value_info(loss, T.FLOAT, [])]), opset_imports=opsets(), ir_version=11), loss


def opsets():
    return [h.make_opsetid("", 23)]


def graph_of(g, outputs):
    inputs = [h.make_tensor_value_info(name, h.np_dtype_to_tensor_dtype(value.dtype), value.shape)
              for name, value in g.inputs.items()]
    return h.make_graph(g.nodes, "gradients", inputs, outputs,
                        [onnx.numpy_helper.from_array(value, name) for name, value in g.constants.items()])


def compile_gradients(model, mesh, work, *flags):
    """The program whose results are gradients."""
    run(["wsec", model, "-o", work / "g.wafer", f"--mesh={mesh}", "--quiet", "--gradients-as-results",
         f"--report={work / 'plan.json'}", *flags])
    return work / "g.wafer"


def results_of(program, inputs, engine, work):
    np.savez(work / "inputs.npz", **inputs)
    run(["wse-run", program, "--inputs", work / "inputs.npz", "--outputs", work / "outputs.npz", f"--engine={engine}",
         f"--report={work / 'run.json'}", "--quiet"])
    with np.load(work / "outputs.npz") as file:
        return {name: file[name] for name in file}


def error_of(expected, actual, scale=0.0):
    """Of the largest element, or of `scale` if that is more."""
    if actual.shape != expected.shape:
        return float("inf")
    largest = max(np.abs(expected).max(), scale)
    return float(np.abs(actual - expected).max() / (largest or 1)) if np.isfinite(actual).all() else float("inf")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("--mesh", action="append", required=True)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    work = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    g = Graph()
    for function in FAMILIES[arguments.family]:
        function(g)
    g.results = [(name, value) for name, value in g.results if re.search(arguments.only, name)]
    g.wanted = [name for name in g.wanted if re.search(arguments.only, name.split(".")[0])]
    g.inputs = {name: value for name, value in g.inputs.items() if re.search(arguments.only, name.split(".")[0])}
    g.nodes = [node for node in g.nodes if re.search(arguments.only, node.name.split(".")[0])]
    model, loss = model_of(g)
    onnx.save(model, work / "m.onnx")
    number, expected = torch_graph.gradients(model, g.inputs, lambda values: values[loss], g.wanted)
    for mesh in arguments.mesh:
        program = compile_gradients(work / "m.onnx", mesh, work, "--loss=result", "--gradient-of=" + ",".join(g.wanted))
        first = None
        for engine in ENGINES:
            actual = results_of(program, g.inputs, engine, work)
            first = first or actual
            errors = {name: error_of(expected[name], actual.get(name + ".grad", np.zeros(()))) for name in g.wanted}
            wrong = {name: error for name, error in errors.items() if not error <= TOLERANCE}
            for name, error in wrong.items():
                print(f"wrong: {name} by {error:.1e}")
            if not abs(float(actual["loss"]) - number) <= TOLERANCE * max(1, abs(number)):
                print(f"wrong: the loss is {float(actual['loss'])}, expected {number}")
            if any(first[name].tobytes() != actual[name].tobytes() for name in first):
                print(f"wrong: {engine} and {ENGINES[0]} differ")
            print(f"{engine} {mesh} {len(errors) - len(wrong)} of {len(errors)}, largest error {max(errors.values()):.1e}")


if __name__ == "__main__":
    main()
