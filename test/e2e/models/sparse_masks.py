# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which weights `wsec --sparsity` keeps, as products.md of compiler/kernels says
it, and ONNX models with all others at zero."""

import fnmatch

import numpy as np
import onnx
from onnx import numpy_helper

GROUP = 64  # result features of which each input feature keeps equally many


def mix(x):
    """splitmix64 of each element, modulo 2^64."""
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def scores(name, weight, method, seed, first=0):
    """By number of the element in the stored tensor, counted from `first`, or by
    absolute value."""
    if method == "topk":
        return np.abs(weight.astype(np.float32)).view(np.uint32).astype(np.uint64)
    hashed = 0xCBF29CE484222325
    for letter in name.encode():
        hashed = ((hashed ^ letter) * 0x100000001B3) % 2**64
    start = mix(np.array([(hashed + seed) % 2**64], np.uint64)) >> np.uint64(1)
    with np.errstate(over="ignore"):
        numbers = start + np.uint64(first) + np.arange(weight.size, dtype=np.uint64)
    return mix(numbers).reshape(weight.shape)


def highest(score, group, kept, rest):
    """Of each row, in each group of columns, the `kept` highest scores, of equal
    ones the first; `rest` of a shorter last group."""
    mask = np.zeros(score.shape, bool)
    for begin in range(0, score.shape[1], group):
        part = score[:, begin:begin + group]
        count = kept if part.shape[1] == group else rest
        order = np.argsort(~part, axis=1, kind="stable")[:, :count]
        np.put_along_axis(mask[:, begin:begin + group], order, True, axis=1)
    return mask


def kept(name, weight, axis, sparsity, method="random", seed=0):
    """Which elements are kept; `axis` counts result features."""
    score = np.moveaxis(scores(name, weight, method, seed), axis, 1)
    kept, rest = (int(np.floor((1 - sparsity) * size + 0.5)) for size in (GROUP, score.shape[1] % GROUP))
    return np.moveaxis(highest(score, GROUP, kept, rest), 1, axis)


def mask_model(model, masked, filters, sparsity, method="random", seed=0):
    """Writes the model with the weights of its products that a filter names
    masked. Returns how many elements these have, and how many are kept."""
    graph = onnx.load(model)
    weights = {tensor.name: tensor for tensor in graph.graph.initializer}
    total = nonzero = 0
    for node in graph.graph.node:
        if node.op_type not in ("MatMul", "Gemm") or node.input[1] not in weights:
            continue
        name = node.input[1]
        if not any(fnmatch.fnmatchcase(text, glob) for glob in filters for text in (name, node.name)):
            continue
        weight = numpy_helper.to_array(weights[name])
        transposed = any(a.name == "transB" and a.i for a in node.attribute)
        mask = kept(name, weight, 0 if transposed else 1, sparsity, method, seed)
        total, nonzero = total + mask.size, nonzero + int(mask.sum())
        weights[name].CopyFrom(numpy_helper.from_array(np.where(mask, weight, 0).astype(weight.dtype), name))
    onnx.save(graph, masked)
    return total, nonzero
