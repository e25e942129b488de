#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of all parameters of what exporters write of transformers, on a mesh of 8x8 PEs or, where that is too small, 32x32, held against PyTorch's autograd in
f64 (torch_graph.py). Flags as families.py has them, and TRAINING.md is the table:

  training.py --table TRAINING.md --write     all architectures by all exporters, but MODELS' exceptions
  training.py --only REGEX                    some of them
  training.py --few                           some of all kinds

Of logits the loss is a cross-entropy, of anything else the mean square beside random numbers. Each model ends in one status:

  run      every gradient is PyTorch's
  refused  by a named reason before anything ran
  fail     a wrong gradient, or loss; a parameter without one that PyTorch has; a crash, time-out, or an error without our wording
  unheld   compiled, but torch_graph.py has no rule for an operator
  none     the exporter gave up

A gradient, relative to its largest element, is off by at most 1e-5; to a thousandth of the largest of all where its own are
less, as those of the biases of keys, which are 0 but for rounding.
"""

import re
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "models"), str(HERE.parents[1] / "conformance")]
import torch_graph  # noqa: E402
from conformance import Failure, conclude, table_parser  # noqa: E402
from families import Row, bucket, compile_model, differences, load, run_model  # noqa: E402
from gradients import error_of  # noqa: E402
from make_families import cache, variants  # noqa: E402

MESHES = "8x8", "32x32"
STATUSES = ["run", "refused", "fail", "unheld", "none"]
TOLERANCE = 1e-5
# Not graphs that are written for inference alone: with caches, or of weights in codes.
MODELS = re.compile(r"^(?!fused-genai)")
# Some of them, of all kinds, that compile within seconds.
FEW = re.compile(r"^(?!mobilevit|deepseek-v3|gpt-oss|falcon-h1|zamba2|qwen|olmo-hybrid|segformer)\S+\.dynamo-20-sdpa$|^qwen3?2?\.dynamo-20-sdpa$"
                 r"|^(gpt2|bert|distilbert|opt)\.(dynamo|script|session)|^(gpt2|bert|roberta)\.optimizer$"
                 r"|^(gpt-neox|llama|qwen2|gemma2|mixtral|bart|vit|t5)\.(script-17-eager|session)$")
NAMES = re.compile(r"'(/|node_|n\d)[^']*'|\b\d{3,}\b")  # what differs between exporters


def loss_of(result, shape):
    """Which, and its targets."""
    random = np.random.default_rng(1)
    if result != "logits" or len(shape) != 3:
        return "mean-square", random.standard_normal(shape).astype("f4")
    targets = random.integers(0, shape[-1], shape[:-1])
    targets.flat[::7] = -100
    return "cross-entropy", targets


def expected_of(model, inputs, which, targets, result, floats):
    def loss(values):
        y, t = values[result], torch_graph.tensor(targets)
        if which == "mean-square":
            return ((y - t) ** 2).mean()
        return torch.nn.functional.cross_entropy(y.flatten(0, -2), t.flatten())
    return torch_graph.gradients(model, inputs, loss, floats)


def held(outputs, number, expected, zeros):
    """The largest error, and how many gradients there are: of all but lone numbers, masks and angles, which are of four axes
    and the same for all heads, or zeros: T5's, where it attends to another text; or what angles are made of, which no module
    has as a parameter."""
    if not abs(float(outputs["loss"]) - number) <= 1e-5 * max(1, abs(number)):
        raise Failure(f"the loss is {float(outputs['loss'])}, PyTorch's {number}")
    scale = 1e-3 * max(np.abs(gradient).max() for gradient in expected.values())
    worst, count = 0.0, 0
    for name, gradient in expected.items():
        if name + ".grad" not in outputs:
            if np.abs(gradient).max() > scale and not (
                    name.endswith("inv_freq") or gradient.ndim == 4 and (gradient.shape[1] == 1 or name in zeros)):
                raise Failure(f"{name} has no gradient, PyTorch's goes up to {np.abs(gradient).max():.1e}")
            continue
        error = error_of(gradient, outputs[name + ".grad"], scale)
        if not error <= TOLERANCE:
            raise Failure(f"the gradient of {name} is off by {error:.1e}")
        worst, count = max(worst, error), count + 1
    return worst, count


def judge(name, seconds):
    path = cache() / "families" / f"{name}.onnx"
    model, _, exporter = name.partition(".")
    if path.with_suffix(".txt").exists():
        return Row(model, exporter, "none", reason="see TABLE.md")
    try:
        inputs, results = load(path.with_suffix(".npz")), load(path.with_suffix(".expected.npz"))
        given = onnx.load(path)
        result = given.graph.output[0].name
        which, targets = loss_of(result, results[result].shape)
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            for mesh in MESHES:
                fed = dict(inputs)
                refusal = compile_model(path, fed, folder, seconds, "f32", mesh=mesh,
                                        more=[f"--loss={which}", f"--loss-of={result}", "--train=*", "--gradients-as-results"])
                if not refusal or "SramOverflow" not in refusal:
                    break
            if refusal:
                return Row(model, exporter, "refused", reason=refusal)
            arrays = {i.name: numpy_helper.to_array(i) for i in given.graph.initializer}
            floats = [name for name, its in arrays.items() if its.dtype.kind == "f" and its.ndim and its.size]
            try:
                number, expected = expected_of(given, inputs, which, targets, result, floats)
            except torch_graph.Lacking as lacking:
                return Row(model, exporter, "unheld", reason=str(lacking))
            outputs = run_model(path, fed | {"targets": targets}, folder, seconds)
            worst, count = held(outputs, number, expected, [name for name in floats if not arrays[name].any()])
        return Row(model, exporter, "run", bucket(worst), f"{count}, {which}, {mesh}")
    except Failure as failure:
        return Row(model, exporter, "fail", reason=str(failure).replace("|", "\\|"))


def table(rows):
    counts = Counter(row.status for row in rows)
    lines = ["# Gradients of transformers as exporters write them", "",
             "Written by `training.py --write`, where each status and how numbers are compared is said. Models are those of",
             "[TABLE.md](TABLE.md), 2 layers each, in f32; every parameter trains but masks, angles and",
             "lone numbers.", "",
             "- all: " + ", ".join(f"{status} {counts[status]}" for status in STATUSES) + f" of {len(rows)}"]
    for status, title in (("refused", "Why models are refused"), ("unheld", "Operators that PyTorch's evaluation lacks")):
        reasons = Counter(NAMES.sub("..", row.reason) for row in rows if row.status == status)
        if reasons:
            lines += ["", f"## {title}", "", "| models | first reason |", "|---|---|"]
            lines += [f"| {count} | {reason} |" for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))]
    lines += ["", "## Models", "", "The error is a bound of the largest one over the gradient's largest element.", "",
              "| model | exporter | status | error | gradients, loss, mesh | reason |", "|---|---|---|---|---|---|"]
    return "\n".join(lines + [row.text() for row in rows]) + "\n"


def main():
    parser = table_parser(__doc__)
    parser.set_defaults(seconds=600)  # where 8x8 PEs are too few, that takes a minute to find
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    chosen = [name for name in variants() if re.search(arguments.only or (FEW if arguments.few else MODELS), name)]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(lambda name: judge(name, arguments.seconds), chosen))
    return conclude(arguments, rows, table(rows), differences)


if __name__ == "__main__":
    sys.exit(main())
