#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a compiled model on both engines: the outputs have the same bits, and
every PE executes the same instructions, every link carries the same words.

  check_engines.py MODEL --mesh 4x4 [--mesh 8x8] [--work DIR]

MODEL is an .onnx file with its inputs beside it as .npz, or the name of a
small model of models/small_models.py. Prints the cycles of both, and by how
much burst is off. Exit code 0 or 1.
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--mesh", action="append", required=True)
    parser.add_argument("--work", default="work")
    arguments = parser.parse_args()
    work = Path(arguments.work)
    work.mkdir(parents=True, exist_ok=True)
    model, inputs = obtain(arguments.model, work)
    np.savez(work / "inputs.npz", **inputs)
    shapes = [
        f"--shape={name}={'x'.join(map(str, value.shape))}" for name, value in inputs.items()
    ]
    failed = False
    for mesh in arguments.mesh:
        program = work / f"{mesh}.wafer"
        run(["wsec", model, "-o", program, f"--mesh={mesh}", "--quiet", *shapes])
        reports, outputs = {}, {}
        for engine in ("burst", "wavelet"):
            npz = work / f"{mesh}-{engine}.npz"
            report = work / f"{mesh}-{engine}.json"
            run(["wse-run", program, "--inputs", work / "inputs.npz", f"--engine={engine}",
                 "--outputs", npz, f"--report={report}", "--quiet",
                 f"--counters={work}/{mesh}-{engine}-counters.json",
                 f"--trace={work}/{mesh}-{engine}-trace.json"])
            run([sys.executable, CHECK_TRACE, work / f"{mesh}-{engine}-trace.json"])
            reports[engine] = json.loads(report.read_text())
            with np.load(npz) as file:
                outputs[engine] = {name: file[name].tobytes() for name in file}
        run([sys.executable, CHECK_COUNTERS, work / f"{mesh}-burst-counters.json",
             work / f"{mesh}-wavelet-counters.json"])
        same = (outputs["burst"] == outputs["wavelet"]
                and reports["burst"]["work"] == reports["wavelet"]["work"])
        failed |= not same
        burst, wavelet = (reports[engine]["cycles"]["total"] for engine in ("burst", "wavelet"))
        seconds = reports["wavelet"]["time"]["emulate_s"]
        print(f"{mesh}: {'equal' if same else 'DIFFERENT'}, wavelet {wavelet:.0f} cycles, "
              f"burst {burst:.0f} ({100 * (burst / wavelet - 1):+.1f} %), {seconds:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
