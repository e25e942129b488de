#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime as an installed library: a project outside of this one finds it, and its programs run others.

    library_test.py BUILD
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).parents[3]
BUILD = Path(sys.argv.pop(1))
sys.path[:0] = [str(ROOT / "test" / "python"), str(ROOT / "python")]

import models  # noqa: E402

import wsec  # noqa: E402

CACHE = ROOT / "dialects" / "pe" / "tutorial" / "cache.mlir"


def said(*words):
    result = subprocess.run([str(word) for word in words], check=False, capture_output=True, text=True)
    if result.returncode:
        raise AssertionError(f"{words[0]}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


class LibraryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        prefix, cls.build = cls.folder / "prefix", cls.folder / "build"
        said("cmake", "--install", BUILD, "--component", "library", "--prefix", prefix)
        said("cmake", "-S", Path(__file__).parent / "outside", "-B", cls.build, f"-DCMAKE_PREFIX_PATH={prefix}")
        said("cmake", "--build", cls.build)
        cls.library = next(prefix.rglob("libwsec.so"))

    def test_states_in_c(self):
        (self.folder / "cache.mlir").write_text(CACHE.read_text())
        np.ones((2, 16), "f4").tofile(self.folder / "past.bin")
        wsec.compile(self.folder / "cache.mlir", self.folder / "cache.wafer")
        text = said(self.build / "cache", self.folder / "cache.wafer", self.folder / "two.state")
        lines = text.split("\n")
        self.assertEqual(lines[:3], ["load", "append(position from 0 to 63)", "attend(length from 1 to 64)"])
        self.assertEqual(lines[3:6], ["two rows: 2", "three rows: 5", "other three rows: 9"])
        for line, wanted in zip(lines[6:12], (r"^BadTensor: input 'x' is float32\[64, 16\] in 12 bytes", "^BadCall: .*65",
                                              "^BadTensor: .*no output 'z'", "^BadCall: the session is null",
                                              "^BadCall: the folders of weights is null", "^IoError: .*nothing.wafer")):
            self.assertRegex(line, wanted)
        self.assertEqual(lines[12:], ["still: 9", "from a file: 2", ""])

    def test_weights_in_cpp(self):
        model, weights = models.perceptron()
        (self.folder / "weights").mkdir()
        onnx.save(model, self.folder / "weights" / "mlp.onnx")
        models.rows(6).tofile(self.folder / "x.bin")
        for mode in ("stream", "resident"):
            program = wsec.compile(self.folder / "weights" / "mlp.onnx", self.folder / f"{mode}.wafer", mesh="32x32",
                                   dims={"rows": 6}, mode=mode)
            lines = said(self.build / "perceptron", program.path, self.folder / "weights", self.folder / "x.bin",
                         self.folder / "y.bin").split("\n")
            run = program.run({"x": models.rows(6)})
            y = np.fromfile(self.folder / "y.bin", "f4").reshape(6, 5)
            np.testing.assert_array_equal(y, run["y"])
            np.testing.assert_allclose(y, models.expected(models.rows(6), weights), atol=1e-3)
            self.assertEqual(lines[:2], ["x 6 12", f"cycles {int(run.report.cycles.total)}"])
            self.assertRegex(lines[2], r"^BadTensor: BadTensor: input 'x': expected float32.6, 12., found float64")
            self.assertEqual(lines[3:], ["output 'y' has another type",
                                         "BadCall: there is no engine 'fast': burst, strips or wavelet", ""])

    def test_shows_its_interface_alone(self):
        names = {line.split()[-1].split("@")[0] for line in said("nm", "-D", "--defined-only", self.library).splitlines()}
        declared = [name for name in names if name.startswith("wsec_")]
        self.assertEqual(sorted(names - {"_init", "_fini"}), sorted(declared))
        header = (ROOT / "runtime" / "library" / "wsec.h").read_text()
        self.assertEqual(sorted(declared), sorted(set(re.findall(r"\b(wsec_\w+)\(", header))))


if __name__ == "__main__":
    unittest.main()
