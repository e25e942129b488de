#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A language model of wsec.lesson learns; its curve is held against that of PyTorch, which evaluates
the same graph in f64, and the time of a step against PyTorch's in f32.

Usage: train_text.py WORK STEPS [--size=small|large] [--of=FOLDER] [--mpi=N] [--svg=FILE] [flags of wsec train]. --of compares the
first STEPS of the run that python -m wsec.lesson --folder=FOLDER has made; --mpi also trains in N processes, with the
same bits; --svg draws both curves.
"""

import json
import math
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import safetensors.torch
import torch
from onnx import numpy_helper

import torch_graph

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
os.environ.setdefault("WSEC_PYTHON", sys.executable)
os.environ.setdefault("PYTHONPATH", sys.path[0])
from wsec import lesson  # noqa: E402
from wsec.tokens import tokens_of  # noqa: E402

TOLERANCE = 1e-3
# Of a run so long that rounding grows in it, means of 50 losses.
MEAN_TOLERANCE = 0.05


def rate(run, step, steps):
    if step < run.warmup:
        return run.rate * step / run.warmup
    return run.rate * (1 + math.cos(math.pi * (step - run.warmup) / max(1, steps - run.warmup))) / 2


def expected(path, text, run, steps, of):
    """Losses of the first `steps` of a run of `of`, and seconds of the fastest step."""
    graph = onnx.load(path).graph
    parameters = {i.name: torch_graph.tensor(numpy_helper.to_array(i)).requires_grad_() for i in graph.initializer}
    rule = torch.optim.AdamW(parameters.values(), betas=lesson.BETAS)
    losses, seconds = [], math.inf
    for step in range(steps):
        began = time.monotonic()
        starts = [(step * run.batch + j) * run.sequence for j in range(run.batch)]
        ids = torch.tensor(np.array([text[s:s + run.sequence + 1] for s in starts]).astype("i8"))
        values = torch_graph.evaluate(graph, {graph.input[0].name: ids[:, :-1], **parameters})
        loss = torch.nn.functional.cross_entropy(values[graph.output[0].name].flatten(0, 1), ids[:, 1:].flatten())
        losses.append(loss.item())
        rule.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters.values(), lesson.CLIP)
        rule.param_groups[0]["lr"] = rate(run, step, of)
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


def train(work, run, steps, processes, flags):
    """Its history."""
    lesson.write(work, run)
    launcher = ["mpirun", "-np", processes] if processes else []
    result = subprocess.run([*launcher, "wsec", "train", "run.yaml", f"--steps={steps}", "--report=report.json", *flags], cwd=work, check=False, text=True,
                            stdout=subprocess.PIPE)
    if result.returncode:
        sys.exit(result.stdout)
    return lesson.history(work)


def tokens(folder, run):
    if not run.has_pieces:
        return np.fromfile(folder / "learnt.txt", "u1")
    return np.tile(tokens_of(folder / "learnt.txt", folder / "tokenizer.json"), 2)


def check_sample(folder, run, path, count=12):
    """What the wafer goes on with is what PyTorch finds likeliest, by the same checkpoint."""
    text = "And the king" if run.has_pieces else "The manual"
    encode, decode = lesson.coders(folder, run)
    weights = safetensors.torch.load_file(max(folder.glob("checkpoints/*/model.safetensors")))
    graph = onnx.load(path).graph
    ids = encode(text)
    for _ in range(count):
        padded = torch.tensor([ids + [0] * (run.sequence - len(ids))])
        values = torch_graph.evaluate(graph, {graph.input[0].name: padded, **{name: its.double() for name, its in weights.items()}})
        ids.append(int(values[graph.output[0].name][0, len(ids) - 1].argmax()))
    said = lesson.sample(folder, run, text, [f"--max-new-tokens={count}"])
    assert said == decode(ids), (said, decode(ids))
    print(f"goes on as PyTorch does: {said!r}")


def main():
    work, steps = Path(sys.argv[1]).absolute(), int(sys.argv[2])
    shutil.rmtree(work, ignore_errors=True)
    own = ("--mpi=", "--svg=", "--size=", "--of=")
    mine = {flag.split("=")[0]: flag.split("=", 1)[1] for flag in sys.argv[3:] if flag.startswith(own)}
    flags = [f"--cache={work / 'programs'}", *(flag for flag in sys.argv[3:] if not flag.startswith(own))]
    run, folder = lesson.RUNS[mine.get("--size", "small")], work
    if "--of" in mine:
        folder = Path(mine["--of"])
        history = lesson.history(folder)
        assert (folder / "run.yaml").read_text() == run.config()
        subprocess.run(["wsec", "train", "run.yaml", "--steps=1", f"--log={work / 'log.jsonl'}", f"--checkpoint-dir={work}", *flags], cwd=folder,
                       check=True, stdout=subprocess.DEVNULL)
    else:
        history = train(work, run, steps, None, flags)
    if "--mpi" in mine:
        assert train(work / "mpi", run, steps, mine["--mpi"], flags).losses == history.losses
        print(f"{mine['--mpi']} processes: the same losses")
    text = tokens(folder, run)
    model = next((work / "programs").glob("*.onnx"))
    total = run.steps if "--of" in mine else steps
    wanted, _ = expected(model, text, run, steps, total)
    check_sample(folder, run, model)
    torch_graph.FLOAT = torch.float32
    _, own = expected(model, text, run, min(steps, 10), total)
    losses = history.losses[:steps]
    off = [abs(a - b) for a, b in zip(losses, wanted)]
    last = slice(-min(steps, 20), None)
    step = min(run.batch / entry["samples_per_second"] for entry in history.steps)
    if "--of" not in mine:
        checked(json.loads((work / "report.json").read_text())["training"]["step"])
    print(f"{len(losses)} steps: loss {losses[0]:.4f} to {losses[-1]:.4f}, "
          f"{np.mean(losses[last]):.3f} over the last {len(off[last])}, off by at most {max(off):.1e}; the fastest step "
          f"{step:.2f} s, PyTorch's {own:.2f} s")
    if "--svg" in mine:
        Path(mine["--svg"]).write_text(history.svg(beside={"PyTorch": wanted}) + "\n")
    assert len(losses) == steps
    if "--of" not in mine:
        assert max(off) <= TOLERANCE, max(off)
        return
    held, size = history.evaluations[-1]["eval_loss"], (folder / "held.txt").stat().st_size
    print(f"held out {held:.2f} a piece, {held * len(tokens_of(folder / 'held.txt', folder / 'tokenizer.json')) / size:.2f} a byte")
    within = {bar: next((i for i, far in enumerate(off) if far > bar), steps) for bar in (1e-5, TOLERANCE)}
    apart = max(abs(np.mean(losses[i:i + 50]) - np.mean(wanted[i:i + 50])) for i in range(0, steps, 50))
    print(f"{' and '.join(f'{count} within {bar}' for bar, count in within.items())}, means of 50 losses by at most {apart:.1e}")
    assert within[TOLERANCE] >= min(steps, 20) and apart <= MEAN_TOLERANCE


if __name__ == "__main__":
    main()
