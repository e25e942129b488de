#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs ONNX's node cases on an emulated mesh of 8x8 PEs.

  conformance.py --table TABLE.md --write     run all, write the table
  conformance.py --table TABLE.md             run all, name the rows that differ
  conformance.py --only REGEX [--table ...]   some of them
  conformance.py --few [--table ...]          every twentieth

Each case ends in one status:

  mesh     kernels computed or moved the data, with the numbers expected
  host     nothing is left for a PE: results are inputs or constants as they are
  refused  by a named reason before anything ran
  fail     wrong numbers, a crash, time-out, or an error without our wording

Numbers have to agree as ONNX's own runner asks: shapes and types exactly, floats
to rtol 1e-3 and atol 1e-7 with NaN and infinities in place (bfloat16 to rtol 2^-6:
its cases round after every operator, kernels once; DFT to a unit in the last place of the largest element, which its
cases, transformed by numpy in float32, are off themselves), integers and booleans exactly. What
is stated in float64 is computed in float32 (--allow-f64-as-f32). Besides, the engines `burst` and `wavelet` have to give the same bytes
(--engines). Inputs that shape the result are bound at compile time (cases.py).
Exit code 1 if a case fails or a row differs from the table.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import cases  # noqa: E402

MESH = "8x8"
STATUSES = ["mesh", "host", "refused", "fail"]


@dataclass(frozen=True)
class Row:
    case: str
    opset: int
    status: str
    error: str = ""    # bound of the largest error, see `error_of`
    reason: str = ""

    def text(self):
        return f"| {self.case} | {self.opset} | {self.status} | {self.error} | {self.reason} |"


class Failure(Exception):
    """Why a case fails."""


# ------------------------------------------------------------------------------
# Comparing
# ------------------------------------------------------------------------------


def error_of(expected, actual):
    """The largest difference of two finite elements, in units in the last place of the
    largest one of `expected`. Units of each element would say nothing of sums that cancel."""
    expected, actual = np.atleast_1d(expected), np.atleast_1d(actual)
    # What is stated in float64 is computed in float32.
    epsilon = max(float(ml_dtypes.finfo(expected.dtype).eps), 2.0**-23)
    a, b = expected.astype(np.float64), actual.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    if not finite.any():
        return 0
    largest, difference = np.max(np.abs(a[finite])), np.max(np.abs(a[finite] - b[finite]))
    # Where all cancels, one epsilon is what terms near 1 leave.
    unit = epsilon * 2.0 ** np.floor(np.log2(largest)) if largest > epsilon else epsilon
    return float(difference / unit)


def compare(case, name, actual):
    expected = np.asarray(case.expected[name])
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        raise Failure(f"{name} is {actual.dtype}{list(actual.shape)}, expected "
                      f"{expected.dtype}{list(expected.shape)}")
    if expected.dtype.kind in "iub" or re.match("u?int", expected.dtype.name):
        if not np.array_equal(actual, expected):
            raise Failure(f"wrong numbers in {name}")
        return 0
    rtol = max(case.rtol, 2**-6) if expected.dtype.name == "bfloat16" else case.rtol
    with np.errstate(all="ignore"):
        is_transform = case.name.startswith("test_dft") and np.isfinite(actual).all()
        if not (np.allclose(expected.astype(np.float64), actual.astype(np.float64), rtol,
                            case.atol, equal_nan=True)
                or is_transform and error_of(expected, actual) <= 1):
            raise Failure(f"wrong numbers in {name}: off by {error_of(expected, actual):.3g} units "
                          f"in the last place of its largest element ({expected.dtype})")
        return error_of(expected, actual)


def bucket(units):
    """A bound that does not change with every reordering of a sum."""
    bound = 1
    while units > bound:
        bound *= 4
    return f"<= {bound}" if units else "0"


# ------------------------------------------------------------------------------
# Running
# ------------------------------------------------------------------------------


def tool(name):
    folder = os.environ.get("WSEC_BIN")
    return str(Path(folder) / name) if folder else name


def call(command, seconds):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False,
                              timeout=seconds)
    except subprocess.TimeoutExpired as stopped:
        raise Failure(f"{Path(command[0]).name} takes more than {seconds} s") from stopped


# Words of MLIR, and of a program that gave up on itself.
NOT_OURS = re.compile(r"' op |failed to verify|internal error|Assertion|LLVM ERROR|Stack dump")


def reason_of(message):
    """The first reason in an error message, without what is particular to the
    case and without what to do; how many others there are."""
    reasons = [line.removeprefix("error: ") for line in message.strip().split("\n")
               if line.startswith("error: ")] or ["says nothing"]
    # "model.onnx: what is wrong: 2 nodes, 'a' and 'b'; what to do"
    reasons = [re.sub(r"^\S+\.onnx: ", "", reason) for reason in reasons]
    reasons = [re.sub(r": (?:\d+ )?(?:node|tensor|input|value)s?\b(?: with these or other numbers)?"
                      r",? ['w\d].*$", "", reason) for reason in reasons]
    first = reasons[0].replace("|", "\\|")
    return first + (f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else "")


def require_success(tool_name, result):
    if result.returncode:
        first = result.stderr.strip().split("\n")[0]
        raise Failure(f"{tool_name} ends with {result.returncode}: {first[:120]}")


def refusal_of(result):
    """Why wsec refuses a model, in its own words; None if it does not."""
    if result.returncode in (1, 2) and not NOT_OURS.search(result.stderr):
        return reason_of(result.stderr)
    require_success("wsec", result)
    return None


