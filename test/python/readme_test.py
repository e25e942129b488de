#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The session of python/README.md prints what stands there."""

import contextlib
import io
import os
import re
import tempfile
import unittest
from pathlib import Path

README = Path(__file__).parents[2] / "python" / "README.md"
STEP = re.compile(r"```python\n(.*?)```\n```text\n(.*?)```\n", re.DOTALL)


class ReadmeTest(unittest.TestCase):
    def test_session(self):
        os.chdir(self.enterContext(tempfile.TemporaryDirectory()))
        names = {}
        steps = STEP.findall(README.read_text())
        self.assertEqual(len(steps), 4)
        for code, expected in steps:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(code, README.name, "exec"), names)
            self.assertEqual(printed.getvalue(), expected)
        os.chdir(Path(__file__).parent)


if __name__ == "__main__":
    unittest.main()
