# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replays a GPT that `wsec model --weights=procedural` wrote, layer by layer, in
numpy, with weights computed anew from the formula of
runtime/files/ProceduralFile.h, and compares the logits of a run.

Usage: replay.py MODEL.onnx IDS.npy LOGITS.npy

Needs the memory of one matrix, whatever the size of the model. Prints the
largest difference over the largest logit; exit code 1 above 1e-4.
"""

import sys

import numpy as np
import onnx


def splitmix(x):
    mask = 2**64 - 1
    x = (x + 0x9E3779B97F4A7C15) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)


def elements(location, first, count):
    """Elements `first` to `first + count` of a procedural file, f32."""
    fields = dict(f.split("=") for f in location.removeprefix("procedural:").split(","))
    width, mean = np.float32(fields["range"]), np.float32(fields["mean"])
    result = np.empty(count, np.float32)
    at = 0
    while at < count:  # pieces that fit the cache and have one key
        block, low = divmod(first + at, 2**32)
        piece = min(count - at, 2**18, 2**32 - low)
        key = splitmix((int(fields["seed"]) + block * 0x9E3779B97F4A7C15) & (2**64 - 1))
        x = np.arange(low, low + piece, dtype=np.uint64).astype(np.uint32)
        x ^= np.uint32(key & 0xFFFFFFFF)
        x ^= x >> np.uint32(16)
        x *= np.uint32(0x7FEB352D)
        x += np.uint32(key >> 32)
        x ^= x >> np.uint32(15)
        x *= np.uint32(0x846CA68B)
        x ^= x >> np.uint32(16)
        x >>= np.uint32(8)
        centered = x.astype(np.int32) - 2**23
        result[at:at + piece] = mean + width * (centered.astype(np.float32) * np.float32(2**-23))
        at += piece
    return result


class Weights:
    def __init__(self, graph):
        self.tensors = {}
        for tensor in graph.initializer:
            data = {e.key: e.value for e in tensor.external_data}
            self.tensors[tensor.name] = (list(tensor.dims), data["location"], int(data["offset"]) // 4)

    def whole(self, name):
        dims, location, first = self.tensors[name]
        return elements(location, first, int(np.prod(dims))).reshape(dims)

    def rows(self, name, rows):
        (_, width), location, first = self.tensors[name]
        return np.stack([elements(location, first + int(row) * width, width) for row in rows])

    def linear(self, x, name):
        """x W + b, by slices of W's rows."""
        (inputs, outputs), location, first = self.tensors[name + ".weight"]
        y = np.zeros((x.shape[0], outputs), np.float64)
        step = max(1, 2**24 // outputs)
        for row in range(0, inputs, step):
            count = min(step, inputs - row)
            part = elements(location, first + row * outputs, count * outputs)
            y += x[:, row:row + count] @ part.reshape(count, outputs)
        return (y + self.whole(name + ".bias")).astype(np.float32)

    def norm(self, x, name):
        wide = x.astype(np.float64)
        wide = wide - wide.mean(-1, keepdims=True)
        wide /= np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5)
        return (wide * self.whole(name + ".weight") + self.whole(name + ".bias")).astype(np.float32)


def attention(q, k, v, heads):
    tokens, width = q.shape
    q, k, v = (a.reshape(tokens, heads, -1).transpose(1, 0, 2) for a in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(np.float32(width // heads))
    scores[:, np.triu(np.ones((tokens, tokens), bool), 1)] = -np.inf
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    scores /= scores.sum(-1, keepdims=True)
    return (scores @ v).transpose(1, 0, 2).reshape(tokens, width)


def gelu(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))).astype(np.float32)


def logits(model, ids):
    weights = Weights(model.graph)
    heads = [a.i for n in model.graph.node if n.op_type == "Attention" for a in n.attribute
             if a.name == "q_num_heads"]
    x = weights.rows("embedding.weight", ids) + weights.rows("positions.weight", range(len(ids)))
    for layer, count in enumerate(heads):
        name = f"layers.{layer}"
        y = weights.norm(x, f"{name}.attention_norm")
        q, k, v = (weights.linear(y, f"{name}.attention.{p}") for p in "qkv")
        x = x + weights.linear(attention(q, k, v, count), f"{name}.attention.out")
        y = weights.norm(x, f"{name}.feed_forward_norm")
        y = gelu(weights.linear(y, f"{name}.feed_forward.up"))
        x = x + weights.linear(y, f"{name}.feed_forward.down")
    x = weights.norm(x, "final_norm")
    (words, width), location, first = weights.tensors["embedding.weight"]
    parts = []
    step = max(1, 2**24 // width)
    for word in range(0, words, step):
        count = min(step, words - word)
        part = elements(location, first + word * width, count * width)
        parts.append(x @ part.reshape(count, width).T)
    return np.concatenate(parts, axis=1)


def main():
    model = onnx.load(sys.argv[1], load_external_data=False)
    ids, found = np.load(sys.argv[2]), np.load(sys.argv[3])
    worst = 0.0
    for sequence, result in zip(ids, found):
        expected = logits(model, sequence)
        worst = max(worst, float(np.abs(expected - result).max() / np.abs(expected).max()))
    print(f"largest difference {worst:.2e} of the largest logit: {'ok' if worst <= 1e-4 else 'FAILED'}")
    return 0 if worst <= 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
