#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wsec.tools with tools of our own making: what they say, how far they are, how they end."""

import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from pathlib import Path
from unittest import mock

import wsec
from wsec import sentences, tools

# As wse-run: progress only for those who look on.
SLOW = r"""#!/bin/sh
if [ -t 2 ]; then
  printf '\rlaunch 1 of 2: 10 %% streamed\033[K' >&2; sleep 0.7
  printf '\rlaunch 2 of 2: 60 %% streamed\033[K' >&2; sleep 0.7
  printf '\r\033[K' >&2
fi
echo printed
"""


class ToolsTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.dict(os.environ, {"WSEC_BIN": str(self.folder)}))

    def test_quickstart_builds_what_the_package_calls(self):
        root = Path(__file__).parents[2]
        called = {name for source in (root / "python" / "wsec").glob("*.py")
                  for name in re.findall(r'(?:run\(|^_MODULE = )"(wse[\w-]+)"', source.read_text(), re.M)}
        self.assertLessEqual({"wsec", "wse-run"}, called)
        built = re.search(r"--for=quickstart\) targets=\(([^)]*)\)", (root / "tools" / "setup.sh").read_text())
        self.assertEqual(set(built[1].split()), called)

    def test_a_sentence_of_more_tokens_than_positions(self):
        self.assertEqual(sentences.encode(["word " * 510, "b"])["input_ids"].shape, (2, 512))
        with self.assertRaisesRegex(SystemExit, "^error: sentence 2 has 513 tokens, the model takes at most 512"):
            sentences.encode(["a", "word " * 511])

    def make(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)

    def failure(self, name, script, code):
        self.make(name, f"#!/bin/sh\ncat >&2 <<'END'\n{script}\nEND\nexit {code}\n")
        with self.assertRaises(wsec.Error) as caught:
            tools.run(name, [], "work")
        return caught.exception

    def test_messages(self):
        for name, said, code, kind, message in (
                ("wsec", "error: 1 node is odd\n  Det x1: unknown", 1, wsec.CompileError, "1 node is odd\n  Det x1: unknown"),
                ("wsec", "error: --mesh=1: expected WxH; see wsec --help", 2, wsec.UsageError, "--mesh=1: expected WxH"),
                ("wsec", "wsec: Unknown argument '-x'.  Try: '/bin/wsec --help'\nwsec: Did you mean '-o'?", 2,
                 wsec.UsageError, "Unknown argument '-x'.\nDid you mean '-o'?"),
                ("wse-run", "wse-run: error: Deadlock: PE (0, 0) waits", 1, wsec.RunError, "Deadlock: PE (0, 0) waits"),
                ("wse-run", "wse-run: error: BadTensor: no 'x'", 1, wsec.InputError, "no 'x'"),
                ("wse-run", "wse-run: error: a file: is odd", 1, wsec.RunError, "a file: is odd"),
                ("wse-run", "", 1, wsec.RunError, "wse-run failed without a word")):
            error = self.failure(name, said, code)
            self.assertIs(type(error), kind)
            self.assertEqual(str(error), message)
        self.assertEqual(self.failure("wse-run", "wse-run: error: Deadlock: so", 1).kind, "Deadlock")
        self.assertEqual(self.failure("wse-run", "wse-run: error: a file: so", 1).kind, "")
        self.make("wsec", "#!/bin/sh\necho note >&2; echo PLEASE submit a report and >&2; echo 0 main >&2; kill -9 $$\n")
        with self.assertRaisesRegex(wsec.CompileError, "^wsec was ended by signal 9; please report this: note$"):
            tools.run("wsec", [], "work")

    def test_warnings(self):
        self.make("wsec", "#!/bin/sh\necho weights lie elsewhere >&2\n")
        with self.assertWarnsRegex(UserWarning, "^weights lie elsewhere$"):
            tools.run("wsec", [], "work")

    def test_missing(self):
        with self.assertRaisesRegex(wsec.Error, "wse-nothing is not built: run tools/setup.sh"):
            wsec.tool("wse-nothing")

    def test_flags(self):
        self.assertEqual(tools.flags({"allow_f64_as_f32": True, "peek": ["0,0", "1,1:x"], "until": None, "quiet": False,
                                      "sparsity": 0.5}),
                         ["--allow-f64-as-f32", "--peek=0,0", "--peek=1,1:x", "--sparsity=0.5"])

    def test_progress_on_a_terminal(self):
        self.make("wse-run", SLOW)
        script = "from wsec import tools; print(tools.run('wse-run', [], 'running it', None))"
        for errors, shown in ("terminal", True), ("pipe", False):
            ours, theirs = pty.openpty() if shown else os.pipe()
            result = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=theirs, text=True)
            os.close(theirs)
            seen = b""
            while some := self.read(ours):
                seen += some
            self.assertEqual(result.communicate()[0], "printed\n\n", errors)
            self.assertEqual(b"\rrunning it: 1 s, launch 2 of 2: 60 % streamed\033[K" in seen, shown)
            self.assertEqual(seen[-4:], b"\r\033[K" if shown else b"")  # nothing is left of it

    def read(self, stream):
        try:
            return os.read(stream, 4096)
        except OSError:
            os.close(stream)
            return b""

    def test_progress_in_a_notebook(self):
        self.make("wse-run", SLOW)
        shown = []
        handle = types.SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))

        def display(data, raw, display_id):
            shown.append(data["text/plain"])
            return handle

        shell = type("ZMQInteractiveShell", (), {})()
        notebook = types.ModuleType("IPython")
        notebook.get_ipython = lambda: shell
        inside = types.ModuleType("IPython.display")
        inside.display = display
        with mock.patch.dict(sys.modules, {"IPython": notebook, "IPython.display": inside}):
            tools.run("wse-run", [], "running it", None)
        self.assertIn("running it: 1 s, launch 2 of 2: 60 % streamed", shown)
        self.assertEqual(shown[-1], "")

    def test_errors_behind_progress(self):
        self.make("wse-run", SLOW + "echo wse-run: error: Deadlock: so >&2; echo all wait >&2; exit 1\n")
        with mock.patch.object(tools.Status, "_show"), self.assertRaises(wsec.RunError) as caught:
            tools.run("wse-run", [], "running it", True)
        self.assertEqual(str(caught.exception), "Deadlock: so\nall wait")

    def test_interrupt(self):
        self.make("wse-run", f"#!/bin/sh\necho $$ > {self.folder}/pid\nexec sleep 60\n")
        threading.Timer(0.5, signal.pthread_kill, [threading.get_ident(), signal.SIGINT]).start()
        began = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            tools.run("wse-run", [], "running it", False)
        self.assertLess(time.monotonic() - began, 30)
        with self.assertRaises(ProcessLookupError):  # it has ended
            os.kill(int((self.folder / "pid").read_text()), 0)


if __name__ == "__main__":
    unittest.main()
