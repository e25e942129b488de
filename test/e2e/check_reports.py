#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs small models and checks both reports: check_reports.py FOLDER."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path += [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent / "models")]
import check_report  # noqa: E402
import small_models  # noqa: E402

CASES = (("perceptron", "1x1"), ("perceptron", "8x8"), ("matmul", "4x2"), ("attention", "4x4"),
         ("gpt", "8x8"), ("gpt", "5x3"), ("gpt-batch", "3x2"))


def main():
    folder = Path(sys.argv[1])
    schema = json.loads(check_report.SCHEMA.read_text())
    same = True
    for name, mesh in CASES:
        model, inputs = small_models.obtain(name, folder, 0)
        np.savez(folder / "inputs.npz", **inputs)
        shapes = [f"--shape={key}={'x'.join(map(str, value.shape))}"
                  for key, value in inputs.items()]
        subprocess.run(["wsec", model, "-o", folder / "p.wafer", f"--mesh={mesh}", *shapes,
                        "--quiet", f"--report={folder}/compile.json"], check=True)
        subprocess.run(["wse-run", folder / "p.wafer", "--inputs", folder / "inputs.npz",
                        "--quiet", f"--report={folder}/run.json"], check=True)
        compiled, ran = (json.loads((folder / file).read_text())
                         for file in ("compile.json", "run.json"))
        for file, report in (("compile.json", compiled), ("run.json", ran)):
            wrong = (check_report.findings(report, schema)
                     or check_report.inconsistencies(report))
            print(f"{name} {mesh} {file}: {'; '.join(wrong) or 'ok'}")
        predicted, measured = (report["cycles"]["total"] for report in (compiled, ran))
        off = predicted / measured - 1
        verdict = "ok" if abs(off) <= 0.25 else "TOO FAR"
        print(f"{name} {mesh} predicted {100 * off:+.0f} % off {verdict}")
        same &= all(compiled[key] == ran[key] for key in ("model", "machine", "pes", "sram",
                                                          "weights"))
    print(f"{'same' if same else 'DIFFERENT'} weights and SRAM in both reports")


if __name__ == "__main__":
    main()
