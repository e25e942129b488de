#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds what a map of wsec --dump-placement=FILE.html keeps of a run's report
against the report: check_measured.py WORK

A program that keeps its weights has the entries load and main, and a report
lists the kernels of both; the map shows those of the entry that ran.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "e2e" / "models"))
import small_models  # noqa: E402


def main():
    work = Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    os.chdir(work)
    np.savez("in.npz", **small_models.towers(Path("towers.onnx"), seed=1))
    compiled = ["wsec", "towers.onnx", "--mesh=24x12", "--mode=resident", "--quiet"]
    for command in ([*compiled, "-o", "towers.wafer", "--dump-placement=towers.json"],
                    ["wse-run", "towers.wafer", "--inputs", "in.npz", "--quiet",
                     "--counters=counters.json", "--report=report.json"],
                    [*compiled, "--dump-placement=towers.html", "--counters=counters.json",
                     "--counters=report.json"]):
        subprocess.run(command, check=True)
    page = Path("towers.html").read_text(encoding="utf-8")
    measured = json.loads(re.search(r'id="measured"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    report, placement = (json.loads(Path(name).read_text(encoding="utf-8"))
                         for name in ("report.json", "towers.json"))
    entries = [kernel["entry"] for kernel in
               sorted(placement["kernels"], key=lambda kernel: kernel["slot"])]
    assert set(entries) == {"load", "main"}, entries
    of_main = [number for number, entry in enumerate(entries) if entry == "main"]
    assert measured["entry"] == "main", measured["entry"]
    assert "maps" in measured["counters"]
    assert measured["report"]["kernels"] == [report["kernels"][number] for number in of_main]
    cycles = [report["cycles"]["per_kernel"][number] for number in of_main]
    assert measured["report"]["cycles"]["per_kernel"] == cycles and sum(cycles) > 0
    print(f"the map keeps {len(of_main)} of {len(entries)} launches, those of main")


if __name__ == "__main__":
    main()
