#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints and files of tensors as people see them: by wse-inspect, and by the
`safetensors` package.

  stored_files_test.py WSE-INSPECT WRITE-EXAMPLE-CHECKPOINT
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

WSE_INSPECT, WRITE_EXAMPLE = sys.argv[1:3]


class StoredFilesTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.folder = Path(self.directory.name)
        subprocess.run([WRITE_EXAMPLE, self.folder], check=True)
        self.last = self.folder / "step-000000000002"

    def tearDown(self):
        self.directory.cleanup()

    def run_tool(self, *words, code=0):
        result = subprocess.run([WSE_INSPECT, "store", *words], capture_output=True, text=True,
                                check=False, timeout=60)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout if not result.stderr else result.stderr

    def test_a_checkpoint(self):
        for path in (self.folder, self.last):  # the last one of a folder
            text = self.run_tool(path, "--verify")
            for line in ("checkpoint after step 2, by adamw, loss scale 32768.0, all files are whole\n",
                         "  data.position = 17, 4\n", "  model-00002-of-00002.safetensors, ",
                         f"2 tensors of 14 elements, 56 bytes, in {self.last}\n"):
                self.assertIn(line, text)
            self.assertRegex(text, r"\n +layer.weight +F32 +\[2,3\] +24 +\d+ +model-00001-of-00002.safetensors\n")
        whole = json.loads(self.run_tool(self.folder, "--json"))
        self.assertEqual(whole["checkpoint"]["frozen"], ["embedding"])
        self.assertEqual(whole["checkpoint"]["verified"], False)
        self.assertEqual([t["name"] for t in whole["tensors"]], ["layer.weight", "embedding"])
        self.assertIn("step 1,", self.run_tool(self.folder / "step-000000000001"))

    def test_our_files_are_safetensors(self):
        weight = load_file(self.last / "model-00001-of-00002.safetensors")["layer.weight"]
        # AdamW's steps of a constant gradient are of the learning rate.
        np.testing.assert_allclose(weight, np.array([[-1, 1, -1], [1, -1, 1]], "f4"), atol=1e-6)
        moments = {name: value for file in self.last.glob("optimizer-*.safetensors")
                   for name, value in load_file(file).items()}
        self.assertEqual(sorted(moments), ["optimizer.state.layer.weight.exp_avg",
                                           "optimizer.state.layer.weight.exp_avg_sq"])

    def test_files_of_others(self):
        path = self.folder / "other.safetensors"
        save_file({"a": np.zeros((2, 3), "f2"), "b": np.zeros((), "i8")}, path, metadata={"by": "others"})
        text = self.run_tool(path)
        self.assertIn(f"2 tensors of 7 elements, 20 bytes, in {path}\n", text)
        self.assertRegex(text, r"\n +a +F16 +\[2,3\] +12 ")

    def test_what_is_wrong(self):
        path = self.last / "model-00001-of-00002.safetensors"
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        self.run_tool(self.last)
        self.assertIn("BadState: '" + str(path) + "' is not the file that the checkpoint was saved with",
                      self.run_tool(self.last, "--verify", code=1))
        path.write_bytes(data[:-1])
        self.assertIn("BadTensor: ", self.run_tool(self.last, code=1))
        self.assertIn("is no checkpoint", self.run_tool(path, "--verify", code=1))
        self.assertIn("IoError: ", self.run_tool(self.folder / "missing", code=1))
        for words in ((), (path, path), (path, "--pe=0,0")):
            self.assertIn("wse-inspect --help", self.run_tool(*words, code=2))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
