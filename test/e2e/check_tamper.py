#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows that the emulator executes the .wafer file: changes one thing at a
time and looks what a run makes of it.

  check_tamper.py --work DIR KIND   (route, address, length, constant or
                                    weight)

Every change must end in a named error or in other numbers; a change that a
run does not notice (a buffer nobody reads any more, say) is counted apart, and
a crash fails. Prints the counts.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "models"))
import small_models  # noqa: E402

NAMED = re.compile(r"\b(SramOverflow|MissingRoute|RouteConflict|OutOfBounds|UninitializedRead|"
                   r"Deadlock|DataRace|MicrothreadBusy|UnreadTraffic|BadProgram|WeightFileChanged|BadTensor)\b")


def execute(program, work):
    outputs = work / "out.npz"
    outputs.unlink(missing_ok=True)
    result = subprocess.run(
        ["wse-run", program, "--inputs", work / "in.npz", "--outputs", outputs, "--quiet"],
        capture_output=True, text=True, check=False, timeout=300)
    if result.returncode == 0:
        return dict(np.load(outputs)), None
    if result.returncode != 1 or outputs.exists():
        raise SystemExit(f"exit code {result.returncode}: {result.stderr}")
    return None, result.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind")
    parser.add_argument("--work", required=True)
    parser.add_argument("--model", default="perceptron")
    parser.add_argument("--mesh", default="5x4")
    parser.add_argument("--most", type=int, default=60)
    arguments = parser.parse_args()
    work = Path(arguments.work)
    work.mkdir(parents=True, exist_ok=True)
    model, inputs = small_models.obtain(arguments.model, work)
    np.savez(work / "in.npz", **inputs)
    program, changed = work / "good.wafer", work / "changed.wafer"
    subprocess.run(["wsec", model, "-o", program, f"--mesh={arguments.mesh}", "--bundle",
                    "--quiet"], check=True)
    model.unlink()  # a bundled program needs nothing else
    good, error = execute(program, work)
    if error:
        raise SystemExit(error)
    refused = other = unnoticed = 0
    for number in range(arguments.most):
        # The last byte of a word: sign and exponent, which rounding cannot hide.
        index = number * 132 + 3 if arguments.kind in ("constant", "weight") else number
        step = subprocess.run(["wafer-tamper", program, changed, arguments.kind, str(index)],
                              capture_output=True, text=True, check=False)
        if step.returncode == 3:
            break
        if step.returncode:
            raise SystemExit(f"wafer-tamper failed: {step.stderr}")
        result, error = execute(changed, work)
        if error is not None:
            if not NAMED.search(error):
                raise SystemExit(f"{step.stdout}: not a named error: {error}")
            refused += 1
        elif any(not np.array_equal(good[n], result[n], equal_nan=True) for n in good):
            other += 1
        else:
            unnoticed += 1
            print("unnoticed:", step.stdout.strip())
    print(f"{arguments.kind}: {refused} refused by name, {other} with other numbers, "
          f"{unnoticed} unnoticed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
