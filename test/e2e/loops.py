#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops and scans whose trips are known: loops.py --work DIR

Each model is compiled with its loop unrolled and gives onnxruntime's results on
all engines; one is a recurrence that PyTorch exports. Exit code 0 or 1.
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

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name, type=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, type, shape)


def node(operator, inputs, outputs, **attributes):
    """Operands are split at spaces; "-" is one that is left out."""
    return helper.make_node(operator, [name.replace("-", "") for name in inputs.split()], outputs.split(),
                            **attributes)


def constants(**arrays):
    return [numpy_helper.from_array(np.array(array), name) for name, array in arrays.items()]


def loop_body(nodes, carried, outputs, own=(), number=()):
    inputs = [info("i", INT64, number), info("go", BOOL, number), *map(info, carried.split())]
    return helper.make_graph(nodes, "body", inputs, [info("stay", BOOL), *map(info, outputs.split())], own)


def model(nodes, inputs, outputs, initializers=(), opset=17):
    graph = helper.make_graph(nodes, "loops", [info(name, type, shape) for name, type, shape in inputs],
                              [info(name) for name in outputs.split()], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


STAY = node("Identity", "go", "stay")
X = [("x", FLOAT, [4, 16])]


def recurrence(rng):
    """A state times a weight of the graph around it plus one of its own; states of all steps."""
    own = [numpy_helper.from_array(rng.standard_normal((16,)).astype("f4"), "bias")]
    body = loop_body([STAY, node("MatMul", "h w", "p"), node("Add", "p bias", "b"), node("Tanh", "b", "n"),
                      node("Identity", "n", "all")], "h", "n all", own)
    weight = (rng.standard_normal((16, 16)) / 4).astype("f4")
    return model([node("Loop", "trips - x", "y states", body=body)], X, "y states",
                 constants(trips=np.int64(5), w=weight)), {}


def counted(rng):
    """The number of a trip, of one element, chooses a row and scales it; the count is an input."""
    body = loop_body([STAY, node("Gather", "x i", "row", axis=0), node("Cast", "i", "f", to=FLOAT),
                      node("Mul", "row f", "s"), node("Add", "a s", "b")], "a", "b", number=[1])
    zeros = np.zeros((1, 16), "f4")
    return (model([node("Loop", "n yes zeros", "y", body=body)], [*X, ("n", INT64, [1])], "y",
                  constants(zeros=zeros, yes=np.array([True]))), {"n": np.array([3])})


def conditional(rng):
    """It ends where its condition, computed from constants, says; an If of each trip's parity in it."""
    halve, negate = (helper.make_graph([node(operator, f"v {other}" if other else "v", "r")], "branch", [], [info("r")])
                     for operator, other in (("Mul", "half"), ("Neg", "")))
    body = loop_body([node("Add", "k step", "m"), node("Less", "m limit", "stay"), node("Mod", "i two", "odd"),
                      node("Cast", "odd", "is_odd", to=BOOL),
                      node("If", "is_odd", "r", then_branch=halve, else_branch=negate),
                      node("Add", "r x", "w")], "k v", "m w w")
    return model([node("Loop", "- yes k0 x", "k y all", body=body)], X, "k y all",
                 constants(k0=np.float32(0), step=np.float32(2), limit=np.float32(7), half=np.float32(.5),
                           two=np.int64(2), yes=True)), {}


def nested(rng):
    """A loop in a loop, as often as the outer one's number says: from no trip on. A value grows."""
    inner = loop_body([node("Identity", "go_in", "stay_in"), node("Mul", "u c", "v")], "u", "v")
    inner.input[0].name, inner.input[1].name, inner.output[0].name = "j", "go_in", "stay_in"
    body = loop_body([STAY, node("Loop", "i - a", "b", body=inner), node("Concat", "b x", "d", axis=0)], "a", "d")
    return model([node("Loop", "trips - x", "y", body=body)], X, "y",
                 constants(trips=np.int64(3), c=np.float32(1.5))), {}


def never(rng):
    """No trip: what is carried, and stacked results without elements."""
    body = loop_body([STAY, node("Neg", "v", "n"), node("ReduceSum", "n", "s", keepdims=0),
                      node("Abs", "v", "a")], "v", "n s a")
    body.output[2].CopyFrom(info("s", FLOAT, []))
    body.output[3].CopyFrom(info("a", FLOAT, [4, 16]))
    return model([node("Loop", "trips yes x", "y sums all", body=body), node("Relu", "y", "z")], X, "z sums all",
                 constants(trips=np.int64(0), yes=True)), {}


def scan_body(nodes, inputs, outputs):
    return helper.make_graph(nodes, "body", [info(name) for name in inputs.split()],
                             [info(name) for name in outputs.split()])


def scanned(rng):
    """Two inputs, along different axes and ways; results stacked along the last axis, and backwards."""
    body = scan_body([node("Mul", "a f", "m"), node("Add", "m b", "n"), node("Identity", "n", "all"),
                      node("Sub", "n a", "d")], "a b f", "n all d")
    scan = node("Scan", "s x f", "y all back", body=body, num_scan_inputs=2, scan_input_axes=[1, -1],
                scan_input_directions=[1, 0], scan_output_axes=[-1, 0], scan_output_directions=[0, 1])
    return model([scan], [("x", FLOAT, [16, 6]), ("f", FLOAT, [16, 6]), ("s", FLOAT, [16])], "y all back"), {}


def scripted(rng):
    """A scripted module of PyTorch, whose `for` becomes a Loop of Ifs and slices."""
    import io
    import warnings

    import torch

    class Recurrence(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.wide, self.deep = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)

        def forward(self, x):
            h = torch.zeros_like(x[0])
            for t in range(x.size(0)):
                h = torch.tanh(self.wide(x[t]) + self.deep(h))
                if t % 2 == 1:
                    h = h * 0.5
            return h

    torch.manual_seed(3)
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(torch.jit.script(Recurrence()), (torch.ones(6, 4, 16),), file, dynamo=False,
                          input_names=["x"], output_names=["y"], opset_version=17)
    return onnx.load_model_from_string(file.getvalue()), {}


def check(name, made, bound, rng, work):
    path = work / f"{name}.onnx"
    onnx.save(made, path)
    feeds = {}
    for value in made.graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        feeds[value.name] = bound.get(value.name, rng.standard_normal(shape).astype("f4"))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    expected = session.run(None, feeds)
    run(["wsec", path, "-o", work / "m.wafer", "--mesh=8x8", "--quiet",
         *(f"--bind={key}={value.tolist()}" for key, value in bound.items())])
    np.savez(work / "in.npz", **{key: value for key, value in feeds.items() if key not in bound})
    names = [output.name for output in made.graph.output]
    for engine in ENGINES:
        run(["wse-run", work / "m.wafer", f"--engine={engine}", f"--inputs={work / 'in.npz'}",
             f"--outputs={work / 'out.npz'}", "--quiet"])
        with np.load(work / "out.npz") as results:
            for output, right in zip(names, expected):
                y = results[output]
                assert y.shape == right.shape, (name, engine, output, y.shape, right.shape)
                np.testing.assert_allclose(y, right, rtol=1e-5, atol=1e-6, err_msg=f"{name} {engine} {output}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    for make in (recurrence, counted, conditional, nested, never, scanned, scripted):
        if arguments.only in make.__name__:
            rng = np.random.default_rng(7)
            check(make.__name__, *make(rng), rng, arguments.work)
            print(f"{make.__name__}: equal")


if __name__ == "__main__":
    main()
