#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what `wse-inspect sram --json` says of a program.

    check_sram.py SRAM.json

Everything lies in the SRAM, behind host runtime and code; what is free is
covered by no buffer; buffers that share addresses hold nothing at the same
time. Prints a line per finding; exit code 1 if there is one.
"""

import json
import sys
from itertools import combinations


def meet(a, b):
    """A launch in which both hold something."""
    for first, last in a["launches"]:
        for begin, end in b["launches"]:
            if first <= end and begin <= last:
                return max(first, begin)
    return None


def findings(its):
    """What is wrong with the map of a class."""
    begin = its["code"][0] + its["code"][1]
    for buffer in its["buffers"]:
        end = buffer["address"] + buffer["bytes"]
        if buffer["address"] < begin or end > its["sram_bytes"]:
            yield f"buffer {buffer['name']} lies outside"
        for address, size in its["free"]:
            if buffer["address"] < address + size and address < end:
                yield f"buffer {buffer['name']} lies where it is free"
    if its["free_bytes"] != sum(size for _, size in its["free"]):
        yield "the free bytes add up to something else"
    for a, b in combinations(its["buffers"], 2):
        apart = (a["address"] + a["bytes"] <= b["address"]
                 or b["address"] + b["bytes"] <= a["address"])
        launch = meet(a, b)
        if not apart and launch is not None:
            yield f"{a['name']} and {b['name']} share addresses in launch {launch}"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        classes = json.load(file)["classes"]
    wrong = [f"class {its['name']}: {what}" for its in classes for what in findings(its)]
    shared = sum(len(its["buffers"]) for its in classes)
    print("\n".join(wrong) or f"{len(classes)} classes, {shared} buffers ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
