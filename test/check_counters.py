#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks counters of wse-run against runtime/observe/counters.schema.json, and
that their numbers fit one another.

    check_counters.py COUNTERS.json [OTHER.json]

Words up the ramps are words received; nobody has more than the largest. With
two files, of one program on both engines: the same instructions and words.
Prints a line per finding; exit code 1 if there is one.
"""

import json
import sys
from pathlib import Path

from check_report import findings

SCHEMA = Path(__file__).resolve().parents[1] / "runtime" / "observe" / "counters.schema.json"
SAME = ["instructions", "words_sent", "words_received", "sram_bytes", "link_words_north",
        "link_words_south", "link_words_east", "link_words_west", "link_words_ramp"]


def without_references(schema, definitions):
    """The schema with what it refers to in place."""
    if isinstance(schema, list):
        return [without_references(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return definitions[schema["$ref"].removeprefix("#/$defs/")]
    return {key: without_references(value, definitions) for key, value in schema.items()
            if key != "$defs"}


def unpacked(entry, mesh):
    """The numbers of a map as rows of a mesh; None if they do not cover it."""
    rows = []
    for band in entry["rows"]:
        row = [number for number, count in band["runs"] for _ in range(count)]
        if band["y"][0] != len(rows) or len(row) != mesh[0]:
            return None
        rows += [row] * (band["y"][1] - band["y"][0])
    return rows if len(rows) == mesh[1] else None


def inconsistencies(counters, filters):
    """Numbers of well-formed counters that contradict one another."""
    wrong, maps = [], {}
    for name, entry in counters["maps"].items():
        maps[name] = rows = unpacked(entry, counters["mesh"])
        if rows is None:
            wrong.append(f"{name} does not cover the mesh")
            continue
        numbers = [number for row in rows for number in row]
        x, y = entry["max_at"]
        if abs(sum(numbers) - entry["total"]) > 1e-6 * max(1, entry["total"]):
            wrong.append(f"{name} adds up to {sum(numbers)}, not {entry['total']}")
        if max(numbers) != entry["max"] or rows[y][x] != entry["max"]:
            wrong.append(f"the largest of {name} is another")
    if not filters and maps["link_words_ramp"] != maps["words_received"]:
        wrong.append("words up the ramps are not those received")
    return wrong


def main():
    files = [Path(name) for name in sys.argv[1:] if not name.startswith("--")]
    schema = json.loads(SCHEMA.read_text())
    schema = without_references(schema, schema["$defs"])
    read = [json.loads(path.read_text()) for path in files]
    wrong = []
    for path, counters in zip(files, read):
        found = (findings(counters, schema, "counters")
                 or inconsistencies(counters, "--filters" in sys.argv))
        wrong += [f"{path.name}: {what}" for what in found]
    if not wrong and len(read) == 2:
        for name in SAME:
            one, other = (unpacked(c["maps"][name], c["mesh"]) for c in read)
            if one != other:
                wrong.append(f"{name} of both files differ")
    print("\n".join(wrong) or "counters ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
