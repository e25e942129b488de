#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks placements of wsec --dump-placement=FILE.json against
tools/map/placement.schema.json, and that what they say fits together.

    check_placement.py PLACEMENT.json ...

Prints a line per file; exit code 1 if one is wrong.
"""

import json
import sys
from pathlib import Path

import numpy as np

from check_counters import without_references
from check_report import findings

SCHEMA = Path(__file__).resolve().parents[1] / "tools" / "map" / "placement.schema.json"
PORTS = ("north", "south", "east", "west", "ramp")


def passed_by_routers(placement, entry):
    """By color: words that routers pass in a call of an entry, as rows of PEs."""
    shape = (placement["machine"]["height"], placement["machine"]["width"])
    colors, passed = {}, placement["passed_words"]
    for kernel in placement["kernels"]:
        for number in kernel.get("passed_words", []) if kernel["entry"] == entry else []:
            table = passed["tables"][number]
            its = colors.setdefault(table["color"], np.zeros(shape, int))
            row, end = np.zeros(shape[1], int), 0
            for begin, rows, count, runs, times in table["rows"]:
                if begin != end:
                    row[:] = 0
                more, runs = np.zeros_like(row), iter(passed["runs"][runs])
                for x0, x1, words in zip(runs, runs, runs):
                    more[x0:x1] = words * times
                end = begin + rows * count
                for y in range(begin, end, rows):
                    row += more
                    its[y:y + rows] += row
    return colors


def words_of_streams(placement, entry):
    """By stream, color and port: words that leave routers, as rows of PEs."""
    passed, found = passed_by_routers(placement, entry), {}
    for stream in placement["streams"]:
        for route in stream["routes"]:
            if route["color"] not in passed:
                continue
            rect = slice(*route["y"]), slice(*route["x"])
            for port in route["transmit"]:
                its = found.setdefault((stream["name"], route["color"], port),
                                       np.zeros_like(passed[route["color"]]))
                its[rect] += passed[route["color"]][rect]
    return found


def words_of_links(placement, entry):
    shape = (placement["machine"]["height"], placement["machine"]["width"])
    streams = words_of_streams(placement, entry)
    return {port: sum((words for (*_, its), words in streams.items() if its == port),
                      np.zeros(shape, int)) for port in PORTS}


def wrong_links(placement):
    """What the placement says of its fullest links and streams that its tables do not."""
    wrong = []
    for load in placement.get("link_load", []):
        entry, links = load["entry"], words_of_links(placement, load["entry"])
        streams = words_of_streams(placement, entry)
        most = max(int(links[port].max()) for port in PORTS[:4])
        listed = load["fullest"][0]["words"] if load["fullest"] else 0
        if listed != most:
            wrong.append(f"{entry}: the fullest link has {most} words, not {listed}")
        for link in load["fullest"]:
            at = link["y"], link["x"]
            users = {}
            for (name, _, port), words in streams.items():
                if port == link["port"] and words[at]:
                    users[name] = users.get(name, 0) + int(words[at])
            alike = int((links[link["port"]] == link["words"]).sum())
            if links[link["port"]][at] != link["words"] or users != link["streams"]:
                wrong.append(f"{entry}: {link['port']} of {at[::-1]}: {users}, not {link}")
            if not 1 <= link["links"] <= alike:
                wrong.append(f"{entry}: {link['links']} links of {link['words']}, not {alike}")
        for stream in placement["streams"]:
            most = max((int(words.max()) for (name, _, port), words in streams.items()
                        if name == stream["name"] and port != "ramp"), default=0)
            if stream.get("words", {}).get(entry, 0) != most:
                wrong.append(f"{entry}: {most} words of {stream['name']}, not {stream.get('words')}")
    return wrong


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
    wrong += wrong_links(placement)
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
