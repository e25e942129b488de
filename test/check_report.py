#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks reports of wsec and wse-run against runtime/host/report.schema.json.

    check_report.py REPORT.json ...

Prints one line per report; exit code 1 if one is wrong. Knows the keywords the
schema uses and refuses others, so that none is silently skipped.
"""

import json
import sys
from pathlib import Path

SCHEMA = Path(__file__).resolve().parents[1] / "runtime" / "host" / "report.schema.json"
TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}
KEYWORDS = {"$schema", "title", "description", "type", "additionalProperties", "required",
            "properties", "items", "minItems", "maxItems", "minimum", "enum", "oneOf"}


def findings(value, schema, where="report"):
    """What is wrong with `value`, as a list of sentences."""
    unknown = schema.keys() - KEYWORDS
    if unknown:
        raise ValueError(f"{where}: the checker does not know {sorted(unknown)}")
    if "type" in schema and not TYPES[schema["type"]](value):
        return [f"{where} is no {schema['type']}: {value!r}"]
    wrong = []
    if "enum" in schema and value not in schema["enum"]:
        wrong.append(f"{where} is {value!r}, not one of {schema['enum']}")
    if value is not None and "minimum" in schema and value < schema["minimum"]:
        wrong.append(f"{where} is {value}, below {schema['minimum']}")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        wrong += [f"{where} has no '{key}'" for key in schema.get("required", ())
                  if key not in value]
        if schema.get("additionalProperties") is False:
            wrong += [f"{where} has '{key}', unknown" for key in value.keys() - properties.keys()]
        for key in value.keys() & properties.keys():
            wrong += findings(value[key], properties[key], f"{where}.{key}")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            wrong.append(f"{where} has {len(value)} items")
        for i, item in enumerate(value):
            wrong += findings(item, schema.get("items", {}), f"{where}[{i}]")
    if "oneOf" in schema:
        fitting = [s for s in schema["oneOf"] if not findings(value, s, where)]
        if len(fitting) != 1:
            wrong.append(f"{where} fits {len(fitting)} of {len(schema['oneOf'])} forms")
    return wrong


def inconsistencies(report):
    """Numbers of a well-formed report that contradict one another."""
    kernels, cycles = report["kernels"], report["cycles"]
    wrong = []
    if [k["cycles"] for k in kernels] != cycles["per_kernel"]:
        wrong.append("cycles.per_kernel differs from the kernels' cycles")
    total = sum(cycles["per_kernel"])
    if kernels and abs(total - cycles["total"]) > len(kernels):  # rounding, one each
        wrong.append(f"the kernels' cycles add up to {total}, not {cycles['total']}")
    for kernel in kernels:
        took = kernel.get("span_cycles", kernel["cycles"])
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
    schema = json.loads(SCHEMA.read_text())
    bad = False
    for path in sys.argv[1:]:
        report = json.loads(Path(path).read_text())
        wrong = findings(report, schema) or inconsistencies(report)
        bad |= bool(wrong)
        print(f"{Path(path).name}: {'; '.join(wrong) if wrong else 'ok'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
