#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Low-rank adapters beside weights of a small GPT learn as in PyTorch, which trains the same graph with W + alpha / rank (B A)^T;
the rest stays as it is, and only adapters leave the wafer and are saved. A program takes them by name, or the model has them.

Usage: train_adapters.py WORK [flags of wsec train]
"""

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from safetensors.numpy import load_file, save_file

import torch_graph

LAYERS, WIDTH, VOCABULARY, SEQUENCE, BATCH, STEPS, RATE = 2, 32, 97, 16, 4, 50, 1e-2
RANK, ALPHA = 4, 8
CONFIG = f"""model: {{preset: tiny, layers: {LAYERS}, width: {WIDTH}, heads: 2, vocabulary: {VOCABULARY}, positions: {SEQUENCE}}}
batch_size: {BATCH}
sequence: {SEQUENCE}
training: {{tokens: tokens.npy, lr: {RATE}, mesh: 8x8, log: log.jsonl, cache: programs, quiet: true}}
"""
TARGETS = ["attention.q", "attention.v", "feed_forward.up"]
LORA = f"--lora=rank={RANK},alpha={ALPHA}," + ",".join(f"targets=*{target}.weight" for target in TARGETS)


class Work:
    def __init__(self, folder, flags):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.folder, self.flags = folder, flags
        self.tokens = np.random.default_rng(2).integers(0, VOCABULARY, STEPS * BATCH * SEQUENCE + 1)
        np.save(folder / "tokens.npy", self.tokens)
        (folder / "run.yaml").write_text(CONFIG)

    def run(self, *command, code=0):
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if result.returncode != code:
            sys.exit(f"$ {' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
        return result.stdout + result.stderr

    def train(self, *flags, steps=STEPS, code=0):
        return self.run("wsec", "train", "run.yaml", f"--steps={steps}", *self.flags, *flags, code=code)

    def losses(self):
        return [json.loads(line)["loss"] for line in (self.folder / "log.jsonl").read_text().splitlines()]

    def saved(self, folder):
        return load_file(max((self.folder / folder).glob("step-*")) / "model.safetensors")


def expected(path, first, tokens):
    """Losses, and adapters behind them."""
    graph = onnx.load(path).graph
    weights = {i.name: torch_graph.tensor(numpy_helper.to_array(i)) for i in graph.initializer}
    own = {name: torch_graph.tensor(array).requires_grad_() for name, array in first.items()}
    rule = torch.optim.AdamW(own.values(), lr=RATE)
    losses = []
    for step in range(STEPS):
        starts = [(step * BATCH + j) * SEQUENCE for j in range(BATCH)]
        ids = torch.tensor(np.array([tokens[s:s + SEQUENCE + 1] for s in starts]))
        effective = dict(weights)
        for name in own:
            if name.endswith(".lora_A.weight"):
                stem = name.removesuffix(".lora_A.weight")
                effective[stem + ".weight"] = weights[stem + ".weight"] + ALPHA / RANK * (own[stem + ".lora_B.weight"] @ own[name]).T
        values = torch_graph.evaluate(graph, {graph.input[0].name: ids[:, :-1], **effective})
        loss = torch.nn.functional.cross_entropy(values[graph.output[0].name].flatten(0, 1), ids[:, 1:].flatten())
        losses.append(loss.item())
        rule.zero_grad()
        loss.backward()
        rule.step()
    return losses, {name: tensor.detach().numpy() for name, tensor in own.items()}


def checked_start(first):
    """As package `peft` starts: A within 1 / sqrt(in), B 0; not one sequence for all."""
    assert len(first) == 2 * LAYERS * len(TARGETS), sorted(first)
    for name, array in first.items():
        if name.endswith("lora_B.weight"):
            assert array.shape[1] == RANK and not array.any(), name
        else:
            most = 1 / math.sqrt(array.shape[1])
            assert array.shape[0] == RANK and most / 2 < np.abs(array).max() <= most, name
    starts = {name: array.flat[0] for name, array in first.items() if name.endswith("lora_A.weight")}
    assert len(set(starts.values())) == len(starts), starts


def refusals(work):
    for message, flag, code in (
            ("targets=*typo* names no weight of a product", "--lora=rank=2,alpha=4,targets=*typo*", 1),
            ("--lora: rank=33 is more than weight 'layers.0.attention.q.weight', 32 x 32, has",
             "--lora=rank=33,alpha=4,targets=*.q.weight", 1),
            ("--lora wants rank=N,alpha=X,targets=GLOB with numbers above 0, found 'rank=0,alpha=1,targets=*'",
             "--lora=rank=0,alpha=1,targets=*", 2)):
        text = work.train(flag, steps=1, code=code)
        assert message in text, text
    print("refused by name")


def compiled(work):
    """A program for use takes adapters of either run, by name, without being compiled again; and they merge with the weights."""
    model = next((work.folder / "programs").glob("*.onnx"))
    ids = work.tokens[None, :SEQUENCE]
    np.save(work.folder / "ids.npy", ids)
    program = model.with_suffix(".wafer")
    work.run("wsec", model, "-o", program, "--mesh=8x8", "--quiet", LORA)

    def logits(path, *flags):
        work.run("wse-run", path, "--input", "input_ids=ids.npy", "--output", "logits=logits.npy", "--quiet", *flags)
        return np.load(work.folder / "logits.npy")

    def wanted(path):
        values = torch_graph.evaluate(onnx.load(path).graph, {"input_ids": torch.tensor(ids)})
        return values["logits"].detach().numpy()
    run = max((work.folder / "run").glob("step-*"))
    merged = work.folder / "merged.onnx"
    work.run(sys.executable, "-m", "wsec.adapters", model, run, f"--alpha={ALPHA}", "-o", merged)
    base, tuned = wanted(model), wanted(merged)
    assert np.abs(base - tuned).max() > 1e-2
    first = max((work.folder / "first").glob("step-*"))
    for its, name, flags in ((base, "none", []), (base, "those of the start", [f"--parameters={first}"]),
                             (tuned, "those that learnt", [f"--parameters={run}"])):
        apart = np.abs(logits(program, *flags) - its).max()
        assert apart <= 1e-5, (name, apart)
    plain = work.folder / "merged.wafer"
    work.run("wsec", merged, "-o", plain, "--mesh=8x8", "--quiet")
    assert np.abs(logits(plain) - tuned).max() <= 1e-5
    text = work.run("wse-run", plain, f"--parameters={run}", code=1)
    assert "the program has none by name" in text, text
    text = work.run("wse-run", program, f"--parameters={run / 'optimizer.safetensors'}", code=1)
    assert "the program has no parameter of that name" in text, text
    turned = {name: array.T.copy() for name, array in load_file(run / "model.safetensors").items()}
    save_file(turned, work.folder / "turned.safetensors")
    text = work.run("wse-run", program, "--parameters=turned.safetensors", code=1)
    assert "in another shape" in text, text
    print("swapped and merged: the same logits")


def main():
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[2] / "python")
    work = Work(Path(sys.argv[1]).absolute(), sys.argv[2:])
    refusals(work)
    work.train(LORA, "--lr=0", "--checkpoint-dir=first", steps=1)
    first = work.saved("first")
    checked_start(first)
    work.train(LORA, "--checkpoint-dir=run", "--report=report.json")
    wanted, end = expected(next((work.folder / "programs").glob("*.onnx")), first, work.tokens)
    losses = work.losses()
    worst = max(abs(a - b) for a, b in zip(losses, wanted))
    assert len(losses) == STEPS and worst <= 1e-4, (worst, losses, wanted)
    apart = max(np.abs(array - end[name]).max() for name, array in work.saved("run").items())
    assert apart <= 1e-3, apart
    step = json.loads((work.folder / "report.json").read_text())["training"]["step"]
    elements = sum(array.size for array in first.values())
    assert step["gradient_bytes_at_root"] == 4 * elements, step
    print(f"{STEPS} steps: loss {losses[0]:.4f} to {losses[-1]:.4f}, off by at most {worst:.1e}; {elements} elements learn")
    compiled(work)


if __name__ == "__main__":
    main()
