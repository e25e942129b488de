# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that are replayed in place of equal ones give what they would by themselves.

Usage: remembered_layers.py FOLDER

An observed run remembers nothing; outputs and all that the report counts must be those of one that does.
"""

import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "models")]
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import small_models  # noqa: E402
from commands import run  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402

COUNTED = ["cycles", "work", "kernels", "sram", "weights"]


def run_once(folder, program, inputs, name, *flags):
    report, outputs = folder / f"{name}.json", folder / f"{name}-out.npz"
    run(["wse-run", program, "--engine=strips", "--inputs", inputs, f"--outputs={outputs}", f"--report={report}",
         "--quiet", *flags])
    return json.loads(report.read_text()), outputs.read_bytes()


def llama(path, seed, layers):
    """Each layer has angles of its own, all equal, as PyTorch exports them."""
    config, tokens = path.with_suffix(".yaml"), 8
    config.write_text(f"model: {{preset: tiny-llama, layers: {layers}}}\n")
    run(["wsec", "model", f"--config={config}", "-o", path, "--batch=1", f"--sequence={tokens}", "--weights=seeded", f"--seed={seed}"])
    model = onnx.load(path)
    turns = np.outer(np.arange(tokens), 1e4 ** (-np.arange(8) / 8)).astype("f4")[None]
    for number, node in enumerate(n for n in model.graph.node if n.op_type == "RotaryEmbedding"):
        for i, table in enumerate((np.cos(turns), np.sin(turns)), 1):
            node.input[i] = f"turns.{number}.{i}"
            model.graph.initializer.append(numpy_helper.from_array(table, node.input[i]))
    onnx.save(model, path)
    return {"input_ids": np.random.default_rng(seed).integers(0, 200, (1, tokens))}


def layers_in_layers(path, seed, layers):
    """Each layer has six of a product and a softmax, and one of another size."""
    random, nodes, weights, last = np.random.default_rng(seed), [], [], "x"

    def add(operator, name, *factor):
        nonlocal last
        weights.extend(numpy_helper.from_array(random.standard_normal(shape).astype("f4"), f"{name}.weight") for shape in factor)
        nodes.append(helper.make_node(operator, [last, f"{name}.weight"] if factor else [last], [name]))
        last = name

    for layer in range(layers):
        for inner in range(6):
            add("MatMul", f"inner.{layer}.{inner}", (24, 24))
            add("Softmax", f"softmax.{layer}.{inner}")
        add("MatMul", f"wide.{layer}", (24, 72))
        add("MatMul", f"narrow.{layer}", (72, 24))
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (1, 9, 24)) for name in ("x", last)]
    graph = helper.make_graph(nodes, "layers", ends[:1], ends[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    return {"x": random.standard_normal((1, 9, 24)).astype("f4")}


def check(folder, text, mesh, flags, layers, trains=False, make=small_models.gpt, **sizes):
    model, program, inputs = folder / "model.onnx", folder / "model.wafer", folder / "in.npz"
    given = make(model, 0, layers=layers, **sizes)
    if trains:
        given["targets"] = next(iter(given.values()))[:, ::-1]
        flags = [*flags, "--loss=cross-entropy", f"--loss-of={onnx.load(model).graph.output[0].name}", "--train=*"]
    np.savez(inputs, **given)
    run(["wsec", model, "-o", program, f"--mesh={mesh}", "--quiet", *flags])
    seen, expected = run_once(folder, program, inputs, "seen", f"--counters={folder / 'counters.json'}")
    assert seen["time"]["remembered_launches"] == 0
    for threads in 1, 2:
        found, values = run_once(folder, program, inputs, "found", f"--threads={threads}")
        remembered = found["time"]["remembered_launches"]
        wrong = [key for key in COUNTED if found[key] != seen[key]]
        wrong += ["outputs"] * (values != expected)
        print(f"{text}, {mesh}, {threads} threads: {remembered} launches remembered:",
              f"{', '.join(wrong)} DIFFER" if wrong else "ok")


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    check(folder, "6 layers", "8x8", [], 6)
    check(folder, "f16", "8x8", ["--precision=f16"], 6)
    check(folder, "batch", "6x5", [], 5, batch=2, tokens=7)
    check(folder, "a token", "4x8", [], 7, tokens=1)
    check(folder, "a column", "1x3", [], 5)
    check(folder, "heads", "12x7", ["--precision=bf16"], 5, tokens=13, width=72, heads=6)
    check(folder, "3 layers", "8x8", [], 3)
    check(folder, "layers in layers", "5x4", [], 8, make=layers_in_layers)
    check(folder, "a training step", "6x6", [], 12, trains=True)
    check(folder, "angles of each layer", "6x6", [], 12, trains=True, make=llama)


if __name__ == "__main__":
    main()
