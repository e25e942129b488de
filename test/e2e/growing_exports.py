# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small random decoders of transformers, exported with pasts that grow from call
to call, by both exporters of PyTorch.

usage: growing_exports.py ARCHITECTURE dynamo|script eager|sdpa FILE.onnx [--no-positions] [--no-mask] [--opset N] [--window N] [--batch] [--tokens N]

Architectures are those of families/architectures.py; windows are as long as all
positions without --window. --no-positions: the model counts them from the length of its past. --batch: of
as many sequences as one likes. --tokens: of so many tokens a call, as recurrences are written out. Dimensions of input_ids are called batch and sequence.
"""

import argparse
import inspect
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
from caches import held  # noqa: E402

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
    """A call, which takes what the one before left, and leaves that for the next."""

    def __init__(self, model):
        super().__init__()
        self.model, self.names, self.pasts = model, [], []
        words = inspect.signature(model.forward).parameters
        self.takes = next(word for word in ("state", "cache_params", "past_key_values") if word in words)

    def empty(self):
        cache = DynamicCache(config=self.model.config)
        return cache if any(hasattr(layer, "conv_states") for layer in cache.layers) else DynamicCache()

    def call(self, cache, **given):
        made = self.model(**{self.takes: cache}, use_cache=True, **given)
        left = getattr(made, self.takes)
        return made.logits, (dict(enumerate(left)) if self.takes == "state" else held(left))

    def cache_of(self, given):
        if self.takes == "state":
            return [x.clone() for x in given.values()]
        cache = self.empty()
        for i, layer in enumerate(cache.layers or range(self.model.config.num_hidden_layers)):
            if f"{i}.key" in given:
                cache.update(given[f"{i}.key"], given[f"{i}.value"], i)
            for kind in ("conv", "recurrent"):
                if f"{i}.{kind}" in given:
                    layer.lazy_initialization(**{kind + "_states": given[f"{i}.{kind}"]})
                    getattr(layer, kind + "_states")[0] = given[f"{i}.{kind}"].clone()
                    layer.has_previous_state[0] = True
        return cache

    def forward(self, *values):
        count = len(self.names)
        cache = self.cache_of(dict(zip(self.pasts, values[count:])))
        logits, left = self.call(cache, **dict(zip(self.names, values)))
        return logits, *(left[past] for past in self.pasts)


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
    words.add_argument("--tokens", type=int)
    words = words.parse_args()
    warnings.simplefilter("ignore")
    model, config = build(words.architecture, words.attention, words.window)
    batch, every = (2, {0: "batch"}) if words.batch else (1, {})
    tokens, sequence = (words.tokens, {}) if words.tokens else (TOKENS, {1: "sequence"})
    step = Step(model)
    with torch.no_grad():
        _, left = step.call(None if step.takes == "state" else step.empty(),
                            input_ids=torch.randint(3, 61, (batch, PAST)))
    step.pasts = list(left)
    grows = any(str(past).endswith("key") for past in left)
    inputs = {"input_ids": (torch.randint(3, 61, (batch, tokens)), sequence | every)}
    if grows and not words.no_mask:
        inputs["attention_mask"] = (torch.ones(batch, PAST + tokens, dtype=torch.long), {1: "total"} | every)
    if grows and not words.no_positions:
        inputs["position_ids"] = (torch.arange(PAST, PAST + tokens)[None].repeat(batch, 1), sequence | every)
    step.names = list(inputs)
    # What convolutions and recurrences leave does not grow.
    inputs |= {f"past_key_values.{past}": (x.detach(), ({2: "past"} if str(past).endswith(("key", "value")) else {}) | every)
               for past, x in left.items()}
    values, axes = zip(*inputs.values())
    names = {"input_names": list(inputs), "output_names": ["logits", *(f"present.{past}" for past in left)]}
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
