# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small random decoders of transformers with a StaticCache: pasts that have the
capacity, written at cache_position, by both exporters of PyTorch.

usage: static_exports.py ARCHITECTURE dynamo|script eager|sdpa FILE.onnx [--capacity N] [--window N] [--ids] [--opset N] [--shifts]

--ids: position_ids are an input, too; else the model counts them from
cache_position. The dimension of a call's tokens is called sequence.
--shifts: layers with windows have these alone, which a token shifts, as transformers' static caches do once they are full: such
a model begins with full windows, and without --ids it has the angles of one position.
"""

import argparse
import warnings

import onnx
import torch
from growing_exports import build
from transformers.cache_utils import StaticCache, StaticLayer

TOKENS = 3


class Step(torch.nn.Module):
    def __init__(self, model, config, names, capacity, shifts):
        super().__init__()
        self.model, self.config, self.names, self.capacity, self.shifts = model, config, names, capacity, shifts

    def forward(self, *values):
        given, count = dict(zip(self.names, values)), len(self.names)
        position = given.pop("cache_position")
        cache = StaticCache(self.config, max_cache_len=self.capacity)
        # As transformers.integrations.executorch does: layers with windows have the capacity, too.
        if not self.shifts:
            cache.layers = [StaticLayer(self.capacity) for _ in cache.layers]
        for i, layer in enumerate(cache.layers):
            layer.keys, layer.values = (x.clone() for x in values[count + 2 * i:count + 2 * i + 2])
            layer.is_initialized, layer.cumulative_length, layer.device = True, position[0].clone(), position.device
            layer.max_batch_size, layer.num_heads, layer.dtype = *layer.keys.shape[:2], layer.keys.dtype
            layer.cumulative_length_int = self.capacity
        made = self.model(past_key_values=cache, use_cache=True, **given)
        return made.logits, *(x for layer in cache.layers for x in (layer.keys, layer.values))


def main():
    words = argparse.ArgumentParser()
    words.add_argument("architecture")
    words.add_argument("exporter")
    words.add_argument("attention")
    words.add_argument("file")
    words.add_argument("--capacity", type=int, default=24)
    words.add_argument("--window", type=int)
    words.add_argument("--ids", action="store_true")
    words.add_argument("--opset", type=int)
    words.add_argument("--shifts", action="store_true")
    words = words.parse_args()
    warnings.simplefilter("ignore")
    model, config = build(words.architecture, words.attention, words.window)
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    # A cache that shifts is exported for one token.
    tokens, axes = (1, ({}, {})) if words.shifts else (TOKENS, ({1: "sequence"}, {0: "sequence"}))
    inputs = {"input_ids": (torch.randint(3, 61, (1, tokens)), axes[0]),
              "cache_position": (torch.arange(tokens) + 5, axes[1])}
    if words.ids:
        inputs["position_ids"] = (torch.arange(tokens)[None] + 5, {} if words.shifts else {1: "sequence"})
    step = Step(model, config, list(inputs), words.capacity, words.shifts)
    pairs = [f"{i}.{kind}" for i in range(config.num_hidden_layers) for kind in ("key", "value")]
    kept = [layer.max_cache_len if words.shifts else words.capacity
            for layer in StaticCache(config, max_cache_len=words.capacity).layers for _ in range(2)]
    inputs |= {"past_key_values." + pair: (torch.randn(1, heads, its, size), {}) for pair, its in zip(pairs, kept)}
    values, axes = zip(*inputs.values())
    names = {"input_names": list(inputs), "output_names": ["logits", *("present." + pair for pair in pairs)]}
    if words.exporter == "script":
        torch.onnx.export(step, values, words.file, dynamo=False, opset_version=words.opset or 17,
                          dynamic_axes={name: its for name, its in zip(inputs, axes) if its}, **names)
    else:
        dynamic = tuple({axis: torch.export.Dim.DYNAMIC for axis in each} for each in axes)
        torch.onnx.export(step, values, words.file, dynamo=True, opset_version=words.opset or 20,
                          dynamic_shapes=(dynamic,), external_data=False, verbose=False, **names)
    # Exporters call dimensions as they like.
    model = onnx.load(words.file)
    symbols = {dim.dim_param for value in model.graph.input for dim in value.type.tensor_type.shape.dim
               if dim.dim_param}
    for value in [*model.graph.input, *model.graph.output]:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in symbols:
                dim.dim_param = "sequence"
    onnx.save(model, words.file)


main()
