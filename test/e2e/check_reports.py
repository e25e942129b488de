#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs small models and checks both reports, and the cycles that
the cost model predicts against those of the engine with finite queues:
check_reports.py FOLDER."""

import json
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path += [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent / "models")]
import check_report  # noqa: E402
import small_models  # noqa: E402

# On 32x32 and 64x8 PEs with one token in a row, and in rows without any, products are predicted up to 19 %
# too slow; stores of 5 % of the time and attention of 3 columns miss by more. All else here is within 10 %.
CASES = (("perceptron", "1x1"), ("perceptron", "8x8"), ("matmul", "4x2"), ("attention", "4x4"),
         ("gpt", "8x8"), ("gpt", "5x3"), ("gpt-batch", "3x2"), ("attention", "8x8"), ("wide", "13x7"),
         ("small-layer", "16x16"), ("gpt", "13x7"), ("gpt-batch", "8x8"), ("gpt", "16x16"), ("gpt", "32x4"),
         ("gpt-batch", "32x4"), ("matmul", "4x4"), ("matmul", "16x16"), ("wide", "32x4"), ("wide", "16x16"),
         ("perceptron", "32x4"), ("encoder-layer", "8x8"), ("encoder-layer", "32x4"), ("encoder-layer", "13x7"),
         ("small-layer", "32x4"), ("attention", "32x32"), ("gpt", "32x32"))


def errors(compiled, ran):
    """Share of the run, percent by which the prediction is off, and name of each kernel that takes 2 % of it."""
    total = ran["cycles"]["total"]
    return [(kernel["cycles"] / total, 100 * (guess["cycles"] / kernel["cycles"] - 1), kernel["name"])
            for guess, kernel in zip(compiled["kernels"], ran["kernels"]) if kernel["cycles"] >= 0.02 * total]


def main():
    folder = Path(sys.argv[1])
    schema = check_report.schema()
    same, predicted = True, []
    for name, mesh in CASES:
        model, inputs = small_models.obtain(name, folder, 0)
        np.savez(folder / "inputs.npz", **inputs)
        shapes = [f"--shape={key}={'x'.join(map(str, value.shape))}"
                  for key, value in inputs.items()]
        subprocess.run(["wsec", model, "-o", folder / "p.wafer", f"--mesh={mesh}", *shapes,
                        "--quiet", f"--report={folder}/compile.json"], check=True)
        subprocess.run(["wse-run", folder / "p.wafer", "--inputs", folder / "inputs.npz",
                        "--engine=wavelet", "--quiet", f"--report={folder}/run.json"], check=True)
        compiled, ran = (json.loads((folder / file).read_text())
                         for file in ("compile.json", "run.json"))
        for file, report in (("compile.json", compiled), ("run.json", ran)):
            wrong = (check_report.findings(report, schema)
                     or check_report.inconsistencies(report))
            print(f"{name} {mesh} {file}: {'; '.join(wrong) or 'ok'}")
        kernels = errors(compiled, ran)
        predicted += kernels
        wrong = [f"{kernel} {off:+.1f} %" for share, off, kernel in kernels if share >= 0.05 and abs(off) > 10]
        print(f"{name} {mesh} predicted within 10 %: {'; '.join(wrong) or 'ok'}")
        assert compiled["sram"].pop("code_bytes") > 0  # wsec alone says it
        compiled["sram"].pop("kept_bytes")  # so it does of this
        assert ran["sram"].pop("written_bytes") <= ran["sram"]["peak_bytes"]  # and that wse-run on wavelet
        same &= all(compiled[key] == ran[key] for key in ("model", "machine", "pes", "sram",
                                                          "weights"))
    median = statistics.median(abs(off) for _, off, _ in predicted)
    print(f"median of {len(predicted)} predictions within 5 %: {'ok' if median <= 5 else f'{median:.1f} %'}")
    print(f"{'same' if same else 'DIFFERENT'} weights and SRAM in both reports")


if __name__ == "__main__":
    main()
