# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GGUF files: metadata, and tensors as float32.

    file = gguf.File("model.gguf")
    file.metadata["general.architecture"], file.tensors["token_embd.weight"].shape
    file.read("token_embd.weight")

Versions 2 and 3 of the format, little endian; elements of F32, F16, BF16 and, dequantised as the format's reference
does it, Q8_0, Q4_0, Q4_1, Q4_K and Q6_K. A file comes from strangers: what is torn or points outside of it is refused.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wsec.tools import Error


def _halves(blocks: np.ndarray, at: int) -> np.ndarray:
    """The f16 at byte `at` of each block, [blocks, 1] of f32."""
    return np.ascontiguousarray(blocks[:, at:at + 2]).view("<f2").astype("f4")


def _nibbles(packed: np.ndarray) -> np.ndarray:
    """Of [..., n] bytes [..., 2 n] numbers: all lower halves, then all upper ones."""
    return np.concatenate([packed & 15, packed >> 4], axis=-1)


def _q8_0(blocks: np.ndarray) -> np.ndarray:
    return _halves(blocks, 0) * blocks[:, 2:].view("i1")


def _q4_0(blocks: np.ndarray) -> np.ndarray:
    return _halves(blocks, 0) * (_nibbles(blocks[:, 2:]).astype("i1") - np.int8(8))


def _q4_1(blocks: np.ndarray) -> np.ndarray:
    return _halves(blocks, 0) * _nibbles(blocks[:, 4:]) + _halves(blocks, 2)


def _q4_k(blocks: np.ndarray) -> np.ndarray:
    """Eight groups of 32, each with a scale and a minimum of 6 bits, which lie in 12 bytes."""
    low, high, upper = blocks[:, 4:8], blocks[:, 8:12], blocks[:, 12:16]
    scales = np.concatenate([low & 63, (upper & 15) | (low >> 6 << 4)], axis=1)
    minima = np.concatenate([high & 63, (upper >> 4) | (high >> 6 << 4)], axis=1)
    quants = _nibbles(blocks[:, 16:].reshape(-1, 4, 32)).reshape(-1, 8, 32)
    factors, offsets = _halves(blocks, 0) * scales, _halves(blocks, 2) * minima
    return (factors[..., None] * quants - offsets[..., None]).reshape(-1, 256)


def _q6_k(blocks: np.ndarray) -> np.ndarray:
    """Two halves of 128: four bits of each number, two bits of it, a scale for each 16."""
    four = _nibbles(blocks[:, :128].reshape(-1, 2, 64)).reshape(-1, 2, 4, 32)
    shifts = np.array([0, 2, 4, 6], "u1")[:, None]
    two = blocks[:, 128:192].reshape(-1, 2, 1, 32) >> shifts & 3
    quants = (four | two << 4).astype("i1") - np.int8(32)
    factors = _halves(blocks, 208) * blocks[:, 192:208].view("i1")
    return (factors.reshape(-1, 16, 1) * quants.reshape(-1, 16, 16)).reshape(-1, 256)


def _bf16(blocks: np.ndarray) -> np.ndarray:
    return (blocks.view("<u2").astype("<u4") << 16).view("<f4")


class Encoding(NamedTuple):
    """How elements lie in a file: `elements` of them in `bytes`, and what makes [blocks, elements] of f32 from
    [blocks, bytes] of u8."""

    name: str
    elements: int
    bytes: int
    decode: Callable[[np.ndarray], np.ndarray]


ENCODINGS = {
    0: Encoding("F32", 1, 4, lambda blocks: blocks.view("<f4")),
    1: Encoding("F16", 1, 2, lambda blocks: blocks.view("<f2").astype("f4")),
    2: Encoding("Q4_0", 32, 18, _q4_0),
    3: Encoding("Q4_1", 32, 20, _q4_1),
    8: Encoding("Q8_0", 32, 34, _q8_0),
    12: Encoding("Q4_K", 256, 144, _q4_k),
    14: Encoding("Q6_K", 256, 210, _q6_k),
    30: Encoding("BF16", 1, 2, _bf16),
}
# Encodings that are refused, for their names.
_OTHERS = {6: "Q5_0", 7: "Q5_1", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 13: "Q5_K", 15: "Q8_K", 24: "I8", 25: "I16",
           26: "I32", 27: "I64", 28: "F64"}
# Types of metadata.
_NUMBERS = {0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "?", 10: "<u8", 11: "<i8", 12: "<f8"}
_TEXT, _ARRAY = 8, 9


class Tensor(NamedTuple):
    """Where a tensor lies: `shape`, the slowest dimension first; `offset` and `size` in the file, in bytes."""

    shape: tuple[int, ...]
    encoding: Encoding
    offset: int
    size: int


