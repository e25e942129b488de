# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that draw numbers at random.

  make_random.py KIND FILE   stated: with the shape that is drawn; unstated: without; open, zero: with a dimension that no input has;
                             alike: a node called as another one's result
"""
import sys

import onnx
from onnx import TensorProto, helper

SHAPES = {"stated": ("batch", 4), "open": ("unknown", 4), "zero": (0, 4)}


def value(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def main():
    kind, path = sys.argv[1:]
    nodes = [helper.make_node("RandomNormalLike", ["x"], ["r"], name="noise"), helper.make_node("Add", ["x", "r"], ["y"])]
    drawn = [value("r", SHAPES[kind])] if kind in SHAPES else []
    shape = ("batch", 4)
    if kind == "alike":
        nodes[:1] = [helper.make_node("RandomNormalLike", ["x"], ["s"], name="r"), *nodes[:1]]
        drawn = [value(name, shape) for name in "rs"]
    graph = helper.make_graph(nodes, "random", [value("x", shape)], [value("y", shape)], value_info=drawn)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


if __name__ == "__main__":
    main()
