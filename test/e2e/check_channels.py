#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what the west edge's channels are predicted to do with what they do.

  check_channels.py MODEL... --mesh 8x8 [--mesh 16x16] [--engine wavelet] [--tamper] [--work DIR]

A cycle in which a word enters a row is busy, one in which a word is there and
does not enter stalled, all others are idle. For each row, each of the three is
at most 10 % of the measured cycles of the run away from its prediction; so are
the end of the slot of each stream and the cycle in which its last word enters, and
the cycles of the run. --tamper makes all slots end
20 % earlier, in the text of the lowered program: then this must not pass. Exit
code 0 or 1.
"""

import argparse
import json
import re
import sys
from pathlib import Path

import numpy as np

sys.path += [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent / "models")]
import check_report  # noqa: E402
import small_models  # noqa: E402
from commands import run  # noqa: E402

SHARE = 0.1
LAUNCH = re.compile(r"launch @.* streams \[(.*?)\] slots \[(.*)\]")
SLOT = re.compile(r"order (\d+) from (\d+) to (\d+) ahead (\d+)")


def lowered(model, inputs, mesh, work):
    """The text of the lowered program."""
    path = work / "lowered.mlir"
    shapes = [f"--shape={name}={'x'.join(map(str, value.shape))}"
              for name, value in inputs.items()]
    run(["wsec", model, f"--mesh={mesh}", "--stop-after=lower", "--print-constants", "-o", path,
         *shapes])
    return path.read_text()


def earlier(text):
    """The program with slots, and kernels, that take 20 % less."""
    text = SLOT.sub(lambda m: f"order {m[1]} from {int(m[2]) * 4 // 5} "
                              f"to {int(m[3]) * 4 // 5} ahead {m[4]}", text)
    return re.sub(r"cycles (\d+\.?\d*(?:[eE][+-]?\d+)?) of",
                  lambda m: f"cycles {float(m[1]) * 0.8:.6e} of", text)


def slots(text):
    """The end of the slot of each stream; of one that flows often there is none."""
    found, often = {}, set()
    for names, its in LAUNCH.findall(text):
        for name, slot in zip(re.findall(r"@([^\s,]+)", names), SLOT.findall(its)):
            name = name.strip('"')
            often |= {name} & found.keys()
            found[name] = int(slot[2])
    return {name: slot for name, slot in found.items() if name not in often}


def distances(text, report, counters, schema):
    """What is compared, and by which share of the run its prediction is off."""
    wrong = check_report.findings(report, schema) or check_report.inconsistencies(report)
    if wrong:
        sys.exit("; ".join(wrong))
    cycles = report["cycles"]["total"]
    yield "cycles", abs(sum(report["channels"][0]["predicted"].values()) - cycles) / cycles
    for channel in report["channels"]:
        assert abs(sum(channel["measured"].values()) - cycles) <= 1, channel
        for kind, predicted in channel["predicted"].items():
            off = abs(predicted - channel["measured"][kind]) / cycles
            yield f"row {channel['row']} {kind}", off
    windows = slots(text)
    assert windows
    for stream in counters["streams"]:
        if stream["direction"] == "In" and stream["words"] and stream["name"] in windows:
            end = windows[stream["name"]]
            yield f"the end of {stream['name']}", abs(end - stream["last_cycle"] - 1) / cycles


def check(name, mesh, arguments, work, schema):
    model, inputs = small_models.obtain(name, work, 0)
    np.savez(work / "inputs.npz", **inputs)
    text = lowered(model, inputs, mesh, work)
    if arguments.tamper:
        text = earlier(text)
    program = work / "program.mlir"
    program.write_text(text)
    weights = f"--weights={Path(model).parent}"
    run(["wsec", program, "-o", work / "p.wafer", weights, "--quiet"])
    run(["wse-run", work / "p.wafer", weights, "--inputs", work / "inputs.npz", "--quiet",
         f"--engine={arguments.engine}", f"--report={work}/run.json",
         f"--counters={work}/counters.json"])
    report, counters = (json.loads((work / file).read_text())
                        for file in ("run.json", "counters.json"))
    worst, off = max(distances(text, report, counters, schema), key=lambda entry: entry[1])
    verdict = "ok" if off <= SHARE else "TOO FAR"
    print(f"{name} {mesh} {arguments.engine}: {worst} is off by {100 * off:.1f} % of "
          f"{report['cycles']['total']} cycles, {verdict}")
    return off <= SHARE


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="+")
    parser.add_argument("--mesh", action="append", required=True)
    parser.add_argument("--engine", default="wavelet")
    parser.add_argument("--tamper", action="store_true")
    parser.add_argument("--work", default="work")
    arguments = parser.parse_args()
    work = Path(arguments.work)
    work.mkdir(parents=True, exist_ok=True)
    schema = check_report.schema()
    good = [check(name, mesh, arguments, work, schema)
            for name in arguments.model for mesh in arguments.mesh]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
