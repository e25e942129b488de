# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoders with what the calls before left as inputs, and what the next one needs as outputs: keys and values,
what convolutions and recurrences keep, whatever a layer's cache of transformers holds."""

import copy

# What the inputs are called of what a layer holds: a tensor, or tensors by number, the first of them alone.
HELD = {"keys": "key", "values": "value", "conv_states": "conv", "recurrent_states": "recurrent"}


def held(cache):
    """The tensors of a cache, by name: 0.key, 0.value, 1.conv, ..."""
    tensors = {}
    for number, layer in enumerate(cache.layers):
        for field, kind in HELD.items():
            its = getattr(layer, field, None)
            its = its.get(0) if isinstance(its, dict) else its
            if its is not None:
                tensors[f"{number}.{kind}"] = its
    return tensors


def filled(cache, tensors):
    """The same cache with other tensors, which the call may write to."""
    cache = copy.copy(cache)
    cache.layers = [copy.copy(layer) for layer in cache.layers]
    for number, layer in enumerate(cache.layers):
        for field, kind in HELD.items():
            its = tensors.get(f"{number}.{kind}")
            if its is not None:
                is_numbered = isinstance(getattr(layer, field), dict)
                setattr(layer, field, {0: its.clone()} if is_numbered else its)
    return cache


def last_token(model, ids):
    """A module for the last token of `ids` and what those before it left; its inputs, and the names of its outputs."""
    import inspect

    import torch

    takes = inspect.signature(type(model).forward).parameters
    keyword = "cache_params" if "cache_params" in takes else "past_key_values"
    with torch.no_grad():
        before = model(input_ids=ids[:, :-1], use_cache=True)[keyword]
    pasts = {name: its.clone() for name, its in held(before).items()}

    class Exported(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids, *tensors):
            cache = filled(before, dict(zip(pasts, tensors)))
            made = self.model(input_ids=ids, use_cache=True, **{keyword: cache})
            return made.logits, *held(made[keyword]).values()

    inputs = {"input_ids": ids[:, -1:]} | {f"past_key_values.{name}": its for name, its in pasts.items()}
    return Exported(), inputs, ["logits", *(f"present.{name}" for name in pasts)]
