#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of products, which PyTorch's exporter turns and numbers, are named by their modules: adapters beside them, those that
train, freeze, or do not decay make the steps of the module itself; the report has both names, and adapters merge.

Usage: train_modules.py WORK
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file

WIDTH, ROWS, SEQUENCE, STEPS, RANK, ALPHA, RATE, DECAY = 16, 11, 6, 4, 2, 4, 2e-2, 0.5


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.v_proj = torch.nn.Linear(WIDTH, WIDTH)
        self.o_proj = torch.nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return x + self.o_proj(torch.softmax(self.q_proj(x) @ x.transpose(1, 2), -1) @ self.v_proj(x))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(ROWS, WIDTH)
        self.layers = torch.nn.ModuleList([Layer(), Layer()])
        self.head = torch.nn.Linear(WIDTH, ROWS, bias=False)

    def forward(self, ids):
        x = self.table(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def run(*command, code=0):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != code:
        sys.exit(f"$ {' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def train(*flags, code=0):
    text = run("wsec", "train", "m.onnx", "--tokens=tokens.npy", "--batch=1", f"--sequence={SEQUENCE}", f"--steps={STEPS}",
               "--mesh=6x6", f"--lr={RATE}", "--cache=programs", "--log=log.jsonl", "--report=report.json", "--quiet", *flags, code=code)
    return text if code else [json.loads(line)["loss"] for line in Path("log.jsonl").read_text().splitlines()]


def expected(module, tokens, groups, values):
    """Losses of the module with `values` of what trains, in float64."""
    rule, losses = torch.optim.AdamW(groups, lr=RATE), []
    for step in range(STEPS):
        ids = torch.tensor(tokens[None, step * SEQUENCE:(step + 1) * SEQUENCE + 1])
        logits = torch.func.functional_call(module, values(), (ids[:, :-1],))
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        losses.append(loss.item())
        rule.zero_grad()
        loss.backward()
        rule.step()
    return losses


def compare(what, losses, wanted):
    worst = max(abs(a - b) for a, b in zip(losses, wanted))
    assert len(losses) == STEPS and worst <= 1e-5, (what, worst, losses, wanted)
    print(f"{what}: as PyTorch")


def adapters(module, weights, tokens):
    lora = f"--lora=rank={RANK},alpha={ALPHA},targets=*q_proj*"
    train(lora, "--checkpoint-dir=first", "--lr=0")
    first = load_file(max(Path("first").glob("step-*")) / "model.safetensors")
    assert sorted(first) == [f"layers.{i}.q_proj.lora_{its}.weight" for i in range(2) for its in "AB"], sorted(first)
    losses = train(lora, "--checkpoint-dir=run")
    own = {name: torch.tensor(array, dtype=torch.float64, requires_grad=True) for name, array in first.items()}

    def values():
        names = [f"layers.{i}.q_proj" for i in range(2)]
        return {f"{n}.weight": weights[f"{n}.weight"] + ALPHA / RANK * own[f"{n}.lora_B.weight"] @ own[f"{n}.lora_A.weight"]
                for n in names}
    compare("adapters", losses, expected(module, tokens, own.values(), values))
    checkpoint = max(Path("run").glob("step-*"))
    run(sys.executable, "-m", "wsec.adapters", "m.onnx", checkpoint, f"--alpha={ALPHA}", "-o", "merged.onnx")
    run("wsec", "merged.onnx", "-o", "merged.wafer", "--mesh=6x6", "--quiet")
    np.save("ids.npy", tokens[None, :SEQUENCE])
    run("wse-run", "merged.wafer", "--input", "input_ids=ids.npy", "--output", "logits=logits.npy", "--quiet")
    wanted = torch.func.functional_call(module, values(), (torch.tensor(tokens[None, :SEQUENCE]),))
    apart = np.abs(np.load("logits.npy") - wanted.detach().numpy()).max()
    assert apart <= 1e-4, apart
    print("merged: the same logits")


def chosen(module, weights, tokens):
    """--train by an exact name and by a pattern, of which one is frozen; one does not decay."""
    losses = train("--train=head.weight", "--train=layers.*_proj.weight", "--freeze=*v_proj*", "--no-decay=*.o_proj.weight",
                   f"--weight-decay={DECAY}")
    own = {name: its.clone().requires_grad_() for name, its in weights.items()
           if name == "head.weight" or name.endswith(("q_proj.weight", "o_proj.weight"))}
    groups = [{"params": [its for name, its in own.items() if ("o_proj" in name) == kept], "weight_decay": 0 if kept else DECAY}
              for kept in (False, True)]
    compare("chosen", losses, expected(module, tokens, groups, lambda: own))
    said = {its["module_name"]: its for its in json.loads(Path("report.json").read_text())["compilation"]["parameters"]
            if "module_name" in its}
    assert all(its["name"].startswith("val_") and its["trains"] == (name in own) for name, its in said.items()), said
    assert said.keys() == {name for name in weights if name.endswith(("proj.weight", "head.weight"))}, said.keys()


def main():
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[2] / "python")
    work = Path(sys.argv[1])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    os.chdir(work)
    torch.manual_seed(0)
    module = Model().eval()
    torch.onnx.export(module, (torch.zeros((1, SEQUENCE), dtype=torch.long),), "m.onnx", dynamo=True, opset_version=20,
                      external_data=False, input_names=["input_ids"], output_names=["logits"], verbose=False)
    tokens = np.random.default_rng(1).integers(0, ROWS, STEPS * SEQUENCE + 1)
    np.save("tokens.npy", tokens)
    module.double().requires_grad_(False)
    weights = module.state_dict()
    adapters(module, weights, tokens)
    chosen(module, weights, tokens)
    for flag, message in (("--lora=rank=2,alpha=4,targets=*q_prj*", "--lora: targets=*q_prj* names no weight of a product; nearest: "),
                          ("--train=*q_prj*", "--train=*q_prj* names no parameter; nearest: "),
                          ("--no-decay=*q_prj*", "--no-decay=*q_prj* names no parameter that trains; nearest: ")):
        text = train(flag, code=1)
        assert message + "'layers.0.q_proj.weight', 'layers.1.q_proj.weight'" in text, text
    print("refused with names of modules")


if __name__ == "__main__":
    main()
