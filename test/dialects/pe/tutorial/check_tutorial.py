# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program of the tutorial on two engines, burst and wavelet, and holds
its outputs against numpy and its cycles against the table of the README.md
beside it. The program, printed as text, must compile to the same bytes.

Usage: check_tutorial.py PROGRAM.mlir WORK [TOLERANCE]. One line per engine:
its name, the cycles, and ok or what differs. Exit code 1 when anything does.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "e2e"))
import round_trip  # noqa: E402

RNG = np.random.default_rng(7)


def whole(*shape):
    """Numbers whose sums are exact, in whatever order."""
    return RNG.integers(-8, 9, shape).astype(np.float32)


def hello():
    x = whole(4, 8)
    y = x * 2 + np.arange(4, dtype=np.float32)[:, None]
    return {"x": x}, {"y": y}


def relay():
    x, bias = whole(1, 8), whole(4, 1)
    return {"x": x, "bias": bias}, {"y": x + bias.sum()}


def broadcast():
    x = whole(1, 64)
    return {"x": x}, {"y": np.repeat(x, 7, 0), "sum": np.full((7, 1), x.sum())}


def chain_reduce():
    x = whole(8, 256)
    return {"x": x}, {"y": x.sum(0, keepdims=True)}


def two_phase_reduce():
    x = whole(16, 256)
    return {"x": x}, {"y": x.sum(0, keepdims=True)}


def stencil():
    v = RNG.standard_normal((4, 4, 32)).astype(np.float32)
    wide = np.pad(v, ((1, 1), (1, 1), (0, 0)))
    around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
    return {"x": v}, {"y": v + np.float32(0.1) * (around - 4 * v)}


def wide_stencil():
    arm, up = [0.5, 0.25, 0.125, -0.0625], [-2.0, 0.5, 0.25, 0.125, -0.0625]
    v = np.pad(whole(10, 10, 32), ((0, 0), (0, 0), (4, 4)))
    y = sum(up[abs(d)] * v[:, :, 4 + d:36 + d] for d in range(-4, 5))
    wide = np.pad(v[:, :, 4:36], ((4, 4), (4, 4), (0, 0)))
    for d, c in enumerate(arm, 1):
        y += c * (wide[4 - d:14 - d, 4:14] + wide[4 + d:14 + d, 4:14]
                  + wide[4:14, 4 - d:14 - d] + wide[4:14, 4 + d:14 + d])
    return {"x": v}, {"y": y}


def gemv():
    a = RNG.standard_normal((128, 128)).astype(np.float16)
    x = RNG.standard_normal(128).astype(np.float16)
    parts = a.reshape(4, 32, 4, 32).transpose(0, 2, 3, 1)
    y = a.astype(np.float64) @ x.astype(np.float64)
    return ({"A": np.ascontiguousarray(parts), "x": x.reshape(1, 4, 32)},
            {"y": y.reshape(4, 1, 32).astype(np.float32)})


def ring_all_reduce():
    x = whole(4, 16)
    return {"x": x}, {"y": np.repeat(x.sum(0, keepdims=True), 4, 0)}


def histogram():
    x = RNG.integers(0, 32, (1, 64)).astype(np.int32)
    return {"x": x}, {"y": np.bincount(x[0], minlength=32).reshape(4, 8)}


def echo():
    x = whole(1, 8)
    return {"x": x}, {"y": np.repeat(x, 4, 0), "z": x + 1}


def mean_square():
    x = RNG.standard_normal((6, 2, 5)).astype(np.float32)
    half = x.astype(np.float16)
    y = np.zeros((2, 5), np.float32)
    for sample in list(half) * 2:
        y += (sample * sample).astype(np.float32)
    return {"x": x}, {"y": y}


def run(program, engine, inputs, work):
    report = work / f"{engine}.json"
    np.savez(work / "in.npz", **inputs)
    out = work / f"{engine}.npz"
    subprocess.run(["wse-run", program, f"--inputs={work}/in.npz", f"--outputs={out}",
                    f"--engine={engine}", f"--report={report}"],
                   check=True, stdout=subprocess.DEVNULL)
    return np.load(out), json.loads(report.read_text())["cycles"]["total"]


def difference(found, expected, tolerance):
    """What is wrong with the outputs, or None."""
    for name, values in expected.items():
        if found[name].shape != values.shape:
            return f"{name} has shape {found[name].shape}, expected {values.shape}"
        error = np.abs(found[name] - values).max()
        if not error <= tolerance:
            return f"{name} differs by {error}"
    return None


def documented_cycles(source):
    """Engine -> cycles, by the table of the tutorial."""
    table = (source.parent / "README.md").read_text()
    engines = re.search(r"^\| program \|.*\| (\w+) \| (\w+) \|$", table, re.MULTILINE)
    row = re.search(rf"^\| `{source.name}` \|.*\| (\d+) \| (\d+) \|$", table, re.MULTILINE)
    if not engines or not row:
        sys.exit(f"{source.name}: README.md has no row with its cycles")
    return dict(zip(engines.groups(), map(int, row.groups())))


def main():
    source, work = Path(sys.argv[1]), Path(sys.argv[2])
    tolerance = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
    work.mkdir(parents=True, exist_ok=True)
    program = work / "program.wafer"
    subprocess.run(["wsec", source, "-o", program], check=True, stdout=subprocess.DEVNULL)
    inputs, expected = globals()[source.stem.replace("-", "_")]()
    problem = round_trip.difference(program)
    wrong = problem is not None
    if wrong:
        print(f"{source.stem}: {problem}")
    for engine, documented in documented_cycles(source).items():
        found, cycles = run(program, engine, inputs, work)
        problem = difference(found, expected, tolerance)
        if not problem and cycles != documented:
            problem = f"README.md says {documented}"
        wrong |= problem is not None
        print(f"{source.stem} {engine}: {cycles} cycles, {problem or 'ok'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
