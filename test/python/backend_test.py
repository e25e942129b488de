#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wsec.backend: ONNX's interface of a backend, and ONNX's own runner on some of its node cases."""

import io
import unittest
from pathlib import Path

import numpy as np
import onnx
from models import expected, perceptron, rows
from onnx import helper

import wsec
from wsec.backend import WaferBackend, bound_inputs, node_cases

TABLE = Path(__file__).parents[1] / "conformance" / "TABLE.md"
# Of the cases that run, every so many.
STEP = 50


def cases(*statuses):
    """Names of the table's cases that have one of these statuses."""
    rows = [line.split(" | ") for line in TABLE.read_text().split("\n") if line.startswith("| test_")]
    return [row[0].strip("| ") for row in rows if row[2] in statuses]


def run(names):
    suite = node_cases(f"^({'|'.join(names)})$")
    return unittest.TextTestRunner(stream=io.StringIO(), verbosity=2).run(suite)


class BackendTest(unittest.TestCase):
    def test_model(self):
        model, weights = perceptron()
        prepared = WaferBackend.prepare(model, mesh="4x4")
        for count in (6, 3):  # each shape has its own program
            x = rows(count)
            outputs = prepared.run([x])
            np.testing.assert_allclose(outputs["y"], expected(x, weights), rtol=1e-4, atol=1e-3)
            np.testing.assert_array_equal(outputs[0], outputs.y)
        np.testing.assert_array_equal(WaferBackend.run_model(model, {"x": x}, mesh="4x4").y, outputs.y)
        program = prepared.program({"x": rows(6)})
        self.assertIs(prepared.program({"x": rows(6)}), program)  # found, not compiled
        self.assertIsNot(prepared.program({"x": rows(3)}), program)
        self.assertTrue(WaferBackend.supports_device("CPU"))
        self.assertFalse(WaferBackend.supports_device("CUDA:0"))

    def test_batch_on_a_model_for_one(self):
        one = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 21]>
            g (float[1, 4] x) => (float[1, 4] y) { y = Softmax(x) }""")
        prepared, x = WaferBackend.prepare(one, mesh="4x4"), np.arange(12, dtype="f4").reshape(3, 4)
        with self.assertRaisesRegex(wsec.InputError, "each of 3 samples: samples=3$"):
            prepared.run([x])
        np.testing.assert_array_equal(prepared.run([x], samples=3).y,
                                      np.concatenate([prepared.run([x[i:i + 1]]).y for i in range(3)]))

    def test_node(self):
        x = np.arange(6, dtype="f4").reshape(2, 3)
        y, = WaferBackend.run_node(helper.make_node("Reshape", ["x", "shape"], ["y"]), [x, np.array([3, -1])])
        np.testing.assert_array_equal(y, x.reshape(3, 2))
        y, = WaferBackend.run_node(helper.make_node("Softmax", ["x"], ["y"]), [x], opset_version=11)
        np.testing.assert_allclose(y.sum(), 2, rtol=1e-5)

    def test_bound_inputs(self):
        model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 21]>
            g (float[4] x, int64[1] reps, bool c) => (float[8] y) {
                y = If (c) <then_branch = a () => (float[8] p) { p = Tile(x, reps) },
                            else_branch = b () => (float[8] q) { q = Concat <axis = 0> (x, x) }> }""")
        self.assertEqual(bound_inputs(model), ["reps", "c"])

    def test_refusals(self):
        x = np.eye(3, dtype="f4")
        with self.assertRaisesRegex(wsec.CompileError, "Det: the operator is not supported: node"):
            WaferBackend.run_node(helper.make_node("Det", ["x"], ["y"]), [x])

    def test_runner(self):
        names = cases("mesh", "host")[::STEP]
        self.assertGreater(len(names), 20)
        result = run(names)
        self.assertEqual((result.failures, result.errors, result.skipped), ([], [], []))
        self.assertEqual(result.testsRun, len(names))

    def test_runner_and_refusals(self):
        result = run(["test_det_2d", "test_det_nd"])
        self.assertEqual((result.failures, result.errors), ([], []))
        self.assertEqual([reason for _, reason in result.skipped],
                         2 * ["Det: the operator is not supported: node 'Det_0'; write it with other operators, "
                              "or compute it outside of the model"])

    def test_runner_and_wrong_numbers(self):
        # A run of the runner means something only if it notices.
        inner = wsec.backend.WaferRep.run
        try:
            wsec.backend.WaferRep.run = lambda *given, **flags: [value + 1 for value in inner(*given, **flags)]
            self.assertEqual(len(run(["test_relu", "test_softmax_axis_1"]).failures), 2)
        finally:
            wsec.backend.WaferRep.run = inner


if __name__ == "__main__":
    unittest.main()
