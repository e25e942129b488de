#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs what exporters write of transformers on a mesh of 8x8 PEs.

  families.py --table TABLE.md --write     run all, write the table
  families.py --table TABLE.md             run all, name the rows that differ
  families.py --only REGEX [--table ...]   some of them
  families.py --few [--table ...]          three exporters, and the fused graphs
  families.py --precision f16 --only REGEX        in 16 bits, without a table

The models are those of make_families.py, in its cache. Each ends in one status:

  run      with onnxruntime's numbers
  refused  by a named reason before anything ran
  fail     wrong numbers, a crash, time-out, or an error without our wording
  none     the exporter, or onnxruntime, gave up; the reason is their own

Outputs have to have onnxruntime's shapes and types; floats may differ by 1e-4 of
the output's largest value, in 16 bits by 32 units in the last place, integers not
at all. Exit code 1 if a model fails or
a row differs from the table.
"""

import json
import re
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "models"), str(HERE.parents[1] / "conformance")]
from conformance import (Failure, call, conclude, refusal_of, require_success,  # noqa: E402
                         table_parser, tool)
from make_families import cache, variants  # noqa: E402

MESH = "8x8"
STATUSES = ["run", "refused", "fail", "none"]
TOLERANCES = {"f32": 1e-4, "f16": 32 * 2.0**-11, "bf16": 32 * 2.0**-8}
# Of experts and of recurrences three models each, by one exporter.
FEW = re.compile(r"^(?!\S+-moe|mixtral|gpt-oss|deepseek|llama4|\S*mamba|bamba|falcon|jamba|zamba|nemotron|lfm|rwkv"
                 r"|recurrent|xlstm|minimax|qwen3-|olmo)\S+\.(dynamo-20-sdpa|script-14-sdpa-dynamic|session)$|^fused"
                 r"|^(mixtral|gpt-oss|deepseek-v3|mamba2|lfm2|qwen3-next)\.dynamo-20-sdpa$")


@dataclass(frozen=True)
class Row:
    model: str
    exporter: str
    status: str
    error: str = ""       # bound of the largest difference over the largest value
    recognized: str = ""  # kernels of attention and norms
    reason: str = ""

    def text(self):
        return (f"| {self.model} | {self.exporter} | {self.status} | {self.error} | "
                f"{self.recognized} | {self.reason} |")


def bucket(error):
    """A power of ten that does not change with every reordering of a sum."""
    bound = 1e-7
    while error > bound:
        bound *= 10
    return f"<= {bound:.0e}" if error else "0"


def difference(name, expected, actual, tolerance):
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        raise Failure(f"{name} is {actual.dtype}{list(actual.shape)}, expected "
                      f"{expected.dtype}{list(expected.shape)}")
    if expected.size == 0:
        return 0.0
    if expected.dtype.kind in "iub":
        if not np.array_equal(actual, expected):
            raise Failure(f"wrong numbers in {name}")
        return 0.0
    if not np.array_equal(np.isnan(expected), np.isnan(actual)):
        raise Failure(f"{name}: not a number in {np.isnan(actual).sum()} places, expected "
                      f"in {np.isnan(expected).sum()}")
    largest = np.nanmax(np.abs(expected))
    error = float(np.nanmax(np.abs(actual - expected)) / (largest or 1))
    if not error <= tolerance:
        raise Failure(f"wrong numbers in {name}: off by {error:.1e} of the largest")
    return error


def load(path):
    with np.load(path) as file:
        return {name: file[name] for name in file}


def compile_model(path, inputs, folder, seconds, precision, mesh=MESH, mode="stream", prefix=(), more=()):
    """Compiles; inputs that are bound leave `inputs`. Returns the refusal, or None."""
    bound = path.with_suffix(".bind")
    flags = []
    for name in bound.read_text().split() if bound.exists() else ():
        np.save(folder / f"{name}.npy", inputs.pop(name))
        flags.append(f"--bind={name}={folder / f'{name}.npy'}")
    flags += [f"--shape={name}={'x'.join(map(str, value.shape))}"
              for name, value in inputs.items() if value.ndim]
    result = call([*prefix, tool("wsec"), str(path), "-o", str(folder / "model.wafer"), f"--mesh={mesh}",
                   f"--mode={mode}", f"--precision={precision}", "--quiet", f"--report={folder / 'compile.json'}",
                   *flags, *more], seconds)
    return refusal_of(result)


def run_model(path, inputs, folder, seconds):
    np.savez(folder / "in.npz", **inputs)
    result = call([tool("wse-run"), str(folder / "model.wafer"), f"--weights={path.parent}",
                   f"--inputs={folder / 'in.npz'}", f"--outputs={folder / 'out.npz'}", "--quiet"],
                  seconds)
    require_success("wse-run", result)
    return load(folder / "out.npz")


def reason_of_none(path):
    """Why there is no model: the exporter's words; None where there is one."""
    if path.with_suffix(".txt").exists():
        return path.with_suffix(".txt").read_text().strip().replace("|", "\\|")
    if not path.exists():
        raise SystemExit(f"no {path}; run make_families.py first")
    return None


