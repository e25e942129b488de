#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes updates.safetensors: weights after 100 steps of the optimizers of
PyTorch and `transformers`, which UpdatesTest holds the parameter store against.

Usage: make_updates.py OUT.safetensors

Weights and gradients are numbers of runtime/files/ProceduralFile.h, so that
both sides know them: w[k] has seed 100 + k and range 1; the gradient of step t
is the sum of two with seeds 1000 + 4 t + k and 5000 + 4 t + k, range 0.1 and
mean 0.05. The learning rate falls, rate * (1 - t / 200).
"""

import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from transformers.optimization import Adafactor

sys.path.append(str(Path(__file__).resolve().parents[2] / "e2e"))
from replay import elements

SHAPES = [(16, 24), (37,), (2, 5, 8), ()]
STEPS = 100


def numbers(seed, shape, width, mean):
    count = int(np.prod(shape))
    return torch.tensor(elements(f"procedural:seed={seed},range={width},mean={mean}", 0, count)
                        .reshape(shape))


def train(make, rate=None, clip=0):
    weights = [torch.nn.Parameter(numbers(100 + k, shape, 1, 0)) for k, shape in enumerate(SHAPES)]
    optimizer = make(weights)
    for step in range(STEPS):
        for k, weight in enumerate(weights):
            weight.grad = sum(numbers(first + 4 * step + k, SHAPES[k], 0.1, 0.05)
                              for first in (1000, 5000))
        if clip:
            torch.nn.utils.clip_grad_norm_(weights, clip)
        if rate:
            optimizer.param_groups[0]["lr"] = rate * (1 - step / 200)
        optimizer.step()
    return weights


CASES = {
    "adamw": (lambda w: torch.optim.AdamW(w, betas=(0.9, 0.95), weight_decay=0.1), 1e-2),
    "adamw_clip": (lambda w: torch.optim.AdamW(w, betas=(0.9, 0.95), weight_decay=0.1), 1e-2, 1),
    "adamw_beta": (lambda w: torch.optim.AdamW(w, betas=(0.8, 0.999), eps=1e-6, weight_decay=0), 1e-3),
    "sgd_clip": (lambda w: torch.optim.SGD(w), 1e-2, 1),
    "sgd_momentum": (lambda w: torch.optim.SGD(w, momentum=0.9, weight_decay=0.1), 1e-2),
    "sgd_nesterov": (lambda w: torch.optim.SGD(w, momentum=0.8, nesterov=True), 1e-2, 1),
    "adafactor_torch": (lambda w: torch.optim.Adafactor(w, weight_decay=0), 1e-2),
    "adafactor_relative": (lambda w: Adafactor(w), None, 1),
    "adafactor_warmup": (lambda w: Adafactor(w, warmup_init=True, beta1=0.9), None),
    "adafactor_fixed": (lambda w: Adafactor(w, scale_parameter=False, relative_step=False, lr=1e-2,
                                            clip_threshold=0.7, beta1=0.5, weight_decay=0.1), 1e-2),
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    save_file({f"{case}.{k}": weight.detach().numpy()
               for case, row in CASES.items() for k, weight in enumerate(train(*row))}, sys.argv[1])
