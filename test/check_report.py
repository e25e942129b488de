#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks reports of wsec and wse-run against runtime/host/report.schema.json.

    check_report.py REPORT.json ...

Prints one line per report; exit code 1 if one is wrong.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from wsec.report import findings, schema  # noqa: E402


def unmeasured(report):
    """Of a pipeline: what is predicted and not measured, or not as much per second as its cycles say."""
    wrong = []
    pipeline = report.get("pipeline", {"stages": []})
    clock = report["machine"]["clock_ghz"] * 1e9
    for each in (pipeline, *pipeline["stages"]):
        for name, value in each.items():
            measured = name.removeprefix("predicted_")
            if "engine" in report["cycles"] and measured not in each:
                wrong.append(f"{name}, but no {measured}")
            if measured == "samples_per_second":
                cycles = name.replace("samples_per_second", "cycles" if "region" in each else "cycles_per_sample")
                if abs(value * each[cycles] - clock) > clock / max(1, each[cycles]):
                    wrong.append(f"{value} {name} at {each[cycles]} cycles")
    return wrong


def inconsistencies(report):
    """Numbers of a well-formed report that contradict one another."""
    kernels, cycles = report["kernels"], report["cycles"]
    wrong = unmeasured(report)
    if [k["cycles"] for k in kernels] != cycles["per_kernel"]:
        wrong.append("cycles.per_kernel differs from the kernels' cycles")
    total = sum(cycles["per_kernel"])
    alone = "engine" in cycles or "pipeline" not in report  # regions work at the same time
    if kernels and alone and abs(total - cycles["total"]) > len(kernels):  # rounding, one each
        wrong.append(f"the kernels' cycles add up to {total}, not {cycles['total']}")
    for kernel in kernels:
        took = kernel.get("span_cycles", kernel["cycles"])
        if took == 0 and "span_cycles" in kernel:
            continue  # of another entry than the one that was called
        if kernel["lower_bound_cycles"] > took + 1:
            wrong.append(f"kernel '{kernel['name']}' took {took} cycles, below its "
                         f"lower bound {kernel['lower_bound_cycles']}")
    if report["pes"]["used"] > report["pes"]["available"]:
        wrong.append("more PEs used than there are")
    if report["sram"]["peak_bytes"] > report["sram"]["limit_bytes"]:
        wrong.append("the SRAM peak is above the limit")
    if report["weights"]["resident_bytes"] > report["weights"]["buffered_bytes"]:
        wrong.append("more weights resident than buffered")
    return wrong


def main():
    bad = False
    for path in sys.argv[1:]:
        report = json.loads(Path(path).read_text())
        wrong = findings(report, schema()) or inconsistencies(report)
        bad |= bool(wrong)
        print(f"{Path(path).name}: {'; '.join(wrong) if wrong else 'ok'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
