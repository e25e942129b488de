# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tables of predicted cycles share: weights that need not be there, tools, and how a page is held to what is found."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto

HERE = Path(__file__).resolve().parent
BIN = Path(os.environ.get("WSEC_BIN", HERE.parents[1] / "build/release/bin"))
CLOSE = 0.02


def initializers(shapes, random, scale):
    """Arrays by name, and as initializers, of `shapes` by name: random ones, times what `scale` makes of a shape. Without
    `random` there are none, and initializers lie in a file that is not there."""
    if random is not None:
        made = {name: (scale(shape) * random.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}
        return made, [onnx.numpy_helper.from_array(array, name) for name, array in made.items()]
    absent, offset = [], 0
    for name, shape in shapes.items():
        size = 4 * int(np.prod(shape))
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, text in (("location", "absent.data"), ("offset", offset), ("length", size)):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, str(text)
        absent.append(tensor)
        offset += size
    return {}, absent


def call(*command):
    """Runs a tool; raises `RuntimeError` with the first line of its errors."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().split("\n")[0])


def compiled(model, program, *flags):
    """The report of a model's program."""
    report = program.with_suffix(".json")
    call(BIN / "wsec", model, "-o", program, f"--report={report}", "--quiet", *flags)
    return json.loads(report.read_text())


def alike(kept, found, is_row, equal, close):
    """Whether two tables have the same rows: cells of the columns `equal` are, and numbers of the columns `close` within 2 %."""
    def cells(text):
        return [line.split("|") for line in text.splitlines() if is_row(line)]

    def number(text):
        return float(text.replace(",", "").strip() or 1)
    kept, found = cells(kept), cells(found)
    return len(kept) == len(found) > 0 and all(
        [a[i] for i in equal] == [b[i] for i in equal] and
        all(abs(number(a[i]) / number(b[i]) - 1) <= CLOSE for i in close) for a, b in zip(kept, found, strict=True))
