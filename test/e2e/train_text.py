#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The language model of wsec.manual, 0.8 million parameters on 32x32 PEs, learns from the manual of Python; its curve is held
against that of PyTorch, which evaluates the same graph in f64, and the time of a step against PyTorch's in f32.

Usage: train_text.py WORK STEPS [--mpi=N] [--svg=FILE] [flags of wsec train]. --mpi also trains in N processes, with the same bits;
--svg draws both curves.
"""

import json
import math
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

import torch_graph

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from wsec import manual  # noqa: E402

TOLERANCE = 1e-3


def rate(step, steps):
    if step < manual.WARMUP:
        return manual.RATE * step / manual.WARMUP
    return manual.RATE * (1 + math.cos(math.pi * (step - manual.WARMUP) / max(1, steps - manual.WARMUP))) / 2


def expected(path, text, steps, of):
    """Losses of the first `steps` of a run of `of`, and seconds of the fastest step."""
    graph = onnx.load(path).graph
    parameters = {i.name: torch_graph.tensor(numpy_helper.to_array(i)).requires_grad_() for i in graph.initializer}
    rule = torch.optim.AdamW(parameters.values(), betas=manual.BETAS)
    losses, seconds = [], math.inf
    for step in range(steps):
        began = time.monotonic()
        starts = [(step * manual.BATCH + j) * manual.SEQUENCE for j in range(manual.BATCH)]
        ids = torch.tensor(np.array([text[s:s + manual.SEQUENCE + 1] for s in starts]).astype("i8"))
        values = torch_graph.evaluate(graph, {graph.input[0].name: ids[:, :-1], **parameters})
        loss = torch.nn.functional.cross_entropy(values[graph.output[0].name].flatten(0, 1), ids[:, 1:].flatten())
        losses.append(loss.item())
        rule.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters.values(), manual.CLIP)
        rule.param_groups[0]["lr"] = rate(step, of)
        rule.step()
        seconds = min(seconds, time.monotonic() - began)
    return losses, seconds


def checked(step):
    """Parts of a step are predicted within 10 %, and so are the whole and its seconds."""
    own = sum(part["cycles"] for part in step["parts"])
    assert abs(own * step["passes"] / step["cycles"] - 1) < 1e-3, step
    for part in [*step["parts"], step]:
        off = part["predicted_cycles"] / part["cycles"] - 1
        print(f"{part.get('name', 'a step')}: {part['cycles']:.0f} cycles, predicted {100 * off:+.1f} %")
        assert abs(off) <= 0.1, part


def train(work, steps, processes, flags):
    """Its history."""
    manual.write(work)
    launcher = ["mpirun", "-np", processes] if processes else []
    result = subprocess.run([*launcher, "wsec", "train", "run.yaml", f"--steps={steps}", "--report=report.json", *flags], cwd=work, check=False, text=True,
                            stdout=subprocess.PIPE)
    if result.returncode:
        sys.exit(result.stdout)
    return manual.history(work)


def main():
    work, steps = Path(sys.argv[1]).absolute(), int(sys.argv[2])
    shutil.rmtree(work, ignore_errors=True)
    mine = {flag.split("=")[0]: flag.split("=", 1)[1] for flag in sys.argv[3:] if flag.startswith(("--mpi=", "--svg="))}
    flags = [f"--cache={work / 'programs'}", *(flag for flag in sys.argv[3:] if flag.split("=")[0] not in mine)]
    history = train(work, steps, None, flags)
    if "--mpi" in mine:
        assert train(work / "mpi", steps, mine["--mpi"], flags).losses == history.losses
        print(f"{mine['--mpi']} processes: the same losses")
    text = np.fromfile(work / "manual.txt", "u1")
    model = next((work / "programs").glob("*.onnx"))
    wanted, _ = expected(model, text, steps, steps)
    torch_graph.FLOAT = torch.float32
    _, own = expected(model, text, min(steps, 10), steps)
    off = [abs(a - b) for a, b in zip(history.losses, wanted)]
    last = slice(-min(steps, 20), None)
    step = min(manual.BATCH / entry["samples_per_second"] for entry in history.steps)
    checked(json.loads((work / "report.json").read_text())["training"]["step"])
    print(f"{len(history.losses)} steps: loss {history.losses[0]:.4f} to {history.losses[-1]:.4f}, "
          f"{np.mean(history.losses[last]):.3f} over the last {len(off[last])}, off by at most {max(off):.1e}; the fastest step "
          f"{step:.2f} s, PyTorch's {own:.2f} s")
    if "--svg" in mine:
        Path(mine["--svg"]).write_text(history.svg(beside={"PyTorch": wanted}) + "\n")
    assert len(history.losses) == steps and max(off) <= TOLERANCE, max(off)


if __name__ == "__main__":
    main()
