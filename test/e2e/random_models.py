#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random small models on random meshes, compared with onnxruntime.

  random_models.py --count 60 [--seed 0] [--work DIR] [--only FAMILY]

Model number i is the same for the same seed, and is kept in DIR if it fails.
A refusal (wsec says which operators it cannot map, or that a PE is too small)
is counted; a wrong number or shape, a crash, an error of the compiler about
itself, or a program that wse-run does not finish is a failure. Exit code 0 or 1.
"""

import argparse
import collections
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "models"))
import check_model  # noqa: E402
import round_trip  # noqa: E402
from random_graphs import FAMILIES, RandomModel  # noqa: E402

TOLERANCE = 1e-4
# Outputs this small are what is left of larger numbers.
SMALLEST_SCALE = 0.05
# What wsec says when it refuses a model.
REFUSALS = (": node", " nodes", "bytes of SRAM", "SramOverflow")


def expected_of(path, inputs):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs)))


def difference(expected, actual):
    """As check_model's, but for results of a cancellation."""
    error = check_model.compare(expected, actual, TOLERANCE)
    if error is None or not np.isfinite(error) or not expected.size:
        return error
    largest = float(np.nanmax(np.abs(expected)))
    return error * min(1.0, (largest or 1.0) / SMALLEST_SCALE)


def run_one(seed, index, only, work):
    """What became of model `index`: a word and an explanation."""
    model = RandomModel([seed, index])
    family = only or FAMILIES[index % len(FAMILIES)]
    width, height = model.pick((1, 1), *[(w, h) for w in range(1, 10) for h in range(1, 8)])
    where = f"{index} ({family}, {width}x{height})"
    base = work / f"{seed}-{index}"
    path, program = base.with_suffix(".onnx"), base.with_suffix(".wafer")
    inputs, outputs = base.with_suffix(".npz"), work / f"{seed}-{index}-out.npz"
    model.write(path, model.build(family))
    np.savez(inputs, **model.values)
    expected = expected_of(path, model.values)
    mesh = [f"--mesh={width}x{height}"]
    if index % 3:  # else the compiler chooses
        region = model.pick((width, height), (width, height),
                            (1 + index % width, 1 + index // 2 % height))
        mesh.append(f"--region={region[0]}x{region[1]}")
    compiled = subprocess.run(["wsec", path, "-o", program, *mesh, "--quiet"],
                              capture_output=True, text=True, check=False)
    if compiled.returncode == 1 and any(text in compiled.stderr for text in REFUSALS):
        for file in (path, inputs):
            file.unlink()
        return "refused", where, compiled.stderr
    if compiled.returncode:
        return "crashed", where, f"wsec exit {compiled.returncode}\n{compiled.stderr[-2000:]}"
    if problem := round_trip.difference(program):
        return "wrong", where, problem
    ran = subprocess.run(["wse-run", program, "--inputs", inputs, "--outputs", outputs,
                          "--quiet", "--threads=1"], capture_output=True, text=True, check=False)
    if ran.returncode:
        return "crashed", where, f"wse-run exit {ran.returncode}\n{ran.stderr[-2000:]}"
    repeated = work / f"{seed}-{index}-repeated.npz"
    subprocess.run(["wse-run", program, "--inputs", inputs, "--outputs", repeated, "--quiet",
                    "--threads=2", "--repeat=2"], check=True)
    if outputs.read_bytes() != repeated.read_bytes():
        return "wrong", where, "a replayed run gives other numbers"
    repeated.unlink()
    actual = np.load(outputs)
    for name, value in expected.items():
        error = difference(value, actual[name])
        if error is None:
            return "wrong", where, f"{name}: {value.dtype}{value.shape} became " \
                                   f"{actual[name].dtype}{actual[name].shape}"
        if not error <= TOLERANCE:
            return "wrong", where, f"{name}{value.shape}: error {error:.2e}"
    for file in (path, program, inputs, outputs):
        file.unlink()
    return "equal", where, ""


def reason(message):
    """A refusal without what is particular to one model."""
    lines = [line for line in message.splitlines() if "error:" not in line] or [message]
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'", "'...'", " ".join(lines)))[:160]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--first", type=int, default=0, help="number of the first model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=FAMILIES)
    parser.add_argument("--work", default="work")
    parser.add_argument("--reasons", action="store_true", help="list why models were refused")
    arguments = parser.parse_args()
    work = Path(arguments.work)
    work.mkdir(parents=True, exist_ok=True)
    counts, reasons = collections.Counter(), collections.Counter()
    numbers = range(arguments.first, arguments.first + arguments.count)
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 2)) as pool:
        results = pool.map(
            lambda i: run_one(arguments.seed, i, arguments.only, work), numbers)
        for word, where, explanation in results:
            counts[word] += 1
            if word == "refused":
                reasons[reason(explanation)] += 1
            elif word != "equal":
                print(f"{word}: {where}: {explanation}", flush=True)
    if arguments.reasons:
        for text, count in reasons.most_common():
            print(f"{count:5} {text}")
    print(", ".join(f"{counts[word]} {word}" for word in ("equal", "refused", "wrong", "crashed")))
    return 1 if counts["wrong"] or counts["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main())
