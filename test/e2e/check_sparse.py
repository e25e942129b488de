#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a model with --sparsity, runs it, and compares its outputs with
onnxruntime on the same model with the other weights at zero, and the words that
are streamed with the number of weights that are kept. The program, printed as
text, must compile to the same bytes.

  check_sparse.py MODEL --filter '*.weight' --mesh 5x3 [--sparsity 0.75]
      [--method topk] [--seed 3] [--engine wavelet]

--mesh, --sparsity, --method and --engine may be repeated: all are combined. All
engines give the same bits. Exit code 0 or 1.
"""

import argparse
import itertools
import json
import sys
from pathlib import Path

import numpy as np
import round_trip
from check_model import compare, load, run

sys.path.insert(0, str(Path(__file__).parent / "models"))
import small_models  # noqa: E402
import sparse_masks  # noqa: E402


def streamed(model, work, mesh, flags):
    """Compiles; bytes of weights that the program streams."""
    run(["wsec", model, "-o", work / "sparse.wafer", f"--mesh={mesh}", f"--region={mesh}", "--quiet",
         f"--report={work}/sparse.json", *flags])
    return json.loads((work / "sparse.json").read_text())["weights"]["streamed_bytes"]


def check(model, inputs, work, arguments, mesh, sparsity, method):
    import onnxruntime

    masked = work / "masked.onnx"
    total, kept = sparse_masks.mask_model(model, masked, arguments.filter, sparsity, method,
                                          arguments.seed)
    session = onnxruntime.InferenceSession(str(masked))
    names = [output.name for output in session.get_outputs()]
    expected = dict(zip(names, session.run(None, inputs)))

    dense = streamed(model, work, mesh, [])
    bytes_sparse = streamed(model, work, mesh, [
        f"--sparsity={sparsity}", f"--sparsity-method={method}", f"--sparsity-seed={arguments.seed}",
        *(f"--sparsity-filter={glob}" for glob in arguments.filter)])
    # Four bytes a value and two an index, which come in pairs.
    record = dense - 4 * total + 6 * kept
    good = record <= bytes_sparse <= record * 1.1
    if problem := round_trip.difference(work / "sparse.wafer", Path(model).parent):
        print(f"{mesh}: {problem}")
        good = False
    text = f"{mesh} {method} {sparsity}: {kept} of {total} kept, {bytes_sparse} for {dense} bytes"
    bits = None
    for engine in arguments.engine or ["wavelet"]:
        run(["wse-run", work / "sparse.wafer", f"--weights={Path(model).parent}", "--inputs",
             work / "inputs.npz", "--outputs", work / "out.npz", f"--engine={engine}",
             f"--report={work}/run.json", "--quiet"])
        actual = load(work / "out.npz")
        errors = [compare(expected[name], actual[name], 1e-4) for name in names]
        good &= all(error is not None and error <= 1e-4 for error in errors)
        now = b"".join(actual[name].tobytes() for name in names)
        good &= bits in (None, now)
        bits = now
        cycles = json.loads((work / "run.json").read_text())["cycles"]["total"]
        text += f", {engine} error {max(errors):.1e} in {cycles} cycles"
    print(text, "ok" if good else "FAILED", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--filter", action="append", required=True)
    for flag, kind in (("mesh", str), ("sparsity", float), ("method", str), ("engine", str)):
        parser.add_argument(f"--{flag}", action="append", type=kind)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", default="work")
    arguments = parser.parse_args()
    work = Path(arguments.work)
    work.mkdir(parents=True, exist_ok=True)
    model, inputs = small_models.obtain(arguments.model, work)
    np.savez(work / "inputs.npz", **inputs)
    results = [check(model, inputs, work, arguments, *case) for case in itertools.product(
        arguments.mesh, arguments.sparsity or [0.75], arguments.method or ["random"])]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
