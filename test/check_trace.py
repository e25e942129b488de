#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks a trace of wse-run: JSON of the form that timeline viewers read.

    check_trace.py TRACE.json

The trace-event format's rules: strict JSON (no NaN), events with the fields of
their phase, of the right kinds, metadata of known names, once for each track.
Slices have a name, a begin and a length that is not negative; their tracks and
groups have names; slices of a track lie beside or in one another, never across
(viewers draw those wrong). Prints the groups with their tracks and slices;
exit code 1 and a line per finding if something is wrong.
"""

import json
import sys
from collections import defaultdict


def crossings(slices):
    """Slices that begin in another and end after it."""
    wrong, stack = [], []
    for begin, end, name in slices:
        while stack and stack[-1][0] <= begin:
            stack.pop()
        if stack and end > stack[-1][0]:
            wrong.append(f"'{name}' at {begin} crosses the end of '{stack[-1][1]}'")
        stack.append((end, name))
    return wrong


NUMBER = (int, float)
FIELDS = {"X": {"name": str, "pid": int, "tid": int, "ts": NUMBER, "dur": NUMBER},
          "M": {"name": str, "pid": int, "args": dict}}
METADATA = {"process_name": "name", "process_sort_index": "sort_index",
            "thread_name": "name", "thread_sort_index": "sort_index"}


def format_faults(trace):
    """What breaks the rules of the format, one event at a time."""
    if trace.get("displayTimeUnit", "ms") not in ("ms", "ns"):
        yield f"displayTimeUnit is {trace['displayTimeUnit']!r}, expected ms or ns"
    seen = set()
    for event in trace["traceEvents"]:
        fields = FIELDS.get(event.get("ph"))
        if fields is None:
            yield f"event of an unknown phase: {event}"
            continue
        for name, kind in fields.items():
            if not isinstance(event.get(name), kind) or isinstance(event[name], bool):
                yield f"event whose '{name}' is missing or of a wrong kind: {event}"
        if not isinstance(event.get("args", {}), dict):
            yield f"event whose 'args' is no object: {event}"
        if event["ph"] != "M":
            continue
        if METADATA.get(event.get("name")) not in event.get("args", {}):
            yield f"metadata of an unknown name, or without its argument: {event}"
        key = (event.get("name"), event.get("pid"), event.get("tid"))
        if key in seen:
            yield f"metadata given twice: {event}"
        seen.add(key)


def no_number(text):
    raise ValueError(f"{text} is no number of JSON")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        trace = json.load(file, parse_constant=no_number)
    wrong = list(format_faults(trace))
    if wrong:
        print("\n".join(wrong))
        return 1
    groups, tracks, slices = {}, {}, defaultdict(list)
    for event in trace["traceEvents"]:
        where = (event["pid"], event.get("tid"))
        if event["ph"] == "M":
            if event["name"] == "process_name":
                groups[event["pid"]] = event["args"]["name"]
            if event["name"] == "thread_name":
                tracks[where] = event["args"]["name"]
            continue
        if event["ph"] != "X" or not event["name"] or event["ts"] < 0 or event["dur"] < 0:
            wrong.append(f"no slice: {event}")
            continue
        end = round(event["ts"] + event["dur"], 3)
        slices[where].append((event["ts"], end, event["name"]))
    for where, own in slices.items():
        if where not in tracks or where[0] not in groups:
            wrong.append(f"track {where} has no name")
        wrong += crossings(sorted(own, key=lambda s: (s[0], -s[1])))
    for pid, name in groups.items():
        own = [where for where in slices if where[0] == pid]
        print(f"{name}: {len(own)} tracks, {sum(len(slices[w]) for w in own)} slices")
    for kernel in trace["traceEvents"]:
        if kernel["ph"] == "X" and kernel["pid"] == 1 and "onnx_nodes" not in kernel["args"]:
            wrong.append(f"kernel without ONNX nodes: {kernel}")
    print("\n".join(wrong) or "trace ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
