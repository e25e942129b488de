#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A GPT-2 of two layers as PyTorch exports it, trained by PyTorch and by `wsec train`: the same losses, also
with 6 samples a call.

Usage: train_gpt2.py WORK [MESH] [--full]
  --full  one of twelve layers with the sizes of GPT-2 124M, 1 x 128 tokens, on 32x32 PEs; 5 GB, minutes
"""

import argparse
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

TOLERANCE = 1e-4


@dataclass
class Size:
    vocabulary: int
    sequence: int
    width: int
    layers: int
    heads: int
    batch: int
    steps: int
    mesh: str


SMALL = Size(97, 16, 60, 2, 5, batch=6, steps=8, mesh="12x8")
FULL = Size(50257, 128, 768, 12, 12, batch=1, steps=3, mesh="32x32")


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, use_cache=False).logits


def make_model(size):
    """With noise on every parameter: exporters drop what is 0, and merge what is equal. With a head of its own: of a tied one
    they make two weights."""
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=size.vocabulary, n_positions=size.sequence, n_embd=size.width, n_layer=size.layers, n_head=size.heads,
        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, attn_implementation="eager", tie_word_embeddings=False))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.02 * torch.randn_like(parameter)
    return model


def train(model, tokens, size):
    rule = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for step in range(size.steps):
        starts = [(step * size.batch + j) * size.sequence for j in range(size.batch)]
        ids = torch.tensor(np.array([tokens[s:s + size.sequence + 1] for s in starts]))
        logits = model(input_ids=ids[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        losses.append(loss.item())
        rule.zero_grad()
        loss.backward()
        rule.step()
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("mesh", nargs="?")
    parser.add_argument("--full", action="store_true")
    arguments = parser.parse_args()
    work, size = arguments.work, FULL if arguments.full else SMALL
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    model = make_model(size).eval()
    tokens = np.random.default_rng(2).integers(0, size.vocabulary, 1000)
    np.save(work / "tokens.npy", tokens)
    path = work / "gpt2.onnx"
    torch.onnx.export(Logits(model), (torch.zeros((2, size.sequence), dtype=torch.int64),), path, dynamo=True, verbose=False,
                      input_names=["input_ids"], output_names=["logits"], optimize=True, external_data=arguments.full,
                      dynamic_shapes={"input_ids": {0: torch.export.Dim("batch", min=1, max=64)}})
    expected = train(model, tokens, size)
    first = None
    runs = (("one wafer", [], []), ("3 wafers", [], ["--num-systems=3"]), ("3 processes", ["mpirun", "-np", "3"], []),
            # Whose code fits as launches carry the addresses of buffers.
            ("6 samples a call", [], ["--micro-batch=6"]))
    for name, launcher, flags in runs[:1] if arguments.full else runs:
        command = [*launcher, "wsec", "train", path, f"--tokens={work / 'tokens.npy'}", f"--sequence={size.sequence}",
                   f"--batch={size.batch}", f"--steps={size.steps}", f"--mesh={arguments.mesh or size.mesh}", "--lr=1e-3", "--quiet",
                   f"--cache={work / 'programs'}", f"--log={work / 'log.jsonl'}", *flags]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            sys.exit(f"$ {' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
        lines = [json.loads(line) for line in (work / "log.jsonl").read_text().splitlines()]
        losses = [line["loss"] for line in lines]
        assert len(losses) == size.steps
        worst = max(abs(a - b) for a, b in zip(losses, expected))
        assert worst <= TOLERANCE, f"{name}: off by {worst:.1e}\n{losses}\n{expected}"
        first = first or losses
        assert losses == first or "--micro-batch=6" in flags, f"{name}: other bits"
        print(f"{name}: loss {losses[0]:.5f} to {losses[-1]:.5f}, off by at most {worst:.1e}, "
              f"{1e3 * np.mean([size.batch / line['samples_per_second'] for line in lines[1:]]):.0f} ms a step")


if __name__ == "__main__":
    main()
