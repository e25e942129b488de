#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A byte-level language model of 0.8 million parameters learns from the manual of Python, which every Python has, on 32x32 PEs;
its curve is held against that of PyTorch, which evaluates the same graph in f64.

Usage: train_text.py WORK STEPS [flags of wsec train]; --mpi=N starts N processes.
"""

import json
import os
import pydoc_data.topics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

import torch_graph

BATCH, SEQUENCE, TOLERANCE = 8, 64, 1e-3

CONFIG = """\
model: {{preset: tiny, layers: 4, width: 128, heads: 4, vocabulary: 256, positions: 64}}
batch_size: {batch}
sequence: {sequence}
training: {{tokens: {work}/manual.txt, steps: {steps}, lr: 1e-3, mesh: 32x32, log: {work}/log.jsonl, cache: {work}/programs}}
"""


def write_text(path):
    topics = pydoc_data.topics.topics
    path.write_text("\n\n".join(topics[name] for name in sorted(topics)), encoding="utf-8")


def expected(path, text, steps):
    graph = onnx.load(path).graph
    parameters = {i.name: torch_graph.tensor(numpy_helper.to_array(i)).requires_grad_() for i in graph.initializer}
    rule = torch.optim.AdamW(parameters.values(), lr=1e-3)
    losses = []
    for step in range(steps):
        starts = [(step * BATCH + j) * SEQUENCE for j in range(BATCH)]
        ids = torch.tensor(np.array([text[s:s + SEQUENCE + 1] for s in starts]).astype("i8"))
        values = torch_graph.evaluate(graph, {graph.input[0].name: ids[:, :-1], **parameters})
        loss = torch.nn.functional.cross_entropy(values[graph.output[0].name].flatten(0, 1), ids[:, 1:].flatten())
        losses.append(loss.item())
        rule.zero_grad()
        loss.backward()
        rule.step()
    return losses


def main():
    work, steps = Path(sys.argv[1]), int(sys.argv[2])
    processes = [flag.removeprefix("--mpi=") for flag in sys.argv[3:] if flag.startswith("--mpi=")]
    flags = [flag for flag in sys.argv[3:] if not flag.startswith("--mpi=")]
    work.mkdir(parents=True, exist_ok=True)
    write_text(work / "manual.txt")
    (work / "run.yaml").write_text(CONFIG.format(batch=BATCH, sequence=SEQUENCE, work=work, steps=steps))
    began = time.monotonic()
    launcher = ["mpirun", "-np", processes[0]] if processes else []
    result = subprocess.run([*launcher, "wsec", "train", work / "run.yaml", "--log-every=20", *flags], check=False,
                            text=True, stdout=subprocess.PIPE)
    seconds = time.monotonic() - began
    if result.returncode:
        sys.exit(result.stdout)
    lines = [json.loads(line) for line in (work / "log.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in lines if "loss" in line]
    model = next((work / "programs").glob("*.onnx"))
    began = time.monotonic()
    wanted = expected(model, np.fromfile(work / "manual.txt", "u1"), min(steps, int(os.environ.get("ORACLE_STEPS", steps))))
    own = (time.monotonic() - began) / len(wanted)
    worst = max(abs(a - b) for a, b in zip(losses, wanted))
    print(f"{len(losses)} steps: loss {losses[0]:.4f} to {losses[-1]:.4f}, off by at most {worst:.1e}; {seconds:.0f} s, "
          f"{seconds / steps:.2f} s a step, PyTorch's evaluation in f64 {own:.2f} s")
    assert len(losses) == steps and worst <= TOLERANCE, worst


if __name__ == "__main__":
    main()
