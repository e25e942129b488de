#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Splits batches over several emulated wafers: outputs have the bits of one
wafer that makes the calls one by one, and weights leave the store once a pass.

  check_systems.py MODEL --mesh 4x4 --systems 1,2,3 [--calls 5] [--engine burst] [--threads 2]
                   [--launch "mpirun -np {}"] [--work DIR]

A MODEL is a name of models/small_models.py. With --launch a run is launched by
that command, and is told no --num-systems. Exit code 0 or 1.
"""

import argparse
import json
import shlex
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "models"))
sys.path.insert(0, str(Path(__file__).parent))
import small_models  # noqa: E402
from check_model import run  # noqa: E402

CHECK_REPORT = Path(__file__).resolve().parents[1] / "check_report.py"


def depth_of(systems):
    depth = 0
    while 4 ** depth < systems:
        depth += 1
    return depth


def check_counters(report, alone, calls, number):
    """What is wrong with the counters of a run on `number` systems."""
    systems, passes = report["systems"], -(-calls // number)
    wrong = []

    def same(what, found, expected):
        if found != expected:
            wrong.append(f"{what} is {found}, expected {expected}")

    same("num_systems", systems["num_systems"], number)
    same("passes", systems["passes"], passes)
    same("calls of systems", [s["calls"] for s in systems["per_system"]],
         [calls // number + (i < calls % number) for i in range(number)])
    # Cycles of compiled programs depend on no data.
    total = alone["cycles"]["total"]
    same("cycles of a call", report["cycles"]["total"], total)
    for what, expected in ("cycles", passes), ("one_system_cycles", calls):
        if abs(systems[what] - expected * total) > expected / 2:  # `total` is rounded
            wrong.append(f"{what} is {systems[what]}, expected {expected * total}")
    same("depth", systems["tree"]["depth"], depth_of(number))
    edges = systems["tree"]["edges"]
    pass_bytes = systems["root_bytes"] // passes
    same("root_bytes", systems["root_bytes"], passes * pass_bytes)
    same("bytes below the store", edges[-1]["bytes"], systems["root_bytes"])
    for edge, system in zip(edges, systems["per_system"]):
        same(f"bytes to {edge['to']}", edge["bytes"], system["calls"] * pass_bytes)
    # All weights, but rows that an input selects, go through the tree.
    gathered = alone["weights"]["streamed_bytes"] - pass_bytes
    if not 0 <= gathered * passes <= systems["per_system"][0]["own_bytes_in"]:
        wrong.append(f"{pass_bytes} bytes a pass of {alone['weights']['streamed_bytes']}")
    return pass_bytes, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--mesh", default="4x4")
    parser.add_argument("--systems", default="1,2,3")
    parser.add_argument("--calls", type=int, default=5)
    parser.add_argument("--engine", default="burst")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--launch")
    parser.add_argument("--work", type=Path, default=Path("."))
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    model, _ = small_models.obtain(args.model, args.work, 0)
    program = args.work / "model.wafer"
    run(["wsec", model, f"--mesh={args.mesh}", "-o", program, "--quiet"])
    each = [small_models.random_inputs(model, 100 + i) for i in range(args.calls)]
    np.savez(args.work / "batch.npz", **{name: np.concatenate([call[name] for call in each])
                                         for name in each[0]})
    common = [program, f"--weights={Path(model).parent}", f"--engine={args.engine}",
              f"--threads={args.threads}", "--quiet"]

    # One by one on one wafer; of a long batch the ends.
    parts, alone = {}, None
    for i in sorted({*range(min(args.calls, 5)), args.calls - 1}):
        np.savez(args.work / "one.npz", **each[i])
        run(["wse-run", *common, "--inputs", args.work / "one.npz",
             "--outputs", args.work / "one-out.npz", f"--report={args.work}/one.json"])
        with np.load(args.work / "one-out.npz") as file:
            parts[i] = {name: file[name] for name in file}
        alone = json.loads((args.work / "one.json").read_text())

    first, pass_bytes, bad = None, None, False
    for number in map(int, args.systems.split(",")):
        out, report = args.work / f"out-{number}.npz", args.work / f"report-{number}.json"
        launch = shlex.split(args.launch.format(number)) if args.launch else []
        split = [] if args.launch else [f"--num-systems={number}"]
        run([*launch, "wse-run", *common, *split, "--inputs", args.work / "batch.npz",
             "--outputs", out, f"--report={report}"])
        run([sys.executable, CHECK_REPORT, report])
        found, wrong = check_counters(json.loads(report.read_text()), alone, args.calls, number)
        pass_bytes = pass_bytes or found
        if found != pass_bytes:
            wrong.append(f"{found} bytes leave the store in a pass, not {pass_bytes}")
        with np.load(out) as file:
            outputs = {name: file[name] for name in file}
        for i, part in parts.items():
            for name, expected in part.items():
                rows = expected.shape[0]
                if outputs[name][i * rows:(i + 1) * rows].tobytes() != expected.tobytes():
                    wrong.append(f"call {i}: {name} has other bits than alone")
        content = {name: value.tobytes() for name, value in outputs.items()}
        first = first or content
        if content != first:
            wrong.append("outputs have other bits than on fewer systems")
        bad |= bool(wrong)
        print(f"{args.model}, {number} systems: {'; '.join(wrong) if wrong else 'ok'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
