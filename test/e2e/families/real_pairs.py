# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pairs of real numbers for positions that are complex numbers, which no exporter can write
(aten::polar), as those who export such models do."""

import contextlib
import importlib

# Where positions are made, and in front of which axis of queries heads are.
MODELS = {"deepseek-v2": ("deepseek_v2", "DeepseekV2RotaryEmbedding", 1),
          "llama4": ("llama4", "Llama4TextRotaryEmbedding", 2)}


def angles(rotary, x, position_ids, **_):
    """Cosines and sines, where the model has complex numbers of length 1."""
    import torch

    angle = position_ids[:, :, None].float() * rotary.inv_freq.float()
    return torch.stack([angle.cos(), angle.sin()], -1) * rotary.attention_scaling


def turned(x, by):
    import torch

    first, second = x.float().reshape(*x.shape[:-1], -1, 2).unbind(-1)
    cosine, sine = by.unbind(-1)
    return torch.stack([first * cosine - second * sine, first * sine + second * cosine], -1).flatten(-2).type_as(x)


@contextlib.contextmanager
def of(architecture):
    """In models of this architecture; nothing where positions are real."""
    if architecture not in MODELS:
        yield
        return
    name, rotary, axis = MODELS[architecture]
    code = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
    before, its_class = code.apply_rotary_emb, getattr(code, rotary)
    forward, its_class.forward = its_class.forward, angles
    code.apply_rotary_emb = lambda q, k, by: tuple(turned(x, by.unsqueeze(axis)) for x in (q, k))
    try:
        yield
    finally:
        its_class.forward, code.apply_rotary_emb = forward, before
