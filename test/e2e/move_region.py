#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Moves the region of a placed program by hand.

  move_region.py MODEL... --mesh 9x8 --region 4x3 --at 0,0 [--at 5,2] --work DIR

Everywhere a program that all engines run to the same bits, but whose files
differ; beyond the mesh a refusal. Exit code 0 or 1.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "models"))
import small_models  # noqa: E402
from commands import run  # noqa: E402

ENGINES = ("wavelet", "strips")


def place(model, inputs, mesh, region, work):
    """The text of the placed program."""
    placed = work / "placed.mlir"
    shapes = [f"--shape={name}={'x'.join(map(str, value.shape))}"
              for name, value in inputs.items()]
    run(["wsec", model, f"--mesh={mesh}", f"--region={region}", "--stop-after=place",
         "--print-constants", "-o", placed, *shapes])
    return placed.read_text()


def at(text, x, y):
    """The program with its region at (x, y)."""
    moved, count = re.subn(r"(region @\w+ shape\(\d+x\d+\)) at \(\d+, \d+\)",
                           rf"\1 at ({x}, {y})", text)
    assert count == 1
    return moved


def outputs_at(text, origin, folder, work):
    """Bytes of the outputs by engine, and of the program, moved to `origin`."""
    x, y = origin
    moved, program = work / "moved.mlir", work / f"{x}-{y}.wafer"
    moved.write_text(at(text, x, y))
    report = work / "compile.json"
    run(["wsec", moved, "-o", program, "--quiet", f"--weights={folder}", f"--report={report}"])
    where = json.loads(report.read_text())
    assert where["region"]["at"] == [x, y], where["region"]
    assert all(kernel["region"][:2] == [x, y] for kernel in where["kernels"])
    outputs = {}
    for engine in ENGINES:
        path = work / f"{engine}.npz"
        run(["wse-run", program, f"--weights={folder}", "--inputs", work / "inputs.npz",
             "--outputs", path, f"--engine={engine}", "--quiet"])
        with np.load(path) as file:
            outputs[engine] = {name: file[name].tobytes() for name in file}
    return outputs, program.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="+")
    parser.add_argument("--mesh", required=True)
    parser.add_argument("--region", required=True)
    parser.add_argument("--at", action="append", required=True)
    parser.add_argument("--work", default="work")
    arguments = parser.parse_args()
    work = Path(arguments.work)
    work.mkdir(parents=True, exist_ok=True)
    origins = [tuple(map(int, at.split(","))) for at in arguments.at]
    failed = False
    for name in arguments.model:
        model, inputs = small_models.obtain(name, work, 0)
        np.savez(work / "inputs.npz", **inputs)
        text = place(model, inputs, arguments.mesh, arguments.region, work)
        runs = [outputs_at(text, origin, Path(model).parent, work) for origin in origins]
        values = [outputs[engine] for outputs, _ in runs for engine in ENGINES]
        same = all(value == values[0] for value in values)
        different = len({program for _, program in runs}) == len(origins)
        print(f"{name}: {len(origins)} places, {'the same' if same else 'DIFFERENT'} values of "
              f"{len(ENGINES)} engines, {'other' if different else 'THE SAME'} files")
        failed |= not (same and different)
        width = int(arguments.mesh.partition("x")[0])
        (work / "off.mlir").write_text(at(text, width, 0))
        off = subprocess.run(["wsec", work / "off.mlir", "-o", work / "off.wafer"],
                             capture_output=True, text=True, check=False)
        if off.returncode != 1 or "does not fit the mesh" not in off.stderr:
            print(f"{name}: not refused beyond the mesh: {off.stderr}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
