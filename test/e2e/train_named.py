#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What trains is told by values, and by names that win over them: a bias that stands before a softmax trains as PyTorch makes it
train, a number and a bias of zeros do if they are named, a mask does not. What an exporter has made of parameters is said.

Usage: train_named.py WORK
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

TOKENS, WIDTH, ROWS, STEPS, BATCH = 6, 8, 11, 5, 2


def model(path, tied):
    """An attention of one head behind a table and a norm, whose scores have a temperature, biases and a mask. Keys and values
    begin with equal weights, and remain two; those of queries are computed, in each step, of two that train."""
    random = np.random.default_rng(6)
    weights = {name: (random.standard_normal(shape) / 2).astype("f4") for name, shape in {
        "table": (ROWS, WIDTH), "wq": (WIDTH, WIDTH), "wk": (WIDTH, WIDTH), "wv": (WIDTH, WIDTH),
        "bias": (TOKENS, TOKENS), "norm": (WIDTH,), "shift": (WIDTH,)}.items()}
    weights |= {"zeros": np.zeros((TOKENS, TOKENS), "f4"), "temperature": np.array(0.7, "f4"), "gain": np.array([1.5], "f4"),
                "mask": np.triu(np.full((TOKENS, TOKENS), -1e9, "f4"), 1)}
    weights["wv"] = weights["wk"].copy()
    weights["head"] = np.ascontiguousarray(weights["table"].T) if tied else weights["table"].T + np.float32(0.1)
    nodes = [helper.make_node(op, inputs, [output], name=output, **more) for op, inputs, output, more in (
        ("Gather", ["table", "input_ids"], "x", {}), ("LayerNormalization", ["x", "norm", "shift"], "n", {"axis": -1}),
        ("Sub", ["wq", "wk"], "wqk", {}), ("MatMul", ["n", "wqk"], "q", {}),
        ("MatMul", ["n", "wk"], "k", {}), ("MatMul", ["n", "wv"], "v", {}),
        ("Transpose", ["k"], "kt", {"perm": [0, 2, 1]}), ("MatMul", ["q", "kt"], "s0", {}),
        ("Mul", ["s0", "temperature"], "s1", {}), ("Add", ["s1", "bias"], "s2", {}), ("Add", ["s2", "zeros"], "s3", {}),
        ("Add", ["s3", "mask"], "s4", {}), ("Softmax", ["s4"], "p", {"axis": -1}), ("MatMul", ["p", "v"], "a", {}),
        ("Mul", ["a", "gain"], "g", {}), ("Add", ["x", "g"], "y", {}),
        ("LayerNormalization", ["y", "norm"], "m", {"axis": -1}), ("MatMul", ["m", "head"], "logits", {}))]
    graph = helper.make_graph(
        nodes, "named", [helper.make_tensor_value_info("input_ids", onnx.TensorProto.INT64, ["n", TOKENS])],
        [helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["n", TOKENS, ROWS])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return graph


def expected(graph, tokens, frozen):
    parameters = {i.name: torch_graph.tensor(numpy_helper.to_array(i)) for i in graph.initializer}
    rule = torch.optim.AdamW([p.requires_grad_() for n, p in parameters.items() if n not in frozen], lr=2e-2)
    losses = []
    for step in range(STEPS):
        ids = torch.tensor(np.array([tokens[s * TOKENS:s * TOKENS + TOKENS + 1]
                                     for s in range(step * BATCH, step * BATCH + BATCH)]))
        logits = torch_graph.evaluate(graph, {"input_ids": ids[:, :-1]} | parameters)["logits"]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        losses.append(loss.item())
        rule.zero_grad()
        loss.backward()
        rule.step()
    return losses


def main():
    work = Path(sys.argv[1])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    tokens = np.random.default_rng(8).integers(0, ROWS, 100)
    np.save(work / "tokens.npy", tokens)
    for tied in (True, False):
        graph = model(work / "model.onnx", tied)
        for flags, frozen in (((), {"zeros": "mask", "mask": "mask", "gain": "scalar", "temperature": None}),
                              (("--train=*", "--train=temperature", "--train=gain", "--train=zeros"), {"mask": "mask"})):
            subprocess.run(["wsec", "train", work / "model.onnx", f"--tokens={work / 'tokens.npy'}", f"--sequence={TOKENS}",
                            f"--batch={BATCH}", f"--steps={STEPS}", "--lr=2e-2", "--mesh=6x5", "--quiet",
                            f"--cache={work / 'programs'}", f"--log={work / 'log.jsonl'}",
                            f"--report={work / 'report.json'}", *flags], check=True)
            losses = [json.loads(line)["loss"] for line in (work / "log.jsonl").read_text().splitlines()]
            wanted = expected(graph, tokens, frozen)
            worst = max(abs(a - b) for a, b in zip(losses, wanted, strict=True))
            assert worst <= 1e-5, f"{flags}: off by {worst:.1e}\n{losses}\n{wanted}"
            report = json.loads((work / "report.json").read_text())["compilation"]
            said = {p["name"]: p.get("why") for p in report["parameters"] if not p["trains"]}
            assert said == {name: why for name, why in frozen.items() if why}, said
            notes = "\n".join(report["notes"])
            assert ("'head' begins as a copy of 'table'" in notes) == tied, notes
            assert flags or "'bias' is added to scores" in notes, notes
            assert "'norm' is one parameter of 2 norms" in notes, notes
            assert "1 of 2 norms have no bias, the first 'm'" in notes, notes
            print(f"{'tied' if tied else 'a head of its own'}, {len(said)} frozen: off by at most {worst:.1e}")


if __name__ == "__main__":
    main()
