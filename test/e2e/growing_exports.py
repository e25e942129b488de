# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small random decoders of transformers, exported with pasts that grow from call
to call, by both exporters of PyTorch.

usage: growing_exports.py ARCHITECTURE dynamo|script eager|sdpa FILE.onnx [--no-positions] [--no-mask] [--opset N] [--window N] [--batch]

Architectures are those of families/architectures.py; windows are as long as all
positions without --window. --no-positions: the model counts them from the length of its past. --batch: of
as many sequences as one likes. Dimensions of input_ids are called batch and sequence.
"""

import argparse
import sys
import warnings
from pathlib import Path

import onnx
import torch
import transformers
from transformers.cache_utils import DynamicCache

sys.path.insert(0, str(Path(__file__).resolve().parent / "families"))

import real_pairs  # noqa: E402
from architectures import ARCHITECTURES  # noqa: E402

TOKENS, PAST = 3, 5


def build(name, attention, window):
    which = ARCHITECTURES[name]
    model_class = getattr(transformers, which.model)
    torch.manual_seed(0)
    config = model_class.config_class(**{**which.config, **which.more})
    if getattr(config, "sliding_window", None):
        config.sliding_window = window or config.max_position_embeddings
    config._attn_implementation = attention
    config._experts_implementation = "batched_mm"
    model = model_class(config).eval()
    # Norms and biases begin as ones and zeros, which would hide mistakes.
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter.data += 0.1 * torch.randn_like(parameter)
    # What convolutions leave has a say.
    for name, parameter in model.named_parameters():
        if ".conv." in name:
            parameter.data *= 10
    return model, config


class Step(torch.nn.Module):
    def __init__(self, model, names, pasts):
        super().__init__()
        self.model, self.names, self.pasts = model, names, pasts

    def forward(self, *values):
        is_mixed = any(name.endswith("conv") for name in self.pasts)
        cache, count = DynamicCache(config=self.model.config if is_mixed else None), len(self.names)
        given = dict(zip(self.pasts, values[count:]))
        for layer in range(self.model.config.num_hidden_layers):
            if f"{layer}.conv" in given:
                its = cache.layers[layer]
                its.lazy_initialization(conv_states=given[f"{layer}.conv"])
                its.conv_states[0], its.has_previous_state[0] = given[f"{layer}.conv"].clone(), True
            else:
                cache.update(given[f"{layer}.key"], given[f"{layer}.value"], layer)
        made = self.model(past_key_values=cache, use_cache=True, **dict(zip(self.names, values)))
        return made.logits, *(x for layer in made.past_key_values.layers for x in (
            layer.conv_states.values() if hasattr(layer, "conv_states") else (layer.keys, layer.values)))


def main():
    words = argparse.ArgumentParser()
    words.add_argument("architecture")
    words.add_argument("exporter")
    words.add_argument("attention")
    words.add_argument("file")
    words.add_argument("--no-positions", action="store_true")
    words.add_argument("--no-mask", action="store_true")
    words.add_argument("--opset", type=int)
    words.add_argument("--window", type=int)
    words.add_argument("--batch", action="store_true")
    words = words.parse_args()
    warnings.simplefilter("ignore")
    model, config = build(words.architecture, words.attention, words.window)
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    sizes = {"key": size, "value": size}
    if hasattr(config, "kv_lora_rank"):  # what all heads' keys and values are made of, and keys with positions
        heads, sizes = 1, {"key": config.kv_lora_rank, "value": config.qk_rope_head_dim}
    batch, every = (2, {0: "batch"}) if words.batch else (1, {})
    inputs = {"input_ids": (torch.randint(3, 61, (batch, TOKENS)), {1: "sequence"} | every)}
    if not words.no_mask:
        inputs["attention_mask"] = (torch.ones(batch, PAST + TOKENS, dtype=torch.long), {1: "total"} | every)
    if not words.no_positions:
        inputs["position_ids"] = (torch.arange(PAST, PAST + TOKENS)[None].repeat(batch, 1),
                                  {1: "sequence"} | every)
    kinds = [("conv",) if kind == "conv" else ("key", "value")
             for kind in getattr(config, "layer_types", None) or ["attention"] * config.num_hidden_layers]
    pairs = [f"{i}.{kind}" for i, its in enumerate(kinds) for kind in its]
    step = Step(model, list(inputs), pairs)
    # What a convolution leaves grows no longer.
    inputs |= {"past_key_values." + pair: (torch.randn(batch, config.hidden_size, config.conv_L_cache), dict(every))
               if pair.endswith("conv") else
               (torch.randn(batch, heads, PAST, sizes[pair.split(".")[1]]), {2: "past"} | every)
               for pair in pairs}
    values, axes = zip(*inputs.values())
    names = {"input_names": list(inputs), "output_names": ["logits", *("present." + pair for pair in pairs)]}
    with real_pairs.of(words.architecture):
        if words.exporter == "script":
            torch.onnx.export(step, values, words.file, dynamo=False, opset_version=words.opset or 17,
                              dynamic_axes=dict(zip(inputs, axes)), **names)
        else:
            dynamic = tuple({axis: torch.export.Dim.DYNAMIC for axis in each} for each in axes)
            torch.onnx.export(step, values, words.file, dynamo=True, opset_version=words.opset or 20,
                              dynamic_shapes=(dynamic,), external_data=False, verbose=False, **names)
    # Exporters call dimensions as they like.
    ids = onnx.load(words.file).graph.input[0]
    model = onnx.load(words.file)
    names = {ids.type.tensor_type.shape.dim[axis].dim_param: name for axis, name in enumerate(("batch", "sequence"))}
    for value in [*model.graph.input, *model.graph.output]:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_param = names.get(dim.dim_param, dim.dim_param)
    onnx.save(model, words.file)


if __name__ == "__main__":
    main()
