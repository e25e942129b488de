# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many nodes of one operator in one model: equations of Einsum, windows of pools, products of integers.

Usage: operator_models.py WORK (einsum | pools | integers) --mesh WxH. All engines run the model; results are
held against onnxruntime, or numpy where it lacks a case: integers exactly, floats to 1e-5 of the largest
element. A line an engine.
"""

import argparse
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper as h

ENGINES = ["burst", "strips", "streams", "wavelet"]
TOLERANCE = 1e-5
RESULTS = {"MatMulInteger": T.INT32, "QLinearMatMul": T.UINT8}

EXTENTS = dict(zip("abcdhijklv", (3, 2, 3, 4, 3, 5, 6, 4, 2, 7)))
# Products, attention's two, outer products, diagonals, sums, ellipses that broadcast, chains of three and four.
EQUATIONS = """ij,jk->ik bij,bjk->bik bhid,bhjd->bhij bhij,bhjd->bhid i,j->ij ij->ji ii->i ii iij->ij iji->j bii->b
bid,hd->bhid ij,ij-> ij,ij->i ij,jk,kl->il ij,jk,kl,lc->ic bid,bjd,bd->bij ...ij,...jk->...ik ...i->i...
b...i,b...i->b... i,i->i ij,k->kij bcij,ck->bkij ij,jk ba,ca bijc,bkjc->bikj bijk->bk ij,->ij iiji->ij""".split()


def einsum():
    """Each equation on computed operands, and with a constant last one."""
    random = np.random.default_rng(0)
    nodes, inputs, constants = [], {}, {}
    for index, equation in enumerate(EQUATIONS):
        terms = equation.split("->")[0].split(",")
        for is_constant in (False, True) if len(terms) > 1 else (False,):
            names = []
            for number, term in enumerate(terms):
                # The ellipsis of the first operand has one dimension more.
                dots = [2, 3] if number == 0 else [3]
                before, _, behind = term.partition("...")
                shape = [EXTENTS[label] for label in before]
                shape += (dots if "..." in term else []) + [EXTENTS[label] for label in behind]
                names.append(f"x{index}_{number}_{is_constant}")
                last = is_constant and number == len(terms) - 1
                (constants if last else inputs)[names[-1]] = random.standard_normal(shape).astype("f4")
            nodes.append(h.make_node("Einsum", names, [f"y{len(nodes)}"], equation=equation))
    return nodes, inputs, constants


def pools():
    """Patches, overlaps, gaps, pads, last windows that begin on the image and reach beyond the pads."""
    x = np.random.default_rng(1).standard_normal((2, 3, 9, 8)).astype("f4")
    nodes = []
    for operator in ("AveragePool", "MaxPool"):
        for kernel_shape, strides, more in [
                ((3, 2), (3, 2), {}), ((2, 2), (2, 2), {}), ((3, 3), (2, 2), {"pads": [1, 1, 1, 1]}),
                ((3, 3), (2, 3), {"pads": [1, 0, 1, 1], "ceil_mode": 1}),
                ((3, 3), (2, 2), {"pads": [1, 1, 0, 0], "ceil_mode": 1}), ((2, 2), (1, 1), {"dilations": [2, 2]}),
                ((3, 3), (2, 2), {"auto_pad": "SAME_UPPER"}), ((3, 2), (2, 2), {"auto_pad": "SAME_LOWER"}),
                ((4, 4), (4, 4), {"pads": [1, 1, 1, 1], "ceil_mode": 1}), ((9, 8), (1, 1), {})]:
            for counts in ({"count_include_pad": 0}, {"count_include_pad": 1}) if operator == "AveragePool" else ({},):
                nodes.append(h.make_node(operator, ["x"], [f"y{len(nodes)}"], kernel_shape=kernel_shape,
                                         strides=strides, **more, **counts))
    return nodes, {"x": x}, {}


def integers():
    """More terms than one sum in f32 holds; zero points and scales of matrices, rows and columns."""
    random = np.random.default_rng(2)
    inputs = {"a": random.integers(0, 256, (5, 600), "u1"), "b": random.integers(-128, 128, (600, 7), "i1"),
              "c": random.integers(0, 256, (2, 5, 40), "u1"), "d": random.integers(0, 256, (2, 40, 3), "u1")}
    constants = {"one": np.uint8(120), "rows": random.integers(0, 256, 5, "u1"),
                 "columns": random.integers(-128, 128, 7, "i1"), "scale": np.float32(0.02),
                 "scales": random.uniform(0.01, 0.03, 7).astype("f4"), "wide": np.float32(9), "zero": np.uint8(128)}
    nodes = [h.make_node("MatMulInteger", ["a", "b"], ["y0"]),
             h.make_node("MatMulInteger", ["a", "b", "one", "columns"], ["y1"]),
             h.make_node("MatMulInteger", ["c", "d", "one", "zero"], ["y2"]),
             h.make_node("QLinearMatMul", ["a", "scale", "one", "b", "scales", "columns", "wide", "zero"], ["y3"]),
             h.make_node("QLinearMatMul", ["c", "scale", "one", "d", "scale", "zero", "scale", "one"], ["y4"])]
    return nodes, inputs, constants


def tool(*words):
    result = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(result.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("what", choices=["einsum", "pools", "integers"])
    parser.add_argument("--mesh", required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    nodes, inputs, constants = {"einsum": einsum, "pools": pools, "integers": integers}[options.what]()
    names = [node.output[0] for node in nodes]
    graph = h.make_graph(nodes, options.what,
                         [h.make_tensor_value_info(name, h.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in inputs.items()],
                         [h.make_tensor_value_info(name, RESULTS.get(node.op_type, T.FLOAT), None)
                          for name, node in zip(names, nodes)],
                         [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()])
    path, program = options.work / "model.onnx", options.work / "model.wafer"
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 19)], ir_version=9), path)
    if options.what == "einsum":
        values = {**inputs, **constants}
        expected = [np.einsum(node.attribute[0].s.decode(), *(values[name] for name in node.input)) for node in nodes]
    else:
        expected = onnxruntime.InferenceSession(path).run(None, inputs)
    feed, outputs = options.work / "in.npz", options.work / "out.npz"
    np.savez(feed, **inputs)
    tool("wsec", path, "-o", program, f"--mesh={options.mesh}", "--quiet")
    good = True
    for engine in ENGINES:
        tool("wse-run", program, "--inputs", feed, "--outputs", outputs, f"--engine={engine}", "--quiet")
        with np.load(outputs) as found:
            wrong = [node for node, name, value in zip(nodes, names, expected)
                     if found[name].shape != value.shape or found[name].dtype != value.dtype
                     or not np.abs(found[name].astype("f8") - value).max() <= (
                         TOLERANCE * max(np.abs(value).max(), 1) if value.dtype.kind == "f" else 0)]
        for node in wrong:
            print(engine, "wrong:", h.printable_node(node))
        print(engine, options.mesh, f"{len(nodes) - len(wrong)} of {len(nodes)}", flush=True)
        good &= not wrong
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
