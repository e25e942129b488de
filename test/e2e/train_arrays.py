#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples of named arrays that `wsec train` trains with: labels of which some do not count, numbers, several inputs; the losses
of PyTorch, and what is wrong with them said before anything is compiled.

Usage: train_arrays.py WORK
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

SAMPLES, TOKENS, WIDTH, ROWS, CLASSES, BATCH, STEPS, RATE = 10, 5, 8, 23, 4, 4, 7, 1e-2
F = torch.nn.functional


def model(path):
    """Rows of a table, features beside them, classes of each token; and means of those, which are no logits."""
    random = np.random.default_rng(2)
    weights = {name: (random.standard_normal(shape) / 3).astype("f4") for name, shape in
               {"table": (ROWS, WIDTH), "features.weight": (3, WIDTH), "head.weight": (WIDTH, CLASSES)}.items()}
    nodes = [helper.make_node(op, inputs, [output], name=output, **more) for op, inputs, output, more in (
        ("Gather", ["table", "ids"], "rows", {}), ("MatMul", ["features", "features.weight"], "wide", {}),
        ("Add", ["rows", "wide"], "both", {}), ("Tanh", ["both"], "hidden", {}),
        ("MatMul", ["hidden", "head.weight"], "scores", {}),
        ("ReduceMean", ["scores"], "means", {"axes": [1], "keepdims": 0}))]
    types = onnx.TensorProto
    graph = helper.make_graph(
        nodes, "arrays", [helper.make_tensor_value_info("ids", types.INT64, ["n", TOKENS]),
                          helper.make_tensor_value_info("features", types.FLOAT, ["n", TOKENS, 3])],
        [helper.make_tensor_value_info("means", types.FLOAT, ["n", CLASSES]),
         helper.make_tensor_value_info("scores", types.FLOAT, ["n", TOKENS, CLASSES])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return graph


def expected(graph, data, loss):
    parameters = {i.name: torch_graph.tensor(numpy_helper.to_array(i)).requires_grad_() for i in graph.initializer}
    rule, losses = torch.optim.AdamW(parameters.values(), lr=RATE), []
    for step in range(STEPS):
        rows = np.arange(step * BATCH, (step + 1) * BATCH) % SAMPLES
        batch = {name: torch_graph.tensor(value[rows].astype("f8" if value.dtype.kind == "f" else "i8"))
                 for name, value in data.items()}
        error = loss(torch_graph.evaluate(graph, batch | parameters), batch["targets"])
        losses.append(error.item())
        rule.zero_grad()
        error.backward()
        rule.step()
    return losses


def main():
    work = Path(sys.argv[1])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    graph, random = model(work / "model.onnx"), np.random.default_rng(4)
    labels = random.integers(0, CLASSES, (SAMPLES, TOKENS)).astype("i4")
    labels[random.random(labels.shape) < 0.4] = -100
    labels[0, 0], labels[1] = 1, -100  # a sample without a label
    data = {"ids": random.integers(0, ROWS, (SAMPLES, TOKENS)).astype("u1"),
            "features": random.standard_normal((SAMPLES, TOKENS, 3)).astype("f4"), "targets": labels}
    numbers = random.standard_normal((SAMPLES, CLASSES)).astype("f4")

    def run(given, *flags):
        np.savez(work / "data.npz", **given)
        (work / "log.jsonl").unlink(missing_ok=True)
        return subprocess.run(["wsec", "train", work / "model.onnx", f"--data={work / 'data.npz'}", f"--batch={BATCH}",
                               f"--steps={STEPS}", f"--lr={RATE}", "--mesh=6x5", "--quiet", f"--log={work / 'log.jsonl'}",
                               f"--cache={work / 'programs'}", *flags], capture_output=True, text=True, check=False)

    def refused(message, given, *flags):
        result = run(given, *flags)
        assert result.returncode in (1, 2) and message in result.stderr, f"expected '{message}', found\n{result.stderr}"
        assert not list((work / "programs").glob("*.wafer")), message

    scores = "--logits=scores"
    refused("say which output the loss is of, with --logits=NAME: the model has means [?, 4], scores [?, 5, 4]", data)
    refused("has no array 'ids'; there is 'id'", {"id": data["ids"], "features": data["features"], "targets": labels}, scores)
    refused("has no array 'labels'", data, scores, "--targets=labels")
    refused("array 'ids' of", data | {"ids": data["ids"] + np.where(np.arange(SAMPLES) == 3, 23, 0)[:, None]}, scores)
    refused("sample 3 has ", data | {"ids": data["ids"] + np.where(np.arange(SAMPLES) == 3, 23, 0)[:, None]}, scores)
    refused("sample 2 has 4, and the model takes 0 to 3, or -100 for a label that does not count",
            data | {"targets": np.where(np.arange(SAMPLES) == 2, 4, 0)[:, None] + 0 * labels}, scores)
    refused("array 'features' of", data | {"features": data["features"].astype("f8")}, scores)
    refused("is float64[10, 5, 3], and the input takes float32[1, 5, 3]", data | {"features": data["features"].astype("f8")},
            scores)
    refused("input features [?, 5, 3] of the model takes no 1 samples of array 'features', [1, 5, 2]",
            data | {"features": data["features"][..., :2]}, scores)
    refused("has 9 samples, those before it 10", data | {"targets": labels[:9]}, scores)
    refused("steps of 12 samples: ", data, scores, "--batch=12")
    refused("no label of the 4 samples from 0 on counts", data | {"targets": np.where(np.arange(SAMPLES) < 4, -100, 0)[:, None]
                                                                    + 0 * labels}, scores)
    refused("labels are integers, found float32[10, 4]; of numbers take --loss=mean-square", data | {"targets": numbers},
            "--logits=means")
    refused("is no multiple of the micro-batch of 3", data, scores, "--micro-batch=3")
    refused("--data=FILE.npz with an array of each input", data, scores, f"--tokens={work / 'data.npz'}")
    refused("--eval-data with --data", data, scores, f"--eval-tokens={work / 'data.npz'}")
    refused("--loss wants cross-entropy, mean-square or result, found 'mse'", data, scores, "--loss=mse")

    def losses(given, *flags):
        result = run(given, *flags)
        assert result.returncode == 0, result.stderr
        lines = [json.loads(line) for line in (work / "log.jsonl").read_text().splitlines()]
        assert lines[-1].get("samples", STEPS * BATCH) == STEPS * BATCH, lines
        return [line["loss"] for line in lines if "loss" in line], [line for line in lines if "eval_loss" in line]

    def close(actual, wanted, what):
        worst = max(abs(a - b) for a, b in zip(actual, wanted, strict=True))
        assert worst <= 1e-5, f"{what}: off by {worst:.1e}\n{actual}\n{wanted}"
        print(f"{what}: {wanted[0]:.4f} to {wanted[-1]:.4f}, off by at most {worst:.1e}")

    wanted = expected(graph, data, lambda values, t: F.cross_entropy(values["scores"].flatten(0, 1), t.flatten()))
    first, _ = losses(data, scores)
    close(first, wanted, "labels, some of which do not count")
    for flags in (["--num-systems=3"], ["--engine=wavelet"]):
        assert losses(data, scores, *flags)[0] == first, flags
    close(losses(data, scores, "--micro-batch=2")[0], wanted, "with a micro-batch of 2")
    np.savez(work / "eval.npz", **{name: value[:BATCH] for name, value in data.items()})
    again, evaluations = losses(data, scores, f"--eval-data={work / 'eval.npz'}", "--eval-every=3")
    assert again == first and [(e["step"], e["eval_samples"]) for e in evaluations] == [(s, BATCH) for s in (0, 3, 6, 7)]
    assert evaluations[0]["eval_loss"] == first[0], (evaluations, first)
    np.savez(work / "data.npz", **data)
    folder = f"--checkpoint-dir={work / 'run'}"
    result = run(data, scores, folder, "--steps=3")
    assert result.returncode == 0, result.stderr
    result = run(data, scores, folder, "--resume")
    assert result.returncode == 0, result.stderr
    assert [json.loads(line)["loss"] for line in (work / "log.jsonl").read_text().splitlines()] == first[3:]
    result = run(data | {"targets": np.abs(labels) % CLASSES}, scores, folder, "--resume", "--steps=9")
    assert "is of a run with other samples than" in result.stderr, result.stderr
    print("systems, engines, evaluations and a run that is resumed: the same bits")
    given = {"ids": data["ids"], "features": data["features"], "score": numbers}
    wanted = expected(graph, data | {"targets": numbers}, lambda values, t: F.mse_loss(values["means"], t))
    close(losses(given, "--logits=means", "--targets=score", "--loss=mean-square")[0], wanted, "numbers")


if __name__ == "__main__":
    main()
