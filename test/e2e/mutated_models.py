#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random small models, each made wrong in one to three places, compiled.

  mutated_models.py --count 60 [--seed 0] [--nodes] [--work DIR]

Unlike fuzzed bytes these are well-formed files: what is wrong is what nodes,
tensors and inputs say. wsec may refuse a model, with an error, or compile it;
a crash, a hang or an error of the compiler about itself is a failure, and the
model is kept in DIR. Model number i is the same for the same seed. With --nodes
the models are onnx's own, one for each case of an operator; some of their
inputs become constants.
"""

import argparse
import functools
import random
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

sys.path.insert(0, str(Path(__file__).parent / "models"))
from random_graphs import FAMILIES, RandomModel  # noqa: E402

INTEGERS = [0, 1, -1, 2, 5, 100, 2**31, 2**62, -2**63, 2**63 - 1]
FLOATS = [0, -1, float("nan"), float("inf"), -float("inf")]
EXTENTS = [1, 2, 3, 7, 1000, 2**40, 2**62]
TYPES = [TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.INT64,
         TensorProto.UINT8, TensorProto.BOOL]
OPERATORS = ["Add", "Attention", "Cast", "Clip", "Concat", "CumSum", "Expand", "Gather", "Gemm",
             "LayerNormalization", "MatMul", "PRelu", "Pad", "Pow", "Range", "ReduceMax", "Reshape",
             "Slice", "Softmax", "Split", "Tile", "TopK", "Transpose", "Unsqueeze", "Where"]


def change_number(graph, pick):
    tensor = pick.choice(graph.initializer)
    array = numpy_helper.to_array(tensor).copy()
    place = pick.randrange(array.size)
    array.flat[place] = pick.choice(INTEGERS if array.dtype == np.int64 else FLOATS)
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def change_shape(graph, pick):
    tensor = pick.choice(graph.initializer)
    array = numpy_helper.to_array(tensor)
    shape = [*array.shape, 1][pick.randrange(2):]
    if shape:
        shape[pick.randrange(len(shape))] = pick.choice([0, 1, 2, 3])
    tensor.CopyFrom(numpy_helper.from_array(np.resize(array, shape), tensor.name))


def change_type(graph, pick):
    pick.choice(graph.input).type.tensor_type.elem_type = pick.choice(TYPES)


def change_input(graph, pick):
    dims = pick.choice(graph.input).type.tensor_type.shape.dim
    dims[pick.randrange(len(dims))].dim_value = pick.choice(EXTENTS)


def change_attribute(graph, pick):
    attribute = pick.choice(pick.choice(graph.node).attribute)
    if attribute.type == AttributeProto.INT:
        attribute.i = pick.choice(INTEGERS)
    elif attribute.type == AttributeProto.INTS:
        attribute.ints[pick.randrange(len(attribute.ints))] = pick.choice(INTEGERS)
    else:
        attribute.type, attribute.s = AttributeProto.STRING, b"text"


def change_operand(graph, pick):
    inputs = pick.choice(graph.node).input
    names = [v.name for v in [*graph.input, *graph.initializer]]
    names += [output for node in graph.node for output in node.output]
    inputs[pick.randrange(len(inputs))] = pick.choice([*names, ""])


def drop_operand(graph, pick):
    inputs = pick.choice(graph.node).input
    del inputs[pick.randrange(len(inputs))]


def change_operator(graph, pick):
    pick.choice(graph.node).op_type = pick.choice(OPERATORS)


def change_output(graph, pick):
    names = [output for node in graph.node for output in node.output]
    pick.choice(graph.output).name = pick.choice([v.name for v in graph.input] + names)


MUTATIONS = [change_number, change_shape, change_type, change_input, change_attribute,
             change_operand, drop_operand, change_operator, change_output]


def random_model(seed, index, path):
    source = RandomModel([seed, index])
    source.write(path, source.build(FAMILIES[index % len(FAMILIES)]))
    return onnx.load(path)


@functools.cache
def node_cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's, of infinities
        from onnx.backend.test.case.node import collect_testcases

        return [case for case in collect_testcases(None) if case.model and case.data_sets]


def node_model(pick):
    case = pick.choice(node_cases())
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for value, array in list(zip(model.graph.input, case.data_sets[0][0])):
        if not isinstance(array, np.ndarray):
            continue
        says_where = array.size < 9 and array.dtype == np.int64
        if pick.random() < (0.9 if says_where else 0.3):
            model.graph.initializer.append(numpy_helper.from_array(array, value.name))
            model.graph.input.remove(value)
    return model


def write_mutant(seed, index, path, nodes):
    pick = random.Random(f"{seed} {index}")
    model = node_model(pick) if nodes else random_model(seed, index, path)
    for _ in range(pick.randrange(1, 4)):
        try:
            pick.choice(MUTATIONS)(model.graph, pick)
        except (IndexError, ValueError, TypeError, NotImplementedError):
            pass  # There is none of what was to be changed, or it is no number.
    path.write_bytes(model.SerializeToString())


def complaint(path, mesh):
    """What is wrong with how wsec took the model, or None; and its exit code."""
    command = ["wsec", path, "-o", path.with_suffix(".wafer"), f"--mesh={mesh}", "--quiet"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    except subprocess.TimeoutExpired:
        return "hangs", 0
    if run.returncode not in (0, 1):
        return f"exit code {run.returncode}: {run.stderr[:2000]}", run.returncode
    own = "internal error" in run.stderr or "without an explanation" in run.stderr
    if own or (run.returncode == 1 and not run.stderr.startswith("error: ")):
        return run.stderr, run.returncode
    return None, run.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--nodes", action="store_true")
    parser.add_argument("--work", type=Path, default=Path("."))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    outcomes, failures = [0, 0], 0
    for index in range(options.count):
        path = options.work / f"{options.seed}-{index}.onnx"
        write_mutant(options.seed, index, path, options.nodes)
        wrong, code = complaint(path, ("4x4", "1x1", "3x5", "8x1")[index % 4])
        if wrong:
            failures += 1
            print(f"{path}: {wrong}")
            continue
        outcomes[code] += 1
        path.unlink()
        path.with_suffix(".wafer").unlink(missing_ok=True)
    print(f"{options.count} models: {outcomes[0]} compiled, {outcomes[1]} refused, "
          f"{failures} failed")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
