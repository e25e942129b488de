#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the models and inputs of these tests: make_errors.py NAME FOLDER."""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).parent.parent / "models"))
import small_models  # noqa: E402
from small_models import FLOAT, Graph  # noqa: E402


def small(name):
    """A model of small_models.py, its inputs in in.npz."""
    def make(folder):
        _, inputs = small_models.obtain(name, folder)
        np.savez(folder / "in.npz", **inputs)
    return make


def external(folder):
    """A weight in a file of its own."""
    small("wide")(folder)
    model = onnx.load(folder / "wide.onnx")
    (folder / "wide.onnx").unlink()
    onnx.save(model, folder / "model.onnx", save_as_external_data=True, location="weights.bin",
              size_threshold=0)


def unsupported(folder):
    """Three nodes that no kernel exists for, between two that have one."""
    g = Graph(0)
    y = g.add("Relu", "x", name="act")
    y = g.add("GlobalLpPool", y, name="norm")
    y = g.add("Det", g.add("MatMul", y, g.weight(8, 8)), name="determinant")
    y = g.add("Unique", y, name="pick", axis=0)
    g.save(folder / "model.onnx", [("x", FLOAT, [2, 8, 8])], [(y, FLOAT, [2])])


def tall(folder):
    """One PE would hold 1000 tokens of 100 features."""
    g = Graph(0)
    y = g.add("Relu", g.linear("x", 100, 100, "fc1"), name="act")
    y = g.linear(y, 100, 100, "fc2")
    g.save(folder / "model.onnx", [("x", FLOAT, [4000, 100])], [(y, FLOAT, [4000, 100])])


def not_numbers(folder):
    """One of the two sequences, and two of 16 rows, hold what is no number."""
    _, inputs = small_models.obtain("attention", folder)
    inputs["x"][0, 3, 5] = np.nan
    np.savez(folder / "attention.npz", **inputs)
    _, inputs = small_models.obtain("perceptron", folder)
    inputs["x"][3, 5] = np.nan
    inputs["x"][9, 0] = np.inf
    np.savez(folder / "perceptron.npz", **inputs)


MODELS = {"wide": small("wide"), "perceptron": small("perceptron"), "external": external,
          "unsupported": unsupported, "tall": tall, "not-numbers": not_numbers}

if __name__ == "__main__":
    target = Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    MODELS[sys.argv[1]](target)
