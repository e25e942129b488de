# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Low-rank adapters that `wsec train --lora` has trained, merged with the weights that they are beside.

    python -m wsec.adapters MODEL.onnx ADAPTERS --alpha=16 -o MERGED.onnx

ADAPTERS is a safetensors file, or the checkpoint of a run. MERGED.onnx is MODEL.onnx with W + alpha / rank A^T B^T for each weight
W (fc1.weight) that has adapters there (fc1.lora_A.weight, fc1.lora_B.weight): a model like any other, of the same size. A weight that
PyTorch's exporter has numbered (val_12) is known by its module, as in `wsec train`.
"""

import argparse
import re
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from wsec.weights import tensors

A, B = ".lora_A.weight", ".lora_B.weight"


def _read(place):
    file, kind, shape, offset, _ = place
    if kind != "F32":
        raise ValueError(f"an adapter in {file} is {kind}; adapters are F32")
    return np.fromfile(file, "<f4", int(np.prod(shape)), offset=offset).reshape(shape)


def _is_transposed(graph, name):
    """Whether the model multiplies by the transposed of it, [out, in]."""
    turned, results = {name: False}, []
    for node in graph.node:
        if node.op_type == "Transpose" and node.input[0] in turned:
            turned[node.output[0]] = not turned[node.input[0]]
        elif node.op_type in ("MatMul", "Gemm") and node.input[1] in turned:
            swaps = any(its.name == "transB" and its.i for its in node.attribute)
            results.append(turned[node.input[1]] != swaps)
    if len(set(results)) != 1:
        raise ValueError(f"'{name}' is no weight of products that all have it in one order")
    return results[0]


def _by_module(graph, initializers):
    """Numbered weights of products by the names that their modules give them, as compiler/import/ModuleNames.h says."""
    names = {}
    for node in graph.node:
        if node.op_type in ("MatMul", "Gemm") and node.input[1] in initializers and re.fullmatch(r"val_\d+", node.input[1]):
            scopes = {its.key: its.value for its in node.metadata_props}.get("pkg.torch.onnx.name_scopes", "")
            found = re.search(r"'([\w.]+)', '[^']*'\]$", scopes)
            names.setdefault(node.input[1], set()).add(found[1] + ".weight" if found else None)
    once = {name: its.pop() for name, its in names.items() if len(its) == 1}
    owners = {name: [other for other in once if once[other] == name] for name in once.values() if name}
    return {name: its[0] for name, its in owners.items() if len(its) == 1 and name not in initializers}


def merge(model, adapters, alpha, output):
    """Writes `output`; returns the names of the weights that are others. Raises ValueError where an adapter fits none."""
    proto = onnx.load(model)
    graph = proto.graph
    initializers = {its.name: its for its in graph.initializer}
    stored, modules = tensors(adapters), _by_module(graph, initializers)
    stems = sorted(name.removesuffix(A) for name in stored if name.endswith(A))
    lost = sorted(name for name in stored if not any(name in (stem + A, stem + B) for stem in stems))
    if lost or not stems:
        raise ValueError(f"{adapters} has '{lost[0]}', which is no adapter" if lost else f"{adapters} has no adapters")
    names = []
    for stem in stems:
        name = next((name for name in (modules.get(stem + ".weight"), stem + ".weight", stem) if name in initializers), None)
        if name is None or stem + B not in stored:
            raise ValueError(f"'{stem + A}' has no '{stem + B}' beside it" if name else f"{model} has no weight of '{stem + A}'")
        first, second = _read(stored[stem + A]), _read(stored[stem + B])
        weight = numpy_helper.to_array(initializers[name])
        update = second @ first
        if not _is_transposed(graph, name):
            update = update.T
        if update.shape != weight.shape or weight.dtype != np.float32:
            raise ValueError(f"'{name}' is {weight.dtype} {list(weight.shape)}, and its adapters are of {list(update.shape)}")
        merged = weight + np.float32(alpha / first.shape[0]) * update
        initializers[name].CopyFrom(numpy_helper.from_array(merged.astype(np.float32), name))
        names.append(name)
    onnx.save(proto, output, save_as_external_data=proto.ByteSize() > 2**30, location=Path(output).name + ".data")
    return names


def main():
    parser = argparse.ArgumentParser(prog="python -m wsec.adapters", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("model")
    parser.add_argument("adapters")
    parser.add_argument("--alpha", type=float, required=True, help="as in --lora")
    parser.add_argument("-o", dest="output", required=True)
    words = parser.parse_args()
    try:
        names = merge(words.model, words.adapters, words.alpha, words.output)
    except (OSError, ValueError, KeyError) as error:
        raise SystemExit(f"wsec.adapters: error: {error}") from error
    print(f"{len(names)} weights have their adapters")


if __name__ == "__main__":
    main()
