#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A head whose logits are more than there is room for makes them tile by tile, in the loss and again in its gradients: values are
PyTorch's, and what a PE holds does not depend on the vocabulary.

Usage: train_head.py WORK [--gpt2]: steps of GPT-2's embedding, last norm and tied head, 1 x 128 tokens on 32x32 PEs, alone.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper

import torch_graph
from gradients import ENGINES, TOLERANCE, compile_gradients, error_of, results_of

WIDTH = 24


def model(path, classes, tokens, tied, bias, width=WIDTH, batch=2, flat=False, infinite=None):
    """Rows of a table, a norm, and the product with the table or a matrix of its own; flat: logits in rows for all tokens; infinite: a
    class whose bias is -inf."""
    random = np.random.default_rng(classes)
    weights = {"table": random.standard_normal((classes, width)), "scale": 1 + random.standard_normal(width) / 3,
               "shift": random.standard_normal(width) / 3}
    if not tied:
        weights["head.weight"] = random.standard_normal((width, classes))
    if bias:
        weights["head.bias"] = random.standard_normal(classes)
        weights["head.bias"][[infinite] if infinite is not None else []] = -np.inf
    nodes = [helper.make_node("Gather", ["table", "ids"], ["rows"], name="rows"),
             helper.make_node("LayerNormalization", ["rows", "scale", "shift"], ["normal"], name="normal")]
    if tied:
        nodes.append(helper.make_node("Transpose", ["table"], ["head.weight"], name="turn", perm=[1, 0]))
    nodes.append(helper.make_node("MatMul", ["normal", "head.weight"], ["product" if bias else "logits"], name="head"))
    if bias:
        nodes.append(helper.make_node("Add", ["product", "head.bias"], ["logits"], name="bias"))
    if flat:
        nodes[-1].output[0] = "whole"
        nodes.append(helper.make_node("Reshape", ["whole", "shape"], ["logits"], name="flat"))
    types = onnx.TensorProto
    graph = helper.make_graph(nodes, "head", [helper.make_tensor_value_info("ids", types.INT64, [batch, tokens])],
                              [helper.make_tensor_value_info("logits", types.FLOAT, [batch * tokens, classes] if flat else [batch, tokens, classes])],
                              [*(numpy_helper.from_array(value.astype("f4"), name) for name, value in weights.items()),
                               *([numpy_helper.from_array(np.array([-1, classes]), "shape")] if flat else [])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def check_values(work, mesh, classes, tokens, tied, bias, *flags, flat=False):
    model(work / "m.onnx", classes, tokens, tied, bias, flat=flat)
    its, random = onnx.load(work / "m.onnx"), np.random.default_rng(1)
    ids, targets = (random.integers(0, classes, (2, tokens)) for _ in "it")
    targets.flat[::7] = -100
    targets.flat[1:3] = 0, classes - 1
    targets = targets.flatten() if flat else targets
    reduction = "sum" if "--loss-reduction=sum" in flags else "mean"
    number, expected = torch_graph.gradients(
        its, {"ids": ids}, lambda v: torch.nn.functional.cross_entropy(v["logits"].reshape(-1, classes), torch_graph.tensor(targets).flatten(),
                                                                       reduction=reduction),
        [i.name for i in its.graph.initializer if i.name != "shape"])
    program = compile_gradients(work / "m.onnx", mesh, work, "--loss=cross-entropy", "--train=*", *flags)
    bits = set()
    for engine in ENGINES:
        found = results_of(program, {"ids": ids, "targets": targets}, engine, work)
        errors = {name: error_of(value, found[name + ".grad"]) for name, value in expected.items()}
        errors["loss"] = abs(float(found["loss"]) / number - 1)
        assert max(errors.values()) <= TOLERANCE, (mesh, engine, errors)
        bits.add(b"".join(value.tobytes() for _, value in sorted(found.items())))
    assert len(bits) == 1
    targets.flat[3] = classes  # of no class
    assert np.isposinf(results_of(program, {"ids": ids, "targets": targets}, ENGINES[0], work)["loss"])
    print(f"{classes} classes on {mesh}{', tied' * tied}{', with biases' * bias}: off by at most {max(errors.values()):.1e}")


def check_infinite(work, classes=401, tokens=6):
    """A label whose logit is -inf has an infinite loss, as where all logits are there."""
    model(work / "m.onnx", classes, tokens, False, True, infinite=7)
    program = compile_gradients(work / "m.onnx", "3x3", work, "--loss=cross-entropy", "--train=*", "--loss-reduction=sum")
    ids = np.arange(2 * tokens).reshape(2, tokens)
    assert np.isposinf(results_of(program, {"ids": ids, "targets": ids}, ENGINES[0], work)["loss"])


def sram(work, classes):
    model(work / "m.onnx", classes, 16, False, True)
    subprocess.run(["wsec", work / "m.onnx", "-o", work / "m.wafer", "--mesh=8x8", "--quiet", "--loss=cross-entropy", "--train=*",
                    f"--report={work / 'm.json'}"], check=True)
    report = json.loads((work / "m.json").read_text())
    assert any(f"the {classes} logits of a token are made in" in note for note in report["notes"]) == (classes > 1024), report["notes"]
    return report["sram"]["peak_bytes"], sum(kernel["kind"] == "matmul" for kernel in report["kernels"])


def check_steps(work, classes=50257, tokens=128, width=768, steps=3, rate=1e-3):
    """As `wsec train` takes them."""
    model(work / "m.onnx", classes, tokens, True, False, width, batch=1)
    ids = np.random.default_rng(1).integers(0, classes, steps * tokens + 1)
    np.save(work / "tokens.npy", ids)
    subprocess.run(["wsec", "train", work / "m.onnx", f"--tokens={work / 'tokens.npy'}", "--batch=1", f"--sequence={tokens}", f"--steps={steps}",
                    "--mesh=32x32", "--optimizer=sgd", f"--lr={rate}", "--quiet", f"--cache={work / 'programs'}", f"--log={work / 'log.jsonl'}"], check=True)
    losses = [json.loads(line)["loss"] for line in (work / "log.jsonl").read_text().splitlines()]
    graph = onnx.load(work / "m.onnx").graph
    own = {i.name: torch.tensor(numpy_helper.to_array(i)).requires_grad_() for i in graph.initializer}
    rule, expected = torch.optim.SGD(own.values(), lr=rate), []
    for step in range(steps):
        its = torch.tensor(ids[step * tokens:(step + 1) * tokens + 1])
        normal = torch.nn.functional.layer_norm(own["table"][its[:-1]], (width,), own["scale"], own["shift"])
        loss = torch.nn.functional.cross_entropy(normal @ own["table"].T, its[1:])
        expected.append(loss.item())
        rule.zero_grad()
        loss.backward()
        rule.step()
    off = max(abs(a / b - 1) for a, b in zip(losses, expected))
    print(f"{classes} classes, {tokens} tokens on 32x32: loss {losses[0]:.5f} to {losses[-1]:.5f}, off by at most {off:.1e}")
    assert len(losses) == steps and off <= TOLERANCE, (losses, expected)


def main():
    work = Path(sys.argv[1])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    if "--gpt2" in sys.argv:
        return check_steps(work)
    # 512 logits of a PE at a time: 2, 2, 4 and 2 tiles, the last of the first smaller.
    check_values(work, "5x3", 601, 9, False, True)
    check_values(work, "1x3", 150, 10, True, False)
    check_values(work, "9x1", 500, 10, True, True, "--loss-reduction=sum")
    check_values(work, "7x2", 512, 12, False, False)
    check_values(work, "5x3", 601, 9, False, True, flat=True)
    check_infinite(work)
    bytes_of = {classes: sram(work, classes) for classes in (1024, 8192, 65536)}
    for classes, (peak, products) in bytes_of.items():
        print(f"{classes} classes: {products} products, {peak} bytes of SRAM")
    assert bytes_of[65536][0] == bytes_of[8192][0], bytes_of


if __name__ == "__main__":
    main()
