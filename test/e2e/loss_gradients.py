# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of ONNX's node cases of its two losses, in which all their options are, compared with PyTorch's in f64.

Usage: loss_gradients.py WORK [--only REGEX]. The loss is the mean square of one output, the loss or the logarithms of
probabilities; gradients of the scores, relative to the largest, are off by 1e-5 at most. Cases that are written with
other operators are left to the tests of these.
"""

import argparse
import re
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

import torch_graph
from gradients import TOLERANCE, compile_gradients, error_of, results_of


def cases(only):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it computes what all operators have to give
        from onnx.backend.test.loader import load_model_tests
        every = load_model_tests(kind="node")
    return [case for case in every if re.match("test_(sce|nllloss)_", case.name) and not case.name.endswith("_expanded")
            and re.search(only, case.name)]


def error_in(case, result, work):
    graph = case.model.graph
    feeds = {i.name: value if isinstance(value, np.ndarray) else numpy_helper.to_array(value)
             for i, value in zip(graph.input, case.data_sets[0][0])}
    shape = torch_graph.evaluate(graph, {name: torch_graph.tensor(value) for name, value in feeds.items()})[result].shape
    targets = np.random.default_rng(0).standard_normal(shape).astype("f4")
    scores = graph.input[0].name
    _, expected = torch_graph.gradients(
        case.model, feeds, lambda v: ((v[result] - torch_graph.tensor(targets)) ** 2).mean(), [scores])
    onnx.save(case.model, work / "case.onnx")
    program = compile_gradients(work / "case.onnx", "16x16", work, "--loss=mean-square", f"--loss-of={result}",
                                f"--gradient-of={scores}")
    return error_of(expected[scores], results_of(program, feeds | {"targets": targets}, "strips", work)[f"{scores}.grad"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    found = [(case.name, output.name, error_in(case, output.name, given.work))
             for case in cases(given.only) for output in case.model.graph.output]
    for name, output, error in found:
        if not error <= TOLERANCE:
            print(f"wrong: {name}, gradient of {output} by {error:.1e}")
    print(f"{sum(error <= TOLERANCE for *_, error in found)} of {len(found)} gradients")


if __name__ == "__main__":
    main()
