#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a compiled model on some engines: the outputs have the same bits, and
the PEs execute the same instructions; with --counters every PE does, and every
link carries the same words, and the traces are well formed.

  check_engines.py MODEL... --mesh 4x4 [--mesh 8x8] [--engine NAME[:LOW:HIGH] ...]
                            [--reference wavelet] [--counters] [--work DIR]

A MODEL is an .onnx file with its inputs beside it as .npz, or a name of
models/small_models.py. Prints the cycles of each, by how much an --engine is off
those of wavelet (or of --reference), and how many vector instructions and
elements per second, of all PEs together. LOW:HIGH: by how many percent it may
be off. Exit code 0 or 1.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "models"))
sys.path.insert(0, str(Path(__file__).parent))
import small_models  # noqa: E402
from check_model import run  # noqa: E402

CHECK_COUNTERS = Path(__file__).resolve().parents[1] / "check_counters.py"
CHECK_TRACE = Path(__file__).resolve().parents[1] / "check_trace.py"


def obtain(name, work):
    """The model's file and its inputs."""
    if not name.endswith(".onnx"):
        return small_models.obtain(name, work, 0)
    with np.load(Path(name).with_suffix(".npz")) as file:
        names = {value.name for value in small_models.onnx.load(
            name, load_external_data=False).graph.input}
        return name, {key: file[key] for key in file if key in names}


def run_engine(engine, program, weights, work, observed):
    """Report and output bytes of one run."""
    npz, report = work / f"{engine}.npz", work / f"{engine}.json"
    command = ["wse-run", program, f"--weights={weights}", "--inputs", work / "inputs.npz", f"--engine={engine}",
               "--outputs", npz, f"--report={report}", "--quiet"]
    if observed:
        trace = work / f"{engine}-trace.json"
        run([*command, f"--counters={work / engine}-counters.json", f"--trace={trace}"])
        run([sys.executable, CHECK_TRACE, trace])
    else:
        run(command)
    with np.load(npz) as file:
        return json.loads(report.read_text()), {name: file[name].tobytes() for name in file}


def speed(report):
    seconds = report["time"]["emulate_s"]
    work = report["work"]
    return (f"{work['instructions'] / seconds:.2g} instructions/s, "
            f"{work['elements'] / seconds:.2g} elements/s")


def check(model, mesh, engines, reference, observed, work):
    """Whether the engines agree with the reference on a model."""
    work.mkdir(parents=True, exist_ok=True)
    path, inputs = obtain(model, work)
    np.savez(work / "inputs.npz", **inputs)
    shapes = [
        f"--shape={name}={'x'.join(map(str, value.shape))}" for name, value in inputs.items()
    ]
    program = work / "program.wafer"
    run(["wsec", path, "-o", program, f"--mesh={mesh}", f"--region={mesh}", "--quiet", *shapes])
    expected, expected_outputs = run_engine(reference, program, Path(path).parent, work, observed)
    agree = True
    for engine, low, high in engines:
        found, found_outputs = run_engine(engine, program, Path(path).parent, work, observed)
        if observed:
            run([sys.executable, CHECK_COUNTERS, work / f"{engine}-counters.json",
                 work / f"{reference}-counters.json"])
        same = found_outputs == expected_outputs and found["work"] == expected["work"]
        cycles = [report["cycles"]["total"] for report in (found, expected)]
        off = 100 * (cycles[0] / cycles[1] - 1)
        inside = low <= off <= high
        agree &= same and inside
        print(f"{Path(model).stem} {mesh}: {'equal' if same else 'DIFFERENT'}, "
              f"{reference} {cycles[1]:.0f} cycles ({speed(expected)}), "
              f"{engine} {cycles[0]:.0f} ({speed(found)}), {off:+.1f} %"
              f"{'' if inside else f' OUTSIDE {low:g} to {high:g} %'}", flush=True)
    return agree


def engine_within(text):
    name, *band = text.split(":")
    low, high = map(float, band or (-100, 1000))
    return name, low, high


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="+")
    parser.add_argument("--mesh", action="append", required=True)
    parser.add_argument("--engine", nargs="+", type=engine_within, default=[engine_within("burst")],
                        metavar="NAME[:LOW:HIGH]")
    parser.add_argument("--reference", default="wavelet")
    parser.add_argument("--counters", action="store_true")
    parser.add_argument("--work", default="work")
    arguments = parser.parse_args()
    agree = [check(model, mesh, arguments.engine, arguments.reference, arguments.counters,
                   Path(arguments.work) / f"{Path(model).stem}-{mesh}")
             for model in arguments.model for mesh in arguments.mesh]
    return 0 if all(agree) else 1


if __name__ == "__main__":
    sys.exit(main())
