#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles an ONNX model, runs it on the emulated wafer and compares every
output with onnxruntime: with all kernels on the whole mesh, and on the region
that the compiler chooses. The program, printed as text, must compile to the
same bytes, and its router tables must give back the streams that were routed.

  check_model.py MODEL --mesh 8x8 [--mesh 32x32] [--work DIR]

MODEL is an .onnx file, or the name of a small model of models/small_models.py,
or `minilm` for the pre-trained encoder. Passes when the largest difference is
at most --tolerance times the output's largest value, for floats, and integers
are equal. Exit code 0 or 1.

Models with floats of 16 bits are compared with a model of the same weights
that computes in f32, as the wafer does: only the rounding of the output, half
a unit in its last place, comes on top of the 1e-4 that f32 is granted. With
--native they are compared with onnxruntime computing in the model's own type.

With --predicted the cycles that the compiler predicts must be at most so many
percent off those of the run.
"""

import argparse
import json
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from onnx import helper

sys.path.insert(0, str(Path(__file__).parent / "models"))
sys.path.insert(0, str(Path(__file__).parent))
import recover_streams  # noqa: E402
import round_trip  # noqa: E402
import small_models  # noqa: E402
from commands import run  # noqa: E402


# By type of the output: 1e-4, and half a unit in the last place of the type.
TOLERANCES = {
    np.dtype(np.float32): 1e-4,
    np.dtype(np.float16): 1e-4 + 2.0**-11,
    np.dtype(ml_dtypes.bfloat16): 1e-4 + 2.0**-8,
}


# With --precision: half a unit in the last place of 1, and how many of them the
# largest value of an output may be off. Each layer rounds what it takes, its
# weights and what it makes; of the models here none has more than 8 such layers,
# and roundings of both signs add up like their square root.
UNITS = {"f32": 0.0, "f16": 2.0**-11, "bf16": 2.0**-8, "cb16": 2.0**-10}
ROUNDINGS = 8


def output_types(model):
    """The numpy type of each output that a model declares."""
    graph = onnx.load(model, load_external_data=False).graph
    return {output.name: helper.tensor_dtype_to_np_dtype(output.type.tensor_type.elem_type)
            for output in graph.output}


def load(path):
    """Tensors of an .npz file; numpy has no name for bfloat16 and says V2."""
    tensors = {}
    with np.load(path) as file:
        for name in file:
            value = file[name]
            tensors[name] = value.view(ml_dtypes.bfloat16) if value.dtype == "V2" else value
    return tensors


def compare(expected, actual, tolerance):
    """Largest difference relative to the largest value; None if shapes or
    types differ."""
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        return None
    if expected.dtype.kind in "iub":
        return 0.0 if np.array_equal(expected, actual) else float("inf")
    a, b = expected.astype(np.float64), actual.astype(np.float64)
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return float("inf")
    largest = np.nanmax(np.abs(a)) if a.size else 0.0
    difference = np.nanmax(np.abs(a - b)) if a.size else 0.0
    return float(difference / largest) if largest else float(difference)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--mesh", action="append", required=True)
    parser.add_argument("--machine", default="wse2")
    parser.add_argument("--work", default="work")
    parser.add_argument("--tolerance", type=float)
    parser.add_argument("--native", action="store_true")
    parser.add_argument("--precision", choices=list(UNITS), default="f32")
    parser.add_argument("--engine", default="burst")
    parser.add_argument("--predicted", type=float, metavar="PERCENT")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    import onnxruntime

    work = Path(arguments.work)
    work.mkdir(parents=True, exist_ok=True)
    model, inputs = small_models.obtain(arguments.model, work, arguments.seed)
    reference, reference_inputs = model, inputs
    if not arguments.native:
        reference, reference_inputs = small_models.reference(arguments.model, work,
                                                             arguments.seed)
    session = onnxruntime.InferenceSession(str(reference))
    names = [output.name for output in session.get_outputs()]
    expected = dict(zip(names, session.run(None, reference_inputs)))
    types = output_types(model)
    np.savez(work / "inputs.npz", **inputs)
    shapes = [
        f"--shape={name}={'x'.join(map(str, value.shape))}" for name, value in inputs.items()
    ]
    failed = False
    whole = [(mesh, [f"--region={mesh}"]) for mesh in arguments.mesh]
    chosen = [(f"{mesh}-chosen", []) for mesh in arguments.mesh]
    for mesh, region in [pair for both in zip(whole, chosen) for pair in both]:
        program = work / f"{mesh}.wafer"
        outputs = work / f"{mesh}.npz"
        report = work / f"{mesh}.json"
        run(["wsec", model, "-o", program, f"--mesh={mesh.partition('-')[0]}", *region,
             f"--machine={arguments.machine}", f"--precision={arguments.precision}", "--quiet",
             *shapes, f"--report={work / 'compiled.json'}",
             f"--dump-placement={work / 'placement.json'}"])
        if not region and program.read_bytes() == previous:
            continue  # the region chosen is the whole mesh
        previous = program.read_bytes()
        for problem in (round_trip.difference(program, Path(model).parent),
                        recover_streams.difference(program, work / "placement.json")[0]):
            if problem:
                print(f"{mesh}: {problem}")
                failed = True
        run(["wse-run", program, f"--weights={Path(model).parent}", "--inputs",
             work / "inputs.npz", "--outputs", outputs,
             f"--report={report}", f"--engine={arguments.engine}", "--quiet"])
        actual = load(outputs)
        cycles = json.loads(report.read_text())["cycles"]["total"]
        if arguments.predicted:
            predicted = json.loads((work / "compiled.json").read_text())["cycles"]["total"]
            off = 100 * (predicted / cycles - 1)
            good = abs(off) <= arguments.predicted
            failed |= not good
            print(f"{mesh}: predicted {predicted} cycles, {off:+.1f} % {'ok' if good else 'FAILED'}")
        for name in names:
            if name not in actual:
                print(f"{mesh} {name}: missing")
                failed = True
                continue
            tolerance = arguments.tolerance or TOLERANCES.get(types[name], 0)
            if types[name].kind == "f" and not arguments.tolerance:
                tolerance += ROUNDINGS * UNITS[arguments.precision]
            error = None
            if actual[name].dtype == types[name]:
                # Rounding what we compare with would hide as much as it shows.
                error = compare(expected[name], actual[name].astype(expected[name].dtype),
                                tolerance)
            good = error is not None and error <= tolerance
            failed |= not good
            what = "shape or type differs" if error is None else f"error {error:.2e}"
            print(f"{mesh} {name}: {what} {'ok' if good else 'FAILED'} ({cycles} cycles)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
