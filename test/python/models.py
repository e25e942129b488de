# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models of the package's tests."""

import numpy as np
import onnx

MLP = """
    <ir_version: 10, opset_import: ["": 21]>
    mlp (float[rows, 12] x) => (float[rows, 5] y) {
        [fc1] hidden = MatMul(x, w1)
        [act] active = Relu(hidden)
        [fc2] y = MatMul(active, w2)
    }"""


def perceptron(text=MLP):
    """The model, and its weights by name, too large to be copied into a program unasked."""
    model = onnx.parser.parse_model(text)
    random = np.random.default_rng(0)
    weights = {"w1": random.standard_normal((12, 2048)).astype("f4"),
               "w2": random.standard_normal((2048, 5)).astype("f4")}
    model.graph.initializer.extend(onnx.numpy_helper.from_array(w, name) for name, w in weights.items())
    return model, weights


def rows(count):
    """An input of the perceptron."""
    return np.random.default_rng(1).standard_normal((count, 12)).astype("f4")


def expected(x, weights):
    """What the perceptron makes of it."""
    return np.maximum(x @ weights["w1"], 0) @ weights["w2"]
