#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs wse-inspect as people do: what it shows, what it finds different.

  wse_inspect_test.py WSE-INSPECT WRITE-EXAMPLE-PROGRAM
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

WSE_INSPECT, WRITE_EXAMPLE = sys.argv[1:3]


class WseInspectTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.program = Path(self.directory.name) / "p.wafer"
        subprocess.run([WRITE_EXAMPLE, self.program], check=True)

    def tearDown(self):
        self.directory.cleanup()

    def run_tool(self, *words, code=0):
        result = subprocess.run([WSE_INSPECT, *words], capture_output=True, text=True,
                                check=False, timeout=60)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout if not result.stderr else result.stderr

    def changed(self, before, after):
        """A copy of the program with one string of its tables replaced."""
        path = self.program.with_name("changed.wafer")
        data = self.program.read_bytes()
        self.assertEqual(data.count(before), 1)
        path.write_bytes(data.replace(before, after))
        return path

    def test_show(self):
        text = self.run_tool("show", self.program)
        for line in ("program 'negation', compiled by test",
                     "1x1 of 1x1 PEs, 49152 bytes each (4176 taken by the host runtime)",
                     "12 bytes streamed, 0 stay between launches, 12 at most at a time",
                     "class 'all': 1 PEs (x 0, y 0)",
                     "  color 20 (launches), 1 PEs\n    x 0, y 0: West -> Ramp\n",
                     "    x 0, y 0: Ramp -> East\n"):
            self.assertIn(line, text)
        self.assertRegex(text, r"\n +\d+ +12  sum\n")
        self.assertRegex(text, r"\n  feed +In +0 +F32 +1  x, w\n")
        self.assertRegex(text, r"\n +0 +0  negate +feed, drain\n")

    def test_json(self):
        summary = json.loads(self.run_tool("show", self.program, "--json"))
        self.assertEqual(summary["machine"]["mesh"], [1, 1])
        self.assertEqual(summary["classes"][0]["routines"][0]["instructions"], 3)
        self.assertEqual([t["name"] for t in summary["tensors"]], ["x", "w", "y"])
        self.assertEqual(summary["memory"]["pes"], 1)

    def test_places(self):
        text = self.run_tool("sram", self.program)
        self.assertRegex(text, r"\n +\d+ +12  sum +F32   0 +negate\n")
        its = json.loads(self.run_tool("sram", self.program, "--json"))["classes"][0]
        self.assertEqual([b["launches"] for b in its["buffers"]], [[[0, 0]]])
        self.assertIn("run by class 'all': x 0, y 0",
                      self.run_tool("where", self.program, "negate"))
        self.assertIn("there is 'negate'",
                      self.run_tool("where", self.program, "negative", code=1))
        self.assertIn("PE (0, 0): class 'all'", self.run_tool("at", self.program, "0,0"))
        self.assertIn("outside of the mesh", self.run_tool("at", self.program, "1,0", code=1))

    def test_diff(self):
        self.assertEqual(self.run_tool("diff", self.program, self.program), "")
        self.assertEqual(
            self.run_tool("diff", self.program, self.changed(b"negation", b"addition"), code=1),
            'model: "negation" -> "addition"\n')
        lines = self.run_tool("diff", self.program, self.changed(b"sum\0", b"acc\0"), code=1)
        self.assertIn("classes 'all', buffers 'sum': only in the first\n", lines)
        self.assertIn("classes 'all', buffers 'acc': only in the second\n", lines)

    def test_names_cannot_steer_a_terminal(self):
        escaped = self.changed(b"negation", b"neg\x1b[7m.")
        self.assertIn(r"program 'neg\033[7m.'", self.run_tool("show", escaped))
        self.assertIn(r'"neg\u001b[7m."', self.run_tool("show", escaped, "--json"))

    def test_what_is_wrong(self):
        self.assertIn("usage: wse-inspect", self.run_tool("--help"))
        self.assertRegex(self.run_tool("--version"), r"^wse-inspect \d")
        for words in ([], ["show"], ["draw", "x"], ["diff", "x"], ["show", "x", "--nope"],
                      ["diff", "x", "y", "--json"], ["show", "x", "--pe=0,0"], ["sram", "x", "--pe"],
                      ["where", "x"], ["at", "x"]):
            self.assertIn("wse-inspect --help", self.run_tool(*words, code=2))
        self.assertIn("there is no flag --jsno; nearest: '--json', '--help', '--pe', '-o', '--entry'",
                      self.run_tool("show", "x", "--jsno", code=2))
        with open("/dev/full", "w") as full:
            result = subprocess.run([WSE_INSPECT, "show", self.program], stdout=full,
                                    stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr),
                         (1, "wse-inspect: error: cannot write to standard output: No space left on "
                             "device\n"))
        self.program.write_bytes(b"WAFER")
        self.assertIn("BadProgram: ", self.run_tool("show", self.program, code=1))
        self.assertIn("IoError: ", self.run_tool("show", "/missing.wafer", code=1))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
