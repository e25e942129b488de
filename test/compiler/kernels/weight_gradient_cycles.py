# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cycles of one gradient of a weight, whose operands are on the wafer, on strips.

usage: weight_gradient_cycles.py WORK MESH TOKENS FEATURES FEATURES MOST [CHANNELS [small|lanes|both]]

Exit code 1 if it takes more than MOST times its lower bound, or is predicted by more than 15 % wrong.
"""

import json
import os
import sys

import numpy as np
from kernel_programs import Program, call


def main():
    work, mesh, (tokens, moves, stays), most = sys.argv[1], sys.argv[2], map(int, sys.argv[3:6]), float(sys.argv[6])
    channels, form = (sys.argv[7:] + ["", ""])[:2]
    machine = json.dumps({"base": "wse2", "channels": int(channels)}) if channels else "wse2"
    engine = os.environ.get("ENGINE", "strips")
    program, random = Program(mesh, machine, engine), np.random.default_rng(1)
    encoding = program.encoding(1, tokens)
    x, dy = (random.standard_normal((1, tokens, size)).astype(np.float32) for size in (moves, stays))
    program.weight_gradient(program.load("dy", dy, encoding), program.load("x", x, encoding), "w", x[0].T @ dy[0], small=form in ("small", "both"), lanes=form in ("lanes", "both"))
    error = program.run(work)
    assert error < 1e-5, error
    report = f"{work}/compiled.json"
    call(["wsec", f"{work}/program.mlir", "-o", f"{work}/program.wafer", "--quiet", f"--report={report}"])
    with open(report, encoding="utf-8") as file:
        compiled = json.load(file)
    with open(f"{work}/{engine}.json", encoding="utf-8") as file:
        cycles = json.load(file)["cycles"]["per_kernel"]
    number, kernel = next((i, k) for i, k in enumerate(compiled["kernels"]) if k["kind"] == "weight_gradient")
    times, off = cycles[number] / kernel["lower_bound_cycles"], kernel["cycles"] / cycles[number] - 1
    print(f"{moves}x{stays}, {tokens} tokens, {mesh}: {cycles[number]:.0f} cycles, {times:.2f} times its bound, predicted {100 * off:+.1f} %; "
          f"deadlock {compiled['deadlock']['verdict']}")
    return times > most or abs(off) > 0.15 or compiled["deadlock"]["verdict"] != "free"


if __name__ == "__main__":
    sys.exit(main())