def compile_case(case, folder, seconds):
    """Compiles; the flags name what is bound. Returns the refusal, or None."""
    import onnx

    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    command = [tool("wsec"), folder / "model.onnx", "-o", folder / "model.wafer",
               f"--mesh={MESH}", "--quiet", "--allow-f64-as-f32",
               f"--report={folder / 'compile.json'}"]
    bound = case.bound()
    for name in bound:
        np.save(folder / f"{len(command)}.npy", case.inputs[name])
        command.append(f"--bind={name}={folder / f'{len(command)}.npy'}")
    for value in case.model.graph.input:
        array = case.inputs.get(value.name)
        dims = value.type.tensor_type.shape.dim
        if isinstance(array, np.ndarray) and value.name not in bound and any(
                dim.dim_value <= 0 for dim in dims):
            command.append(f"--shape={value.name}={'x'.join(map(str, array.shape))}")
    return refusal_of(call([str(word) for word in command], seconds))


def run_case(case, folder, engine, seconds):
    fed = {name: value for name, value in case.inputs.items() if name not in case.bound()}
    np.savez(folder / "in.npz", **fed)
    result = call([tool("wse-run"), str(folder / "model.wafer"), f"--engine={engine}",
                   f"--inputs={folder / 'in.npz'}", f"--outputs={folder / 'out.npz'}", "--quiet"],
                  seconds)
    require_success("wse-run", result)
    outputs = {}
    with np.load(folder / "out.npz") as file:
        for name in file:
            # numpy knows the types of ml_dtypes as bytes only.
            value = file[name]
            known = value.dtype.kind != "V" or name not in case.expected
            outputs[name] = value if known else value.view(
                np.asarray(case.expected[name]).dtype)
    return outputs


def judge(case, engines, seconds):
    """The row of a case."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        try:
            refusal = compile_case(case, folder, seconds)
            if refusal:
                return Row(case.name, case.opset, "refused", reason=refusal)
            report = json.loads((folder / "compile.json").read_text())
            outputs = run_case(case, folder, engines[0], seconds)
            worst = 0
            for name in case.expected:
                if name not in outputs:
                    raise Failure(f"{name} is missing")
                worst = max(worst, compare(case, name, outputs[name]))
            for engine in engines[1:]:
                others = run_case(case, folder, engine, seconds)
                for name, value in outputs.items():
                    if others[name].tobytes() != value.tobytes():
                        raise Failure(f"{engine} and {engines[0]} differ in {name}")
            status = "mesh" if report["pes"]["used"] else "host"
            return Row(case.name, case.opset, status, bucket(worst))
        except Failure as failure:
            return Row(case.name, case.opset, "fail", reason=str(failure).replace("|", "\\|"))


# ------------------------------------------------------------------------------
# The table
# ------------------------------------------------------------------------------


def table(chosen, rows):
    import onnx

    status = {row.case: row.status for row in rows}
    lines = ["# ONNX's node cases on a mesh of 8x8 PEs", "",
             f"Written by `conformance.py --write`; onnx {onnx.__version__}. What each status means "
             "and how numbers are", "compared is said there.", ""]
    for group in cases.GROUPS:
        counts = Counter(status[case.name] for case in chosen if group in case.groups())
        split = ", ".join(f"{name} {counts[name]}" for name in STATUSES)
        lines.append(f"- {group}: {split} of {sum(counts.values())}")
    reasons = Counter(row.reason for row in rows if row.status == "refused")
    lines += ["", "## Why cases are refused", "", "| cases | first reason |", "|---|---|"]
    lines += [f"| {count} | {reason} |"
              for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))]
    lines += ["", "## Cases", "",
              "The error is a bound of the largest one, in units in the last place of the tensor's "
             "largest element.", "",
              "| case | opset | status | error | reason |", "|---|---|---|---|---|"]
    lines += [row.text() for row in rows]
    return "\n".join(lines) + "\n"


def agrees(row, line):
    """Whether a row is that of the table. Its error may be up to 16 units, or two bounds
    above: numpy makes operands and results of cases, with sums that each CPU orders in
    its own way."""
    cells, known = row.text().split("|"), line.split("|")
    error, bound = (int(some[4].strip(" <=") or 0) for some in (cells, known))
    return cells[:4] + cells[5:] == known[:4] + known[5:] and error <= 16 * max(1, bound)


def differences(rows, text):
    """Rows that are not in the table."""
    known = {line.split(" | ")[0].strip("| "): line for line in text.split("\n")
             if line.startswith("| test_")}
    for row in rows:
        if row.case not in known or not agrees(row, known[row.case]):
            yield f"- {known.get(row.case, 'nothing of ' + row.case)}\n+ {row.text()}"


def table_parser(description):
    """What runs of a table are told."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=120)
    return parser


def conclude(arguments, rows, text, differing):
    """Writes the table, or says where it differs; the exit code."""
    if arguments.write and not arguments.only and not arguments.few:
        arguments.table.write_text(text)
    found = []
    if arguments.table and not arguments.write:
        found = list(differing(rows, arguments.table.read_text()))
    failed = [row.text() for row in rows if row.status == "fail"]
    print("\n".join(found + failed))
    print("\n".join(line for line in text.split("\n") if line.startswith("- ")))
    if arguments.table and not arguments.write:
        print(f"{len(found)} rows differ from {arguments.table.name}")
    return 1 if failed or found else 0


def main():
    parser = table_parser(__doc__)
    parser.add_argument("--engines", default="burst,wavelet")
    arguments = parser.parse_args()

    chosen = [case for case in cases.collect() if re.search(arguments.only, case.name)]
    if arguments.few:
        chosen = chosen[::20]
    engines = arguments.engines.split(",")
    with ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(lambda case: judge(case, engines, arguments.seconds), chosen))
    return conclude(arguments, rows, table(chosen, rows), differences)


if __name__ == "__main__":
    sys.exit(main())
