# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a GGUF file says of a language model, as other tools read it: numbers for `wsec model`, weights as safetensors,
a tokenizer of `tokenizers`, and the template of its conversations."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wsec import gguf
from wsec.tools import Error, UsageError

# Names of the file -> names of the graph that `wsec model` writes, whose matrices are [inputs, outputs].
_WHOLE = {"token_embd.weight": "embedding.weight", "output_norm.weight": "final_norm.weight"}
_LAYER = {"attn_norm": "attention_norm", "ffn_norm": "feed_forward_norm", "attn_q": "attention.q", "attn_k": "attention.k",
          "attn_v": "attention.v", "attn_output": "attention.out", "ffn_gate": "feed_forward.gate",
          "ffn_up": "feed_forward.up", "ffn_down": "feed_forward.down"}
_HEAD = {"output.weight": "head.weight"}


def _number(file: gguf.File, name: str) -> Any:
    value = file.metadata.get(f"llama.{name}")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise Error(f"{file.path}: llama.{name} of the metadata is {value!r}, expected a positive number")
    return value


def shape_of(file: gguf.File) -> dict[str, Any]:
    """The section `model` of a configuration for `wsec model`. Raises Error for models that are no LLaMA, or have what
    the graph has not."""
    family = file.metadata.get("general.architecture")
    if family != "llama":
        raise Error(f"{file.path}: a model of the family '{family}', expected 'llama': no graph of others is written")
    scaling = file.metadata.get("llama.rope.scaling.type", "none")
    if scaling != "none":
        raise Error(f"{file.path}: its rotary positions are scaled ('{scaling}'), which the graph does not do: take a "
                    "model without llama.rope.scaling.type")
    heads, width = _number(file, "attention.head_count"), _number(file, "embedding_length")
    shape = {"preset": "llama-7b", "name": Path(file.path).stem, "layers": _number(file, "block_count"), "width": width,
             "heads": heads, "feed_forward": _number(file, "feed_forward_length"),
             "kv_heads": file.metadata.get("llama.attention.head_count_kv", heads),
             "head_size": file.metadata.get("llama.attention.key_length", width // heads),
             "positions": _number(file, "context_length"),
             "norm_epsilon": _number(file, "attention.layer_norm_rms_epsilon"),
             "rotary_base": file.metadata.get("llama.rope.freq_base", 10000.0),
             "tied_head": "output.weight" not in file.tensors}
    shape["rotary_features"] = file.metadata.get("llama.rope.dimension_count", shape["head_size"])
    if "token_embd.weight" not in file.tensors:
        raise Error(f"{file.path}: there is no tensor 'token_embd.weight'")
    shape["vocabulary"] = file.tensors["token_embd.weight"].shape[0]
    return shape


def _graph_names(file: gguf.File, shape: Mapping[str, Any]) -> dict[str, str]:
    """Name in the file -> name in the graph, of every tensor of both."""
    names = {**_WHOLE, **({} if shape["tied_head"] else _HEAD)}
    for layer in range(shape["layers"]):
        names |= {f"blk.{layer}.{theirs}.weight": f"layers.{layer}.{ours}.weight" for theirs, ours in _LAYER.items()}
    foreign, absent = sorted(file.tensors.keys() - names.keys()), sorted(names.keys() - file.tensors.keys())
    if foreign or absent:
        raise Error(f"{file.path}: " + (f"tensor '{foreign[0]}' has no place in the graph of a LLaMA" if foreign else
                                        f"there is no tensor '{absent[0]}'")
                    + f", and {len(foreign) + len(absent) - 1} more differ: the model is of another kind")
    return names


def _halves_together(matrix: np.ndarray, heads: int, features: int) -> np.ndarray:
    """Rows of queries or keys, of whose rotated pairs the file has both beside each other; the graph has the first ones
    of a head before the second ones."""
    rows = matrix.reshape(heads, -1, matrix.shape[1])
    pairs = rows[:, :features].reshape(heads, features // 2, 2, -1).swapaxes(1, 2).reshape(heads, features, -1)
    return np.concatenate([pairs, rows[:, features:]], axis=1).reshape(matrix.shape)


def _weights(file: gguf.File, shape: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[np.ndarray]:
    for theirs in names:
        tensor = file.read(theirs)
        kind = theirs.rsplit(".", 2)[-2]
        if kind in ("attn_q", "attn_k"):
            heads = shape["heads" if kind == "attn_q" else "kv_heads"]
            tensor = _halves_together(tensor, heads, shape["rotary_features"])
        yield tensor.T if tensor.ndim == 2 and kind != "token_embd" else tensor


def write_weights(file: gguf.File, path: str | os.PathLike[str]) -> None:
    """All weights, as f32, under the names and in the layout of the graph that `wsec model` writes; one tensor at a
    time is in memory. The file appears when it is whole. Raises Error where the tensors are not those of the graph."""
    shape = shape_of(file)
    names = _graph_names(file, shape)
    header, end = {}, 0
    for theirs, ours in names.items():
        dims = file.tensors[theirs].shape
        begin, end = end, end + 4 * math.prod(dims)
        turned = len(dims) == 2 and theirs != "token_embd.weight"
        header[ours] = {"dtype": "F32", "shape": dims[::-1] if turned else dims, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    partial = Path(f"{path}.{os.getpid()}")
    with open(partial, "wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for tensor in _weights(file, shape, names):
            out.write(np.ascontiguousarray(tensor, "<f4").data)
    partial.replace(path)


# What cuts texts before pairs are merged, by the name that the file gives it.
_SPLITS = ("smollm", "gpt-2")
_CONTROL, _USER_DEFINED = 3, 4


class Tokenizer:
    """Texts to ids and back, byte-level BPE, and conversations to texts."""

    def __init__(self, file: gguf.File) -> None:
        try:
            import tokenizers
            from jinja2.sandbox import ImmutableSandboxedEnvironment
        except ImportError as error:
            raise UsageError(f"texts need a package: pip install {error.name}") from error
        get = file.metadata.get
        kind, split = get("tokenizer.ggml.model"), get("tokenizer.ggml.pre", "gpt-2")
        if kind != "gpt2" or split not in _SPLITS:
            raise Error(f"{file.path}: a tokenizer of kind '{kind}', '{split}', expected 'gpt2' and one of "
                        f"{', '.join(_SPLITS)}")
        tokens, merges = get("tokenizer.ggml.tokens", []), get("tokenizer.ggml.merges", [])
        kinds = get("tokenizer.ggml.token_type", [])
        model = tokenizers.models.BPE({token: i for i, token in enumerate(tokens)},
                                      [tuple(merge.split(" ", 1)) for merge in merges])
        self._tokenizer = tokenizers.Tokenizer(model)
        cut = [tokenizers.pre_tokenizers.Digits(individual_digits=True)] if split == "smollm" else []
        cut.append(tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False))
        self._tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(cut)
        self._tokenizer.decoder = tokenizers.decoders.ByteLevel()
        added = [(token, kind) for token, kind in zip(tokens, kinds, strict=True) if kind in (_CONTROL, _USER_DEFINED)]
        self._tokenizer.add_special_tokens(
            [tokenizers.AddedToken(token, special=kind == _CONTROL, normalized=False) for token, kind in added])
        self.size = len(tokens)
        self.ends = {get(f"tokenizer.ggml.{name}_token_id") for name in ("eos", "eot")} - {None}
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _refuse
        template = get("tokenizer.chat_template")
        self._template = environment.from_string(template) if template else None
        self._named = {name: tokens[i] for name in ("bos", "eos")
                       if isinstance(i := get(f"tokenizer.ggml.{name}_token_id"), int) and i < len(tokens)}

    def encode(self, text: str) -> list[int]:
        """Ids of a text; special tokens in it are themselves. Raises UsageError for what no token stands for."""
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        if (again := self._tokenizer.decode(ids, skip_special_tokens=False)) != text:
            at = next((i for i, (a, b) in enumerate(zip(text, again)) if a != b), min(len(text), len(again)))
            raise UsageError(f"no token stands for {text[at:at + 1]!r}, character {at + 1} of {len(text)}: leave it out")
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text, without special tokens."""
        return self._tokenizer.decode(list(ids), skip_special_tokens=True)

    def conversation(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The text that the model continues with the next answer; `messages` have a "role" and "content"."""
        if self._template is None:
            raise UsageError("the model has no template of conversations (tokenizer.chat_template): it completes texts only")
        names = {f"{name}_token": token for name, token in self._named.items()}
        return self._template.render(messages=list(messages), add_generation_prompt=True, **names)


def _refuse(message: str) -> None:
    raise UsageError(f"the model's template of conversations refuses: {message}")
