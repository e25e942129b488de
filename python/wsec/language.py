# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a GGUF file says of a language model, as other tools read it: numbers for `wsec model`, weights as safetensors,
a tokenizer of `tokenizers`, and the template of its conversations."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wsec import gguf
from wsec.tools import Error, UsageError


def _number(file: gguf.File, name: str, default: float | None = None, kind: type = int) -> Any:
    """A positive number of the metadata."""
    value = file.metadata.get(f"llama.{name}", default)
    if isinstance(value, bool) or not isinstance(value, kind) or not value > 0:
        raise Error(f"{file.path}: llama.{name} of the metadata is {value!r:.60}, expected a positive "
                    f"{'integer' if kind is int else 'number'}")
    return value


def shape_of(file: gguf.File) -> dict[str, Any]:
    """The section `model` of a configuration for `wsec model`. Raises Error for models that are no LLaMA, or have what
    the graph has not."""
    family = file.metadata.get("general.architecture")
    if family != "llama":
        raise Error(f"{file.path}: a model of the family {family!r:.60}, expected 'llama': no graph of others is written")
    scaling = file.metadata.get("llama.rope.scaling.type", "none")
    if scaling != "none":
        raise Error(f"{file.path}: its rotary positions are scaled ({scaling!r:.60}), which the graph does not do: take a "
                    "model without llama.rope.scaling.type")
    if "token_embd.weight" not in file.tensors:
        raise Error(f"{file.path}: there is no tensor 'token_embd.weight'")
    heads, width = _number(file, "attention.head_count"), _number(file, "embedding_length")
    features = _number(file, "attention.key_length", width // heads)
    shape = {"preset": "llama-7b", "name": Path(file.path).stem, "layers": _number(file, "block_count"), "width": width,
             "heads": heads, "kv_heads": _number(file, "attention.head_count_kv", heads), "head_size": features,
             "feed_forward": _number(file, "feed_forward_length"), "positions": _number(file, "context_length"),
             "vocabulary": file.tensors["token_embd.weight"].shape[0],
             "rotary_features": _number(file, "rope.dimension_count", features),
             "rotary_base": _number(file, "rope.freq_base", 10000.0, float),
             "norm_epsilon": _number(file, "attention.layer_norm_rms_epsilon", kind=float),
             "tied_head": "output.weight" not in file.tensors}
    rotary = shape["rotary_features"]
    if rotary % 2 or rotary > features:
        raise Error(f"{file.path}: llama.rope.dimension_count is {rotary}, expected an even number up to the {features} "
                    "features of a head: the file is damaged")
    _check(file, _tensors(file, shape))
    return shape


class _Weight(NamedTuple):
    """A tensor of the file, of `shape`, and its name in the graph that `wsec model` writes, whose matrices are [inputs,
    outputs]: those of the file are `turned`. Of queries and keys of so many heads `rotated` ones."""

    name: str
    shape: tuple[int, ...]
    turned: bool = True
    rotated: int = 0


def _tensors(file: gguf.File, shape: Mapping[str, Any]) -> dict[str, _Weight]:
    """Name in the file -> what it is, of every tensor that the graph has."""
    if shape["layers"] > len(file.tensors):
        raise Error(f"{file.path}: {shape['layers']} layers, and {len(file.tensors)} tensors: the file is damaged")
    width, inner = shape["width"], shape["feed_forward"]
    queries, keys = shape["heads"] * shape["head_size"], shape["kv_heads"] * shape["head_size"]
    words = (shape["vocabulary"], width)
    found = {"token_embd.weight": _Weight("embedding.weight", words, turned=False)}
    for i in range(shape["layers"]):
        found |= {f"blk.{i}.{name}.weight": its._replace(name=f"layers.{i}.{its.name}.weight") for name, its in {
            "attn_norm": _Weight("attention_norm", (width,), turned=False),
            "attn_q": _Weight("attention.q", (queries, width), rotated=shape["heads"]),
            "attn_k": _Weight("attention.k", (keys, width), rotated=shape["kv_heads"]),
            "attn_v": _Weight("attention.v", (keys, width)),
            "attn_output": _Weight("attention.out", (width, queries)),
            "ffn_norm": _Weight("feed_forward_norm", (width,), turned=False),
            "ffn_gate": _Weight("feed_forward.gate", (inner, width)),
            "ffn_up": _Weight("feed_forward.up", (inner, width)),
            "ffn_down": _Weight("feed_forward.down", (width, inner))}.items()}
    found["output_norm.weight"] = _Weight("final_norm.weight", (width,), turned=False)
    if not shape["tied_head"]:
        found["output.weight"] = _Weight("head.weight", words)
    return found


def _check(file: gguf.File, wanted: Mapping[str, _Weight]) -> None:
    foreign = [name for name in file.tensors if name not in wanted]
    absent = [name for name in wanted if name not in file.tensors]
    if foreign or absent:
        raise Error(f"{file.path}: " + (f"tensor '{foreign[0]}' has no place in the graph of a LLaMA" if foreign else
                                        f"there is no tensor '{absent[0]}'")
                    + f", and {len(foreign) + len(absent) - 1} more differ: the model is of another kind")
    for name, its in wanted.items():
        if (found := file.tensors[name].shape) != its.shape:
            raise Error(f"{file.path}: tensor '{name}' is {list(found)}, by the metadata {list(its.shape)}: the file is "
                        "damaged")


def _halves_together(matrix: np.ndarray, heads: int, features: int) -> np.ndarray:
    """Rows of queries or keys, of whose rotated pairs the file has both beside each other; the graph has the first ones
    of a head before the second ones."""
    rows = matrix.reshape(heads, -1, matrix.shape[1])
    pairs = rows[:, :features].reshape(heads, features // 2, 2, -1).swapaxes(1, 2).reshape(heads, features, -1)
    return np.concatenate([pairs, rows[:, features:]], axis=1).reshape(matrix.shape)


def write_weights(file: gguf.File, path: str | os.PathLike[str]) -> None:
    """All weights, as f32, under the names and in the layout of the graph that `wsec model` writes; one tensor at a
    time is in memory. The file appears when it is whole. Raises Error where the tensors are not those of the graph."""
    shape = shape_of(file)
    wanted = _tensors(file, shape)
    header, end = {}, 0
    for its in wanted.values():
        begin, end = end, end + 4 * math.prod(its.shape)
        header[its.name] = {"dtype": "F32", "shape": its.shape[::-1] if its.turned else its.shape,
                            "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    partial = Path(f"{path}.{os.getpid()}")
    try:
        with open(partial, "wb") as out:
            out.write(len(text).to_bytes(8, "little") + text)
            for name, its in wanted.items():
                tensor = file.read(name)
                if its.rotated:
                    tensor = _halves_together(tensor, its.rotated, shape["rotary_features"])
                out.write(np.ascontiguousarray(tensor.T if its.turned else tensor, "<f4").data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


# What cuts texts before pairs are merged, by the name that the file gives it.
_SPLITS = ("smollm", "gpt-2")
_CONTROL, _USER_DEFINED = 3, 4


class Tokenizer:
    """Texts to ids and back, byte-level BPE, and conversations to texts."""

    def __init__(self, file: gguf.File) -> None:
        try:
            import jinja2
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
        try:
            added = [(token, kind) for token, kind in zip(tokens, kinds, strict=True) if kind in (_CONTROL, _USER_DEFINED)]
            pairs = [tuple(merge.split(" ", 1)) for merge in merges]
            model = tokenizers.models.BPE({token: i for i, token in enumerate(tokens)}, pairs)
        except Exception as error:  # what tokenizers raises has no class of its own
            raise Error(f"{file.path}: its tokenizer is damaged: {error}") from error
        self._tokenizer = tokenizers.Tokenizer(model)
        cut = [tokenizers.pre_tokenizers.Digits(individual_digits=True)] if split == "smollm" else []
        cut.append(tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False))
        self._tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(cut)
        self._tokenizer.decoder = tokenizers.decoders.ByteLevel()
        self._tokenizer.add_special_tokens(
            [tokenizers.AddedToken(token, special=kind == _CONTROL, normalized=False) for token, kind in added])
        self.size = len(tokens)
        self.ends = {get(f"tokenizer.ggml.{name}_token_id") for name in ("eos", "eot")} - {None}
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _refuse
        template = get("tokenizer.chat_template")
        self._wrong = jinja2.TemplateError
        try:
            self._template = environment.from_string(template) if template else None
        except jinja2.TemplateError as error:
            raise Error(f"{file.path}: its template of conversations is damaged: {error}") from error
        self._named = {name: tokens[i] for name in ("bos", "eos")
                       if isinstance(i := get(f"tokenizer.ggml.{name}_token_id"), int) and i < len(tokens)}

    def encode(self, text: str) -> list[int]:
        """Ids of a text; special tokens in it are themselves. Raises UsageError for what no token stands for."""
        known = text.encode(errors="replace").decode()  # without halves of characters
        ids = self._tokenizer.encode(known, add_special_tokens=False).ids
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
        try:
            return self._template.render(messages=list(messages), add_generation_prompt=True, **names)
        except self._wrong as error:
            raise Error(f"the model's template of conversations is damaged: {error}") from error


def _refuse(message: str) -> None:
    raise UsageError(f"the model's template of conversations refuses: {message}")
