#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A GPT-2 of two layers as PyTorch exports it, trained by PyTorch and by `wsec train`: the same losses, also
with 6 samples a call.

Usage: train_gpt2.py WORK [MESH]
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

VOCABULARY, SEQUENCE, BATCH, STEPS = 97, 16, 6, 8
TOLERANCE = 1e-4


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, use_cache=False).logits


def make_model():
    """With noise on every parameter: exporters drop what is 0, and merge what is equal. With a head of its own: of a tied one
    they make two weights."""
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=VOCABULARY, n_positions=SEQUENCE, n_embd=60, n_layer=2, n_head=5, resid_pdrop=0, embd_pdrop=0,
        attn_pdrop=0, attn_implementation="eager", tie_word_embeddings=False))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.02 * torch.randn_like(parameter)
    return model


def train(model, tokens):
    rule = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for step in range(STEPS):
        starts = [(step * BATCH + j) * SEQUENCE for j in range(BATCH)]
        ids = torch.tensor(np.array([tokens[s:s + SEQUENCE + 1] for s in starts]))
        logits = model(input_ids=ids[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        losses.append(loss.item())
        rule.zero_grad()
        loss.backward()
        rule.step()
    return losses


def main():
    work, mesh = Path(sys.argv[1]), (sys.argv[2:] or ["12x8"])[0]
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    model = make_model().eval()
    tokens = np.random.default_rng(2).integers(0, VOCABULARY, 1000)
    np.save(work / "tokens.npy", tokens)
    path = work / "gpt2.onnx"
    torch.onnx.export(Logits(model), (torch.zeros((2, SEQUENCE), dtype=torch.int64),), path, dynamo=True, verbose=False,
                      input_names=["input_ids"], output_names=["logits"], optimize=True, external_data=False,
                      dynamic_shapes={"input_ids": {0: torch.export.Dim("batch", min=1, max=64)}})
    expected = train(model, tokens)
    first = None
    for name, launcher, flags in (("one wafer", [], []), ("3 wafers", [], ["--num-systems=3"]),
                                  ("3 processes", ["mpirun", "-np", "3"], []),
                                  # Whose code fits as launches carry the addresses of buffers.
                                  ("6 samples a call", [], ["--micro-batch=6"])):
        command = [*launcher, "wsec", "train", path, f"--tokens={work / 'tokens.npy'}", f"--sequence={SEQUENCE}",
                   f"--batch={BATCH}", f"--steps={STEPS}", f"--mesh={mesh}", "--lr=1e-3", "--quiet",
                   f"--cache={work / 'programs'}", f"--log={work / 'log.jsonl'}", *flags]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            sys.exit(f"$ {' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
        lines = [json.loads(line) for line in (work / "log.jsonl").read_text().splitlines()]
        losses = [line["loss"] for line in lines]
        assert len(losses) == STEPS
        worst = max(abs(a - b) for a, b in zip(losses, expected))
        assert worst <= TOLERANCE, f"{name}: off by {worst:.1e}\n{losses}\n{expected}"
        first = first or losses
        assert losses == first or "--micro-batch=6" in flags, f"{name}: other bits"
        print(f"{name}: loss {losses[0]:.5f} to {losses[-1]:.5f}, off by at most {worst:.1e}, "
              f"{1e3 * np.mean([BATCH / line['samples_per_second'] for line in lines[1:]]):.0f} ms a step")


if __name__ == "__main__":
    main()
