#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training in f16 with a loss scale: gradients that f16 has no numbers for are those of NumPy; where the scaled ones overflow, steps are
skipped and the scale is halved, as by PyTorch's GradScaler, also in a run that goes on, and by several wafers.

Usage: train_scaled.py WORK
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BATCH, INPUTS, OUTPUTS, STEPS, RATE = 4, 16, 8, 12, 1e-4


class Work:
    def __init__(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.folder = folder
        self.random = np.random.default_rng(3)

    def product(self, size):
        """The file of x W, and W."""
        weight = (size * self.random.uniform(-1, 1, (INPUTS, OUTPUTS))).astype("f4")
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], "product",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", INPUTS])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", OUTPUTS])], [numpy_helper.from_array(weight, "w")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.folder / "m.onnx")
        return weight.astype("f8")

    def data(self, size, target):
        x = (size * self.random.uniform(-1, 1, (STEPS * BATCH, INPUTS))).astype("f4")
        targets = np.full((STEPS * BATCH, OUTPUTS), target, "f4")
        np.savez(self.folder / "data.npz", x=x, targets=targets)
        return x.astype("f8"), targets.astype("f8")

    def train(self, *flags, steps=STEPS):
        command = ["wsec", "train", "m.onnx", "--data=data.npz", "--loss=mean-square", "--optimizer=sgd", f"--lr={RATE}",
                   f"--batch={BATCH}", f"--steps={steps}", "--mesh=4x3", "--precision=f16", "--quiet", "--cache=programs",
                   "--log=log.jsonl", *flags]
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if result.returncode:
            sys.exit(f"$ {' '.join(command)}\n{result.stdout}{result.stderr}")
        lines = (self.folder / "log.jsonl").read_text().splitlines()
        return [{key: value for key, value in json.loads(line).items() if not key.endswith("_second") and key != "cycles"} for line in lines]


def gradient(weight, x, targets):
    """Of mean squares, a sample a call; and the loss."""
    off = x @ weight - targets
    return 2 * x.T @ off / off.size, np.mean(off * off)


def underflow(work):
    weight = work.product(0.1)
    x, targets = work.data(1e-3, 0)
    step = work.train(steps=1)[0]
    wanted = np.linalg.norm(gradient(weight, x[:BATCH], targets[:BATCH])[0])
    assert wanted < 1e-6 and abs(step["grad_norm"] / wanted - 1) < 5e-3, (step, wanted)
    assert step["loss_scale"] == 2**15 and "skipped" not in step, step
    print("gradients that f16 has no numbers for")


def overflow(work):
    weight = work.product(0.1)
    x, targets = work.data(1, 50)
    steps = work.train()
    scale, skipped = 2.0**15, 0
    for i, step in enumerate(steps):
        rows = slice(i * BATCH, (i + 1) * BATCH)
        wanted, loss = gradient(weight, x[rows], targets[rows])
        assert step["loss_scale"] == scale and abs(step["loss"] / loss - 1) < 5e-3, (step, loss, scale)
        if step.get("skipped"):
            assert step["grad_norm"] is None, step
            scale, skipped = scale / 2, skipped + 1
        else:
            assert abs(step["grad_norm"] / np.linalg.norm(wanted) - 1) < 5e-3, step
            weight -= RATE * wanted
    assert 1 <= skipped < STEPS / 2 and all("skipped" not in step for step in steps[skipped:]), steps
    assert work.train("--num-systems=2") == steps
    work.train("--checkpoint-dir=run", steps=2)
    assert work.train("--checkpoint-dir=run", "--resume") == steps
    print(f"overflow: {skipped} steps skipped, then as NumPy; the same on 2 wafers, and where a run goes on")


def main():
    work = Work(Path(sys.argv[1]).absolute())
    underflow(work)
    overflow(work)


if __name__ == "__main__":
    main()
