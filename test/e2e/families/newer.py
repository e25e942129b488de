#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models with experts, state spaces, or both, on two meshes and a sample on the whole wafer, in two precisions:
prompts, one token behind what those before it left, and calls whose keys and values stay on the wafer.

  newer.py --table NEWER.md --write     run all, write the table: hours
  newer.py --table NEWER.md             run all, name the rows that differ
  newer.py --only REGEX [--table ...]   some of them
  newer.py --few [--table ...]          a few, on a small mesh
  newer.py --pattern                    which those are, for make_families.py
  newer.py --record FILE ...            keep results there, and take those that it has

The models are those of `newer_variants` in make_families.py; statuses are those of families.py, of all meshes and
precisions together: what is refused, or fails, somewhere says where. The error is a bound for f32 and one for bf16.
"""

import itertools
import json
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from families import (HERE, TOLERANCES, Failure, Row, bucket, cache, conclude, differences, reason_of_none, recognized,
                      run_and_compare, table, table_parser)
from make_families import is_growing, newer_variants
from conformance import call, refusal_of, tool

MESHES = ["8x8", "64x64", "750x994"]
PRECISIONS = ["f32", "bf16"]
SETTINGS = list(itertools.product(MESHES, PRECISIONS))
FEW = re.compile(r"^(mixtral|gpt-oss|deepseek-v2|llama4|qwen3-next|mamba2)\.decode-dynamo-20"
                 r"|^(qwen3-moe|lfm2|mamba)\.prompt-dynamo-20|^gpt-oss\.states-dynamo"
                 r"|^fused-gpt-oss\.prompt-int4|^linear-gated-delta\.\S+decode")
FEW_SETTINGS = [("8x8", "f32")]
# Of calls: tokens of the prompt, and behind it.
PROMPT, STEPS = 8, 16
# On the whole wafer runs a sample: one export of each, and of graphs without an exporter; recurrences of a prompt that
# are unrolled take minutes there.
WHOLE = re.compile(r"^(?!(qwen3-next|mamba)\.prompt)\S+\.(prompt|decode)-dynamo-20-sdpa$"
                   r"|^fused-gpt-oss\.(prompt|decode)(-int4)?$|^linear-gated-delta\.")
HEAD = ["# Models with experts and state spaces as exporters write them", "",
        "Written by `newer.py --write`, which says what is compared: each model on meshes of 8x8 and 64x64 PEs, a sample",
        "(`WHOLE`) also on 750x994, calls whose keys and values stay on the wafer (`states-...`) on 8x8 alone; in f32 and",
        "bf16. `make_families.py` has the exporters (`NEWER`), `fused_graphs.py` and `linear_graphs.py` graphs without one.",
        ""]


def run_calls(path, seconds, precision, mesh):
    """As `run_and_compare`, of a prompt in chunks and of tokens behind it, whose keys and values are states."""
    sys.path.insert(0, str(HERE.parent))
    from growing_states import Text, program
    from wsec.tools import Error

    with tempfile.TemporaryDirectory() as folder:
        made, report = Path(folder) / "model.wafer", Path(folder) / "compile.json"
        refusal = refusal_of(call(
            [tool("wsec"), str(path), "-o", str(made), f"--mesh={mesh}", f"--precision={precision}", "--quiet",
             f"--report={report}", "--bundle", "--kv-capacity=24", "--entry", "decode:sequence=1", "--entry", "prefill:sequence=4"],
            seconds))
        if refusal:
            return refusal, 0.0, ""
        kernels = recognized(json.loads(report.read_text()))
        try:
            session, text = program.load(str(made)).session(engine="strips"), Text(path, 0, PROMPT)
            while text.position < PROMPT + STEPS:
                text.call(session, 4)
        except Error as error:
            raise Failure(str(error)) from error
    worst = text.worst / text.largest
    if not worst <= TOLERANCES[precision]:
        raise Failure(f"wrong numbers in logits: off by {worst:.1e} of the largest")
    return None, worst, kernels


def outcome(name, setting, seconds, record):
    """(status, error, recognized, reason) on one mesh, in one precision."""
    key = " ".join([name, *setting])
    if key in record.known:
        return record.known[key]
    path, (mesh, precision) = cache() / "families" / f"{name}.onnx", setting
    try:
        runs = run_calls if is_growing(name) else run_and_compare
        refusal, worst, kernels = runs(path, seconds, precision, mesh)
        found = ["refused", 0.0, "", refusal] if refusal else ["run", worst, kernels, ""]
    except Failure as failure:
        found = ["fail", 0.0, "", str(failure).replace("|", "\\|")]
    record.keep(key, found)
    return found


def meshes_of(name):
    """A session of calls emulates all of a mesh, so they are made on the smallest."""
    return MESHES[:1] if is_growing(name) else MESHES if WHOLE.search(name) else MESHES[:2]


class Record:
    """Results by model and setting, in lines of a file, if there is one."""

    def __init__(self, path):
        self.path = path
        lines = path.read_text().splitlines() if path and path.exists() else []
        self.known = dict(map(json.loads, lines))

    def keep(self, key, found):
        if self.path:
            with self.path.open("a") as file:
                file.write(json.dumps([key, found]) + "\n")


def judge(name, settings, seconds, record):
    """The row of a model."""
    model, _, exporter = name.partition(".")
    none = reason_of_none(cache() / "families" / f"{name}.onnx")
    if none:
        return Row(model, exporter, "none", reason=none)
    settings = [setting for setting in settings if setting[0] in meshes_of(name)]
    found = {setting: outcome(name, setting, seconds, record) for setting in settings}
    statuses = [its[0] for its in found.values()]
    worst = {precision: max((its[1] for setting, its in found.items() if setting[1] == precision), default=None)
             for precision in PRECISIONS}
    error = ", ".join(bucket(its) for its in worst.values() if its is not None)
    for status in ("fail", "refused"):
        if status in statuses:
            where = [setting for setting, its in found.items() if its[0] == status]
            reason = found[where[0]][3]
            places = "" if len(where) == len(settings) else ", ".join(map(" ".join, where)) + ": "
            return Row(model, exporter, status, error if "run" in statuses else "", "", places + reason)
    return Row(model, exporter, "run", error, found[settings[0]][2])


def main():
    parser = table_parser(__doc__)
    parser.set_defaults(seconds=600)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--pattern", action="store_true")
    arguments = parser.parse_args()
    if arguments.pattern:
        print(FEW.pattern)
        return 0
    chosen = [name for name in newer_variants() if re.search(arguments.only, name)
              and (FEW.search(name) or not arguments.few)]
    record, settings = Record(arguments.record), FEW_SETTINGS if arguments.few else SETTINGS
    with ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(lambda name: judge(name, settings, arguments.seconds, record), chosen))
    return conclude(arguments, rows, table(rows, HEAD), differences)


if __name__ == "__main__":
    sys.exit(main())
