# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A mixture of experts behind its router, with its loss: balanced_experts.py FILE.onnx

Squares of what it misses, and what balances experts: of each the share of tokens that chose it times the mean of its
probabilities, added up. Beside the model lies FILE.npz with its inputs, for model_gradients.py.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from experts import EXPERTS, FORMS, SIZE, TOKENS, looked_up, weights
from onnx import helper as h

WEIGHT = 0.5  # of the balancing loss, large enough to be seen


def main():
    file, random, node = Path(sys.argv[1]), np.random.default_rng(3), h.make_node
    nodes, constants = looked_up(FORMS["looked-up"], TOKENS)
    constants |= weights(random, "looked-up", {})
    constants |= {"router": 0.4 * random.standard_normal((SIZE, EXPERTS)).astype("f4"),
                  "numbers": np.arange(EXPERTS).reshape(1, EXPERTS, 1), "last": np.array([2]), "first": np.array([0]),
                  "half": np.array(WEIGHT * EXPERTS, "f4")}
    nodes = [
        node("MatMul", ["x", "router"], ["p"]), *nodes,
        node("Sub", ["y", "target"], ["missed"]), node("Mul", ["missed", "missed"], ["squares"]),
        node("ReduceMean", ["squares"], ["error"], keepdims=0),
        node("Unsqueeze", ["places", "one"], ["each"]), node("Equal", ["each", "numbers"], ["is"]),
        node("Cast", ["is"], ["chosen"], to=onnx.TensorProto.FLOAT),
        node("ReduceSum", ["chosen", "last"], ["counts"], keepdims=0),
        node("ReduceMean", ["counts"], ["shares"], axes=[0], keepdims=0),
        node("ReduceMean", ["s"], ["means"], axes=[0], keepdims=0),
        node("Mul", ["shares", "means"], ["loads"]), node("ReduceSum", ["loads", "first"], ["sum"], keepdims=0),
        node("Mul", ["sum", "half"], ["balance"]), node("Add", ["error", "balance"], ["loss"])]
    value = h.make_tensor_value_info
    graph = h.make_graph(nodes, "g", [value(name, 1, [TOKENS, SIZE]) for name in ("x", "target")], [value("loss", 1, [])],
                         [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()])
    onnx.save(h.make_model(graph, ir_version=9, opset_imports=[h.make_opsetid("", 17)]), file)
    np.savez(file.with_suffix(".npz"), **{name: random.standard_normal((TOKENS, SIZE)).astype("f4") for name in ("x", "target")})


if __name__ == "__main__":
    main()
