#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks placements of wsec --dump-placement=FILE.json against
compiler/place/placement.schema.json, and that what they say fits together.

    check_placement.py PLACEMENT.json ...

Prints a line per file; exit code 1 if one is wrong.
"""

import json
import sys
from pathlib import Path

from check_counters import without_references
from check_report import findings

SCHEMA = Path(__file__).resolve().parents[1] / "compiler" / "place" / "placement.schema.json"


def inconsistencies(placement):
    """Facts of a well-formed placement that contradict one another."""
    kernels, machine = placement["kernels"], placement["machine"]
    streams = {stream["name"] for stream in placement["streams"]}
    regions = [{key: region[key] for key in ("x", "y", "columns", "rows")}
               for region in placement["regions"]]
    wrong = []
    for number, kernel in enumerate(kernels):
        name = f"kernel {number}, '{kernel['name']}',"
        if kernel["region"] not in regions:
            wrong.append(f"{name} is on no region")
        if any(read >= number for read in kernel["reads"]):
            wrong.append(f"{name} reads what comes later")
        used = set(kernel.get("streams", [])) | {f["stream"] for f in kernel.get("flows", [])}
        if not used <= streams:
            wrong.append(f"{name} uses unknown streams {sorted(used - streams)}")
        for start, size in (("address", "bytes"), ("scratch_address", "scratch_bytes")):
            if start in kernel and not (machine["runtime_bytes"] <= kernel[start] and
                                        kernel[start] + kernel[size] <= machine["sram_bytes"]):
                wrong.append(f"{name} has a buffer outside of the SRAM")
        cost = kernel["cost"]
        if cost["cycles"] != max(cost[part] for part in ("compute", "stream", "fabric")) + cost["serial"]:
            wrong.append(f"{name} has a cost that does not add up")
    busiest, loads = placement.get("link_load"), [stream for stream in placement["streams"] if "words" in stream]
    if busiest and not (0 <= busiest["x"] < machine["width"] and 0 <= busiest["y"] < machine["height"] and
                        busiest["words"] == sum(
                            stream["words"] for stream in loads for route in stream["routes"]
                            if busiest["port"] in route["transmit"] and
                            all(busiest[axis] in range(*route[axis]) for axis in ("x", "y")))):
        wrong.append("its busiest link does not carry its words")
    if loads and not busiest:
        wrong.append("no link is the busiest")
    slots = sorted(kernel["slot"] for kernel in kernels if "slot" in kernel)
    if slots and slots != list(range(len(kernels))):
        wrong.append("slots are not 0, 1, 2, ...")
    return wrong


def main():
    schema = json.loads(SCHEMA.read_text())
    schema = without_references(schema, schema["$defs"])
    bad = False
    for path in sys.argv[1:]:
        placement = json.loads(Path(path).read_text())
        wrong = findings(placement, schema, "placement") or inconsistencies(placement)
        bad |= bool(wrong)
        print(f"{Path(path).name}: {'; '.join(wrong) if wrong else 'ok'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
