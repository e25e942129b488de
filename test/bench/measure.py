# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What rows are measured with: programs on the emulator, and what they are held against."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

root = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(root / "python"), str(root / "test/e2e/models")]
import make_torch_models  # noqa: E402
import small_models  # noqa: E402
import wsec  # noqa: E402

MEGA = 1e6


class Missing(Exception):
    """A model that is not there, and how to get it."""


class Model:
    """A file and inputs: a small model by name, or one that a script made into the cache."""

    def __init__(self, bench, name, maker=None):
        if maker:
            path = make_torch_models.cache() / f"{name}.onnx"
            if not path.exists():
                raise Missing(f"{path} is missing: run {maker}")
            name = path
        self.name = Path(name).stem
        path, self.inputs = small_models.obtain(str(name), bench.folder)
        self.path = path.resolve()  # weights are read through no link
        self.npz = bench.folder / f"{self.name}.npz"
        np.savez(self.npz, **self.inputs)


class Program:
    """A model compiled for a mesh, and runs of it. `variant` is forced upon every product."""

    def __init__(self, bench, model, mesh, flags=(), run=(), variant=None):
        self.bench, self.run_flags = bench, run
        self.model = model
        self.file = bench.folder / f"{len(bench.programs)}.wafer"
        shapes = [f"--shape={n}={'x'.join(map(str, v.shape))}" for n, v in model.inputs.items()]
        compiling = ["wsec", model.path, f"--mesh={mesh}", "--quiet", *shapes, *flags]
        if variant:
            compiling = self.force(compiling, variant)
        timed([*compiling, "-o", self.file])

    def force(self, compiling, variant):
        """The command that goes on from the selected program, in which `variant` is written."""
        selected = self.file.with_suffix(".mlir")
        timed([*compiling, "--stop-after=select", "--print-constants", "-o", selected])
        text, count = re.subn(r"variant\(\w+\) on @r", f"variant({variant}) on @r", selected.read_text())
        if not count:
            raise wsec.Error(f"{self.model.name}: no product whose variant could be {variant}")
        selected.write_text(text)
        return ["wsec", selected, "--quiet"]

    def run(self, *flags):
        """The report of a run; seconds and MB of its process."""
        report = self.file.with_suffix(".json")
        seconds, memory = timed(
            ["wse-run", self.file, f"--weights={self.model.path.parent}", "--inputs", self.model.npz, "--quiet",
             f"--report={report}", f"--threads={self.bench.threads}", *self.run_flags, *flags])
        return json.loads(report.read_text()), seconds, memory

    def cold(self):
        """Seconds of emulation, the only run of a process."""
        return self.run()[0]["time"]["emulate_s"]

    def repeated(self):
        """Seconds of the shortest of runs that replay the first, for as long as a round should take."""
        if not hasattr(self, "runs"):
            once = self.run("--repeat=3")[0]["time"]["emulate_s"]
            self.runs = int(min(200, max(2, self.bench.span / once)))
        return self.run(f"--repeat={self.runs}")[0]["time"]["emulate_s"]

    def process(self):
        """Seconds of the whole process."""
        return self.run()[1]

    def memory(self):
        """MB of the process at its peak."""
        return self.run()[2]


class OnnxRuntime:
    """A session of the same model on as many threads."""

    def __init__(self, bench, model, runs=1):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = bench.threads
        self.session = onnxruntime.InferenceSession(str(model.path), options)
        self.bench, self.inputs, self.runs = bench, model.inputs, runs
        self.session.run(None, self.inputs)

    def seconds(self):
        """Of the shortest of at least three runs."""
        end, shortest = time.perf_counter() + self.bench.span / 4, np.inf
        for number in range(1000):
            start = time.perf_counter()
            self.session.run(None, self.inputs)
            shortest = min(shortest, time.perf_counter() - start)
            if number >= 2 and time.perf_counter() > end:
                break
        return self.runs * shortest


class Training:
    """Steps of AdamW of a GPT-2: on the emulator, and by PyTorch on as many threads."""

    def __init__(self, bench, shape, mesh, tokens):
        self.bench, self.mesh, self.tokens = bench, mesh, tokens
        self.shape = {"preset": "gpt2-s", **shape}
        self.file = bench.folder / f"training-{len(bench.programs)}.yaml"
        self.file.write_text(f"model: {json.dumps(self.shape)}\n", encoding="utf-8")

    def seconds(self):
        """Of the shortest step but the first, which is recorded for the others."""
        text, log = self.file.with_suffix(".npy"), self.file.with_suffix(".jsonl")
        np.save(text, np.arange(4 * self.tokens + 1) % 97)
        timed(["wsec", "train", self.file, f"--tokens={text}", f"--sequence={self.tokens}", "--batch=1", "--steps=3",
               f"--mesh={self.mesh}", f"--threads={self.bench.threads}", f"--log={log}", "--quiet"])
        return min(1 / json.loads(line)["samples_per_second"] for line in log.read_text().splitlines()[1:])

    def pytorch(self):
        import torch
        import transformers

        torch.set_num_threads(self.bench.threads)
        sizes = {"layers": "n_layer", "width": "n_embd", "heads": "n_head", "vocabulary": "vocab_size"}
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
            resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, **{sizes[key]: size for key, size in self.shape.items() if key in sizes}))
        optimizer = torch.optim.AdamW(model.parameters())
        ids = torch.arange(self.tokens).unsqueeze(0) % 97
        shortest = np.inf
        for _ in range(4):
            start = time.perf_counter()
            optimizer.zero_grad()
            model(input_ids=ids, labels=ids).loss.backward()
            optimizer.step()
            shortest = min(shortest, time.perf_counter() - start)
        return shortest


class BareLoop:
    """BareProducts.cpp: what one core reaches without an emulator around it."""

    def __init__(self, operations):
        self.operations = operations

    def seconds(self):
        """For as many operations, at the peak of this moment."""
        return self.operations / (1e9 * bare_rates()[0])


def bare_rates():
    """GFLOP/s of one core, of the faster form of the loop, and the instruction set."""
    text = subprocess.run([wsec.tool("wsec-bench-kernels"), "--benchmark_filter=bareProduct",
                           "--benchmark_format=json"], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout
    runs = [run for run in json.loads(text)["benchmarks"] if run["run_type"] == "iteration"]
    return max(run["GFLOP/s"] for run in runs), runs[0]["label"]


def timed(command):
    """Wall seconds and peak resident MB of a tool."""
    command = [wsec.tool(command[0]), *map(str, command[1:])]
    before = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - before
    if status:
        raise wsec.Error(f"{' '.join(command)} failed")
    return seconds, usage.ru_maxrss * 1024 / MEGA