class File:
    """A GGUF file: `metadata`, name -> number, text or list; `tensors`, name -> Tensor. Raises Error for what is
    none, is torn, or has tensors of an encoding that is not known or outside of the file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._bytes = np.asarray(np.memmap(self.path, np.uint8, "r"))
        except (OSError, ValueError) as error:
            raise Error(f"{self.path}: {getattr(error, 'strerror', None) or error}") from error
        self._at = 0
        if self._take(4, "the first word").tobytes() != b"GGUF":
            raise Error(f"{self.path}: not a GGUF file")
        version = self._number("<u4", "the version")
        if version not in (2, 3):
            raise Error(f"{self.path}: version {version} of GGUF, expected 2 or 3: convert the model anew")
        tensors, pairs = self._number("<u8", "the header"), self._number("<u8", "the header")
        self.metadata: dict[str, Any] = {}
        for _ in range(pairs):
            name = self._text("a name of the metadata")
            self.metadata[name] = self._value(self._number("<u4", name), name)
        described = [self._description() for _ in range(tensors)]
        alignment = self.metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment < 1:
            raise Error(f"{self.path}: general.alignment is {alignment!r}, expected a positive number")
        start = -(-self._at // alignment) * alignment
        self.tensors = {name: self._placed(name, start, *rest) for name, *rest in described}

    def read(self, name: str) -> np.ndarray:
        """The elements of a tensor, f32 of its shape."""
        tensor = self.tensors[name]
        blocks = self._bytes[tensor.offset:tensor.offset + tensor.size].reshape(-1, tensor.encoding.bytes)
        return np.asarray(tensor.encoding.decode(blocks)).reshape(tensor.shape)

    def _take(self, count: int, what: str) -> np.ndarray:
        """The next bytes."""
        if count > len(self._bytes) - self._at:
            raise Error(f"{self.path}: the file ends in {what}: {count} bytes expected at {self._at}, "
                        f"{len(self._bytes) - self._at} are there; fetch it again")
        self._at += count
        return self._bytes[self._at - count:self._at]

    def _number(self, kind: str, what: str) -> Any:
        return self._take(np.dtype(kind).itemsize, what).view(kind)[0].item()

    def _text(self, what: str) -> str:
        length, = struct.unpack("<Q", self._take(8, what))
        return self._take(length, what).tobytes().decode(errors="replace")

    def _value(self, kind: int, name: str) -> Any:
        what = f"'{name}' of the metadata"
        if kind in _NUMBERS:
            return self._number(_NUMBERS[kind], what)
        if kind == _TEXT:
            return self._text(what)
        if kind != _ARRAY:
            raise Error(f"{self.path}: {what} has type {kind}, of {_ARRAY + 4} that there are: the file is damaged")
        inner, count = self._number("<u4", what), self._number("<u8", what)
        if inner in _NUMBERS:
            return self._take(count * np.dtype(_NUMBERS[inner]).itemsize, what).view(_NUMBERS[inner]).tolist()
        if inner != _TEXT:
            raise Error(f"{self.path}: {what} is a list of type {inner}, expected numbers or texts")
        return [self._text(what) for _ in range(count)]

    def _description(self) -> tuple[str, tuple[int, ...], int, int]:
        name = self._text("a name of a tensor")
        what = f"the description of '{name}'"
        rank = self._number("<u4", what)
        if rank > 4:
            raise Error(f"{self.path}: tensor '{name}' has {rank} dimensions, expected at most 4")
        shape = tuple(self._number("<u8", what) for _ in range(rank))[::-1]
        return name, shape, self._number("<u4", what), self._number("<u8", what)

    def _placed(self, name: str, start: int, shape: tuple[int, ...], kind: int, offset: int) -> Tensor:
        if kind not in ENCODINGS:
            raise Error(f"{self.path}: tensor '{name}' has type {_OTHERS.get(kind, kind)}; those that are read are "
                        f"{', '.join(each.name for each in ENCODINGS.values())}: convert the model to one of them")
        encoding = ENCODINGS[kind]
        if (shape or (1,))[-1] % encoding.elements:
            raise Error(f"{self.path}: rows of tensor '{name}' have {shape[-1]} elements, no multiple of the "
                        f"{encoding.elements} of {encoding.name}: the file is damaged")
        size = math.prod(shape) // encoding.elements * encoding.bytes
        if start + offset + size > len(self._bytes):
            raise Error(f"{self.path}: tensor '{name}' ends at byte {start + offset + size}, outside of the file's "
                        f"{len(self._bytes)}: fetch it again")
        return Tensor(shape, encoding, start + offset, size)