def run_and_compare(path, seconds, precision, mesh=MESH):
    """The refusal, the largest difference, and what was recognized."""
    inputs = load(path.with_suffix(".npz"))
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        refusal = compile_model(path, inputs, folder, seconds, precision, mesh)
        if refusal:
            return refusal, 0.0, ""
        outputs = run_model(path, inputs, folder, seconds)
        report = json.loads((folder / "compile.json").read_text())
    worst = 0.0
    for key, value in load(path.with_suffix(".expected.npz")).items():
        if key not in outputs:
            raise Failure(f"{key} is missing")
        worst = max(worst, difference(key, value, outputs[key], TOLERANCES[precision]))
    return None, worst, recognized(report)


def judge(name, seconds, precision):
    """The row of a model."""
    path = cache() / "families" / f"{name}.onnx"
    model, _, exporter = name.partition(".")
    none = reason_of_none(path)
    if none:
        return Row(model, exporter, "none", reason=none)
    try:
        refusal, worst, kernels = run_and_compare(path, seconds, precision)
        if refusal:
            return Row(model, exporter, "refused", reason=refusal)
        return Row(model, exporter, "run", bucket(worst), kernels)
    except Failure as failure:
        return Row(model, exporter, "fail", reason=str(failure).replace("|", "\\|"))


# Kernels of what was recognized; the last one is of attention that was not.
KINDS = {"attention": "attention", "layer_norm": "norm", "rms_norm": "norm",
         "rotary": "rotary", "softmax": "softmax outside of attention"}


def recognized(report):
    counts = Counter(KINDS[kernel["kind"]] for kernel in report["kernels"]
                     if kernel["kind"] in KINDS)
    return ", ".join(f"{counts[name]} {name}" for name in dict.fromkeys(KINDS.values())
                     if counts[name])


HEAD = ["# Transformers as exporters write them, on a mesh of 8x8 PEs", "",
        "Written by `families.py --write`. What each status means and how numbers are",
        "compared is said there; `architectures.py` has the models, `make_families.py` the",
        "exporters, `fused_graphs.py` the graphs of fused operators.", ""]


def table(rows, head=HEAD):
    counts, lines = Counter(row.status for row in rows), list(head)
    split = ", ".join(f"{status} {counts[status]}" for status in STATUSES)
    lines.append(f"- all: {split} of {len(rows)}")
    reasons = Counter(row.reason for row in rows if row.status == "refused")
    if reasons:
        lines += ["", "## Why models are refused", "", "| models | first reason |", "|---|---|"]
        lines += [f"| {count} | {reason} |" for reason, count in
                  sorted(reasons.items(), key=lambda item: (-item[1], item[0]))]
    lines += ["", "## Models", "",
              "The error is a bound of the largest difference over the output's largest value.", "",
              "| model | exporter | status | error | recognized | reason |",
              "|---|---|---|---|---|---|"]
    lines += [row.text() for row in rows]
    return "\n".join(lines) + "\n"


def without_error(line):
    """A row but for its error, which is also onnxruntime's on this processor, and bytes, which are the precision's."""
    cells = re.sub(r"\b\d+ (bytes|of code|(are )?in use)", "bytes", line).split("|", 5)
    return cells[:4] + cells[5:]


def differences(rows, text):
    """Rows that are not in the table as they are, whatever their error."""
    known = {tuple(line.split(" | ")[:2]): line for line in text.split("\n")
             if line.count(" | ") > 3}
    for row in rows:
        line = known.get((f"| {row.model}", row.exporter), "nothing")
        if without_error(line) != without_error(row.text()):
            yield f"- {line}\n+ {row.text()}"


def main():
    parser = table_parser(__doc__)
    parser.add_argument("--precision", choices=list(TOLERANCES), default="f32")
    arguments = parser.parse_args()
    chosen = [name for name in variants() if re.search(arguments.only, name)
              and (FEW.search(name) or not arguments.few)]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(lambda name: judge(name, arguments.seconds, arguments.precision),
                             chosen))
    return conclude(arguments, rows, table(rows), differences)


if __name__ == "__main__":
    sys.exit(main())
