#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests python/wsec with the tools that are on the PATH: python_package.py FOLDER."""

import os
import shutil
import sys
import unittest
from pathlib import Path

import numpy as np

os.environ["WSEC_BIN"] = str(Path(shutil.which("wsec")).parent)
sys.path += [str(Path(__file__).resolve().parents[2] / "python"), str(Path(__file__).resolve().parent / "models")]
import small_models  # noqa: E402
import wsec  # noqa: E402

FOLDER = Path(sys.argv[1])
NO_OUTPUTS = """
pe.program @idle mesh [2, 1] machine "wse2" {
  class @all [0:2, 0:1] {
    routine @main {
    }
  }
  launch @main
}
"""


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model, cls.inputs = small_models.obtain("perceptron", FOLDER, 0)
        cls.program = wsec.compile(cls.model, FOLDER / "p.wafer", mesh="4x4",
                                   shapes={k: v.shape for k, v in cls.inputs.items()})

    def test_compile(self):
        self.assertTrue(self.program.path.is_file())
        self.assertEqual(self.program.report["machine"]["mesh"], [4, 4])
        self.assertGreater(self.program.report["cycles"]["total"], 0)

    def test_run(self):
        import onnxruntime

        session = onnxruntime.InferenceSession(str(self.model))
        expected = session.run(None, self.inputs)
        result = self.program.run(self.inputs, threads=1)
        for output, value in zip(session.get_outputs(), expected):
            np.testing.assert_allclose(result.outputs[output.name], value, rtol=1e-4, atol=1e-5)
        self.assertEqual(result.report["weights"], self.program.report["weights"])

    def test_options(self):
        counters = FOLDER / "counters.json"
        self.program.run(self.inputs, options=[f"--counters={counters}"])
        self.assertIn("words_sent", counters.read_text())
        with self.assertRaisesRegex(wsec.Error, "there is no flag --count; nearest: '--counters'"):
            self.program.run(self.inputs, options=["--count=3"])

    def test_stops(self):
        for options in (["--until=launch:1", "--peek=0,0"], ["--until", "launch:1", "--peek", "0,0"]):
            result = self.program.run(self.inputs, options=options)
            self.assertEqual((result.outputs, result.report), ({}, {}))
            self.assertRegex(result.text, "stopped before launch 1 (.|\n)*PE \\(0, 0\\)")
        whole = self.program.run(self.inputs, options=["--peek=0,0"])
        self.assertTrue(whole.outputs)
        self.assertIn("PE (0, 0)", whole.text)

    def test_own_flags(self):
        with self.assertRaisesRegex(wsec.Error, "options: leave out -o,"):
            wsec.compile(self.model, FOLDER / "q.wafer", options=["-o", "mine.wafer"])
        for flag in ("--outputs=mine.npz", "--report=mine.json", "--report", "--help"):
            with self.assertRaisesRegex(wsec.Error, f"options: leave out {flag.split('=')[0]},"):
                self.program.run(self.inputs, options=[flag])
        self.assertFalse(Path("mine.json").exists())

    def test_no_outputs(self):
        source = FOLDER / "idle.mlir"
        source.write_text(NO_OUTPUTS)
        result = wsec.compile(source, FOLDER / "idle.wafer").run({})
        self.assertEqual(result.outputs, {})
        self.assertEqual(result.report["pes"], {"used": 0, "available": 2})

    def test_errors(self):
        with self.assertRaisesRegex(wsec.Error, "missing.onnx"):
            wsec.compile(FOLDER / "missing.onnx", FOLDER / "q.wafer", mesh="4x4")
        with self.assertRaisesRegex(wsec.Error, "no tensor is given for"):
            self.program.run({})
        with self.assertRaisesRegex(wsec.Error, "wse-nothing is not built"):
            wsec.tool("wse-nothing")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
