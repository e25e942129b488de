#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes inputs that strangers might: hostile_inputs.py NAME FILE [COUNT]."""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def value(name, shape=(4, 4)):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(nodes, inputs, outputs, initializers=(), opset=17):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def chain(count, op, **attributes):
    """x -> op -> op -> ... -> Relu -> y"""
    nodes = [helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], name=f"n{i}", **attributes)
             for i in range(count)]
    nodes.append(helper.make_node("Relu", [f"v{count}"], ["y"], name="last"))
    return model(nodes, [value("v0")], [value("y")])


def elementwise(count):
    return chain(count, "Tanh")


def transposes(count):
    return chain(count, "Transpose", perm=[1, 0])


def conditions(count):
    """A tower of And: each reads the one below it twice."""
    nodes = [helper.make_node("Greater", ["x", "zero"], ["c0"])]
    nodes += [helper.make_node("And", [f"c{i}", f"c{i}"], [f"c{i + 1}"]) for i in range(count)]
    nodes.append(helper.make_node("Where", [f"c{count}", "x", "zero"], ["y"]))
    return model(nodes, [value("x")], [value("y")],
                 [numpy_helper.from_array(np.float32(0), "zero")])


def outputs(count):
    """Outputs that are computed of one another."""
    names = [f"y{i}" for i in range(count)]
    nodes = [helper.make_node("Tanh", [source], [name])
             for source, name in zip(["x", *names], names)]
    return model(nodes, [value("x")], [value(name) for name in names])


def named(name):
    """A product, called as it says, and one that has no kernel."""
    weight = numpy_helper.from_array(np.eye(4, dtype=np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name=name)]
    return model(nodes, [value("x")], [value("y")], [weight])


def unknown(name):
    return model([helper.make_node("Mystery", ["x"], ["y"], name=name)], [value("x")], [value("y")])


TERMINAL = "a\x1b[31mred\nerror: 'fake'\r\x07"


def not_utf8(result, name):
    """onnx refuses such names, so they are put into the bytes."""
    return result.SerializeToString().replace(name.encode(), b"\xff\xfe" + b"x" * (len(name) - 2))


def attention_window():
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], name="att", q_num_heads=2,
                            kv_num_heads=2, left_window_size=2)
    shape = (1, 8, 16)
    return model([node], [value(c, shape) for c in "qkv"], [value("y", shape)], opset=24)


def large_constant():
    """A constant of 100 elements, which are part of the IR."""
    rows = numpy_helper.from_array(np.arange(100, dtype=np.float32).reshape(10, 10), "w")
    return model([helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")],
                 [value("x", (4, 10))], [value("y", (4, 10))], [rows])


SIZES = """func.func @main(%x: tensor<SIZEx16xf32> {onnx.name = "x"}) -> (tensor<SIZEx16xf32> {onnx.name = "y"}) {
  %y = onnx.unary tanh %x {node = "t"} : tensor<SIZEx16xf32>
  return %y : tensor<SIZEx16xf32>
}
"""


def main():
    what, path = sys.argv[1], Path(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    made = {
        "elementwise": lambda: elementwise(count),
        "transposes": lambda: transposes(count),
        "conditions": lambda: conditions(count),
        "outputs": lambda: outputs(count),
        "attention_window": attention_window,
        "large_constant": large_constant,
        "modules": lambda: "module {\n" * count + "}\n" * count,
        "signs": lambda: f"module attributes {{onnx.x = affine_map<(d0) -> ({'-' * count}d0)>}} {{}}\n",
        "sizes": lambda: SIZES.replace("SIZE", str(count)),
        "machine": lambda: '{"base": ' + "[" * count + "]" * count + "}",
        "terminal": lambda: named(TERMINAL),
        "terminal_unknown": lambda: unknown(TERMINAL),
        "long_unknown": lambda: unknown("n" * 100000),
        "not_utf8": lambda: not_utf8(named("badname"), "badname"),
        "not_utf8_unknown": lambda: not_utf8(unknown("badname"), "badname"),
    }[what]()
    if isinstance(made, onnx.ModelProto):
        made = made.SerializeToString()
    path.write_bytes(made if isinstance(made, bytes) else made.encode())


if __name__ == "__main__":
    main()
