#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads every value of a model that PEs hold, and compares it with
onnxruntime, which gives the same tensor as a further output.

  check_values.py MODEL --mesh 8x8 [--engine wavelet] [--work DIR] [--least N]

MODEL is an .onnx file or the name of a small model. Passes when no value is off
by more than 1e-5, absolutely and of the value's largest element, and there are
at least N. Also reads one element of each with --peek. Exit code 0 or 1.
"""

import argparse
import json
import re
import sys
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).parent / "models"))
import small_models  # noqa: E402
from commands import run  # noqa: E402


def with_outputs(path, names, work):
    """The model with further outputs; types are found by onnxruntime."""
    model = onnx.load(path)
    known = {output.name for output in model.graph.output}
    for name in names:
        if name not in known:
            model.graph.output.append(onnx.ValueInfoProto(name=name))
    more = work / "with_values.onnx"
    onnx.save(model, more)
    return more


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--mesh", required=True)
    parser.add_argument("--engine", default="burst")
    parser.add_argument("--work", default="work")
    parser.add_argument("--least", type=int, default=1)
    arguments = parser.parse_args()
    import onnxruntime

    work = Path(arguments.work)
    work.mkdir(parents=True, exist_ok=True)
    model, inputs = small_models.obtain(arguments.model, work, 0)
    program = work / "values.wafer"
    np.savez(work / "values_in.npz", **inputs)
    run(["wsec", model, "-o", program, f"--mesh={arguments.mesh}", "--quiet",
        *[f"--shape={name}={'x'.join(map(str, value.shape))}" for name, value in inputs.items()]])
    values = json.loads(run(["wse-inspect", "show", program, "--values", "--json"]).stdout)
    names = [value["name"] for value in values]

    options = onnxruntime.SessionOptions()
    # As written: what onnxruntime rewrites may not have the value.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(with_outputs(model, names, work)), options)
    expected = dict(zip(names, session.run(names, inputs)))

    rng = np.random.default_rng(3)
    asked = {name: tuple(int(rng.integers(0, extent)) for extent in expected[name].shape)
             for name in names}
    files = {name: work / f"value_{i}.npy" for i, name in enumerate(names)}
    common = ["wse-run", program, f"--weights={Path(model).parent}",
              f"--inputs={work / 'values_in.npz'}", f"--engine={arguments.engine}", "--quiet"]
    text = run([*common, *[f"--output={name}={path}" for name, path in files.items()],
               *[f"--peek={name}[{','.join(map(str, asked[name]))}]" for name in names]]).stdout
    peeked = re.findall(r"^(.*)\[[0-9,]*\] = (\S+), in PE \(\d+, \d+\), element \d+ of buffer '.*', "
                        r"after launch \d+ \(kernel '.*'\)$", text, re.MULTILINE)
    failed = [name for name, _ in peeked] != names
    if failed:
        print(f"--peek says something else of {set(names) ^ {name for name, _ in peeked}}")
    worst = 0.0
    for (name, file), (_, shown) in zip(files.items(), peeked):
        found, wanted = np.load(file), np.asarray(expected[name], np.float64)
        if found.shape != wanted.shape:
            print(f"{name}: shape {found.shape}, expected {wanted.shape}")
            failed = True
            continue
        error = np.abs(found - wanted).max() / max(1.0, np.abs(wanted).max())
        worst = max(worst, error)
        if not error <= 1e-5:
            print(f"{name}: differs by {error:.2e}")
            failed = True
        if np.float32(shown) != found[asked[name]]:
            print(f"{name}{asked[name]}: --peek says {shown}, --output {found[asked[name]]}")
            failed = True
    enough = len(names) >= arguments.least
    verdict = "FAILED" if failed or not enough else "ok"
    print(f"{arguments.mesh} {arguments.engine}: {len(names)} values, worst {worst:.1e}, {verdict}")
    return 0 if verdict == "ok" else 1


if __name__ == "__main__":
    sys.exit(main())
