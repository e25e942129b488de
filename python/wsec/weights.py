# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of a model taken from safetensors files: of a checkpoint, say.

    python -m wsec.weights MODEL.onnx WEIGHTS -o OUT.onnx

WEIGHTS is a safetensors file, an index, or a folder with model.safetensors or
model.safetensors.index.json, which each checkpoint of the parameter store has.
OUT.onnx is MODEL.onnx with the initializers that WEIGHTS has by the same name,
type and shape lying there: no weight is copied. Compile and run it with
--weights=FOLDER_OF_THE_FILES, or write it into that folder.
"""

import argparse
import json
import math
from pathlib import Path

import onnx

TYPES = {"F32": onnx.TensorProto.FLOAT, "F16": onnx.TensorProto.FLOAT16, "BF16": onnx.TensorProto.BFLOAT16,
         "I64": onnx.TensorProto.INT64, "I32": onnx.TensorProto.INT32, "BOOL": onnx.TensorProto.BOOL}


def tensors(path):
    """name -> (file, type, shape, offset in the file, bytes), of well-formed files;
    `wse-inspect store` says what is wrong with others."""
    path = Path(path)
    if path.is_dir():
        index = path / "model.safetensors.index.json"
        path = index if index.exists() else path / "model.safetensors"
    files = [path]
    if path.suffix == ".json":
        files = [path.parent / name
                 for name in sorted(set(json.loads(path.read_text())["weight_map"].values()))]
    found = {}
    for file in files:
        with open(file, "rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(length))
        for name, entry in header.items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                found[name] = (file, entry["dtype"], entry["shape"], 8 + length + begin, end - begin)
    return found


def refer(model, weights, output):
    """Writes `output`; returns the names of the initializers that now lie in `weights`.
    Raises ValueError where one has another type or shape there, or none is there."""
    graph = onnx.load(model, load_external_data=False)
    stored = tensors(weights)
    taken = []
    for initializer in graph.graph.initializer:
        if initializer.name not in stored:
            continue
        file, kind, shape, offset, size = stored[initializer.name]
        if TYPES.get(kind) != initializer.data_type or shape != list(initializer.dims):
            raise ValueError(
                f"'{initializer.name}' is {kind} {shape} in {file}, the model wants "
                f"{onnx.TensorProto.DataType.Name(initializer.data_type)} {list(initializer.dims)}")
        home = Path(output).resolve().parent
        resolved = file.resolve()
        place = resolved.relative_to(home) if resolved.is_relative_to(home) else resolved.name
        initializer.CopyFrom(onnx.TensorProto(
            name=initializer.name, data_type=initializer.data_type, dims=initializer.dims,
            data_location=onnx.TensorProto.EXTERNAL))
        for key, value in (("location", place), ("offset", offset), ("length", size)):
            initializer.external_data.add(key=key, value=str(value))
        taken.append(initializer.name)
    if not taken:
        raise ValueError(f"none of the {len(stored)} tensors in {weights} is an initializer of {model}")
    onnx.save(graph, output)
    return taken


def main():
    parser = argparse.ArgumentParser(prog="python -m wsec.weights", description=__doc__.split("\n\n")[0])
    parser.add_argument("model")
    parser.add_argument("weights")
    parser.add_argument("-o", dest="output", required=True)
    words = parser.parse_args()
    try:
        taken = refer(words.model, words.weights, words.output)
    except (OSError, ValueError, KeyError) as error:
        raise SystemExit(f"wsec.weights: error: {error}") from error
    stored = tensors(words.weights)
    size = sum(stored[name][4] for name in taken)
    elements = sum(math.prod(stored[name][2]) for name in taken)
    print(f"{len(taken)} weights of {elements} elements, {size} bytes, lie in {words.weights}")


if __name__ == "__main__":
    main()
