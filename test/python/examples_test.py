#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The notebooks of python/examples, cell by cell."""

import contextlib
import io
import json
import os
import re
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from small_llama import SmallLlama

ROOT = Path(__file__).parents[2]
# What each has to print; its own cells say what of it is compared with what.
PRINTS = {
    "chat": (r"[1-9]\d* tokens of a prompt, \d+ tokens a second", r"[1-9]\d* tokens were there", "the same again: True"),
    "encoder": ("as onnxruntime: True", r"\d times as fast, the largest difference is .*e-0[2345]"),
    "placement": ("the same values: True", r"[1-9]\.\d+ times the cycles", r"region 25x\d+ does not fit the mesh of 24x14"),
    "pe_program": ("as numpy: True", r" 32 PEs: \d+ cycles"),
    "train": ("the same losses on four wafers: True",),
}


class ExamplesTest(unittest.TestCase):
    def test_all_are_here(self):
        self.assertEqual(sorted(path.stem for path in (ROOT / "python" / "examples").glob("*.ipynb")), sorted(PRINTS))

    def test_cells(self):
        self.addCleanup(os.chdir, os.getcwd())
        # SmolLM2 takes gigabytes; what it says is chat_tokens.py's to see.
        small = Path(self.enterContext(tempfile.TemporaryDirectory()))
        SmallLlama(small / "small.gguf")
        self.enterContext(unittest.mock.patch("wsec.chat.packaged_model", lambda: small / "small.gguf"))
        self.enterContext(unittest.mock.patch.dict(os.environ, XDG_CACHE_HOME=str(small)))
        for name, wanted in PRINTS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                cells = json.loads((ROOT / "python" / "examples" / f"{name}.ipynb").read_text())["cells"]
                names = {}
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    for number, cell in enumerate(cells):
                        if cell["cell_type"] == "code":
                            self.assertEqual(cell["outputs"], [])
                            exec(compile("".join(cell["source"]), f"{name}, cell {number}", "exec"), names)
                for line in wanted:
                    self.assertRegex(printed.getvalue(), re.compile(line))
                if "history" in names:
                    self.assertLess(names["history"].losses[-1], names["history"].losses[0])


if __name__ == "__main__":
    unittest.main()
