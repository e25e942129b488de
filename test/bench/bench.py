#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast the emulator is, beside what it was and the bar we aim at.

  bench.py [--list] [ROW ...]          measures all rows, or those named (gpt2-*), and prints them
  bench.py --check [--quick] [ROW ...] exit code 1 if a ratio is more than 1.5 times that of the table
  bench.py --update [ROW ...]          writes what was measured into the table, with the commit

README.md says what a row is. A bar missed is printed and no error. What is slower than its row is measured twice
more before --check says so. --quick: those rows that need nothing but what the default set-up installs, in two minutes
on two cores.
"""

import argparse
import fnmatch
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import measure  # noqa: E402
import rows  # noqa: E402

TABLE = Path(__file__).with_name("ratios.json")
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- the table: bench.py --update -->\n", "<!-- end -->\n"
SOURCES = ("compiler", "dialects", "runtime", "tools/wsec", "tools/wse-run")
SLOWER = 1.5
TRIES = 3


class Bench:
    """A folder of programs that rows share."""

    def __init__(self, folder, threads, quick):
        self.folder, self.threads = Path(folder), threads
        # Seconds for repeated runs of a program in a round, and of all rounds of a row: after these none begins.
        self.span, self.most = (0.5, 4.0) if quick else (2.0, 60.0)
        self.programs, self.sessions = {}, {}

    def program(self, model, mesh, flags=(), run=(), variant=None):
        key = (model.name, mesh, flags, run, variant)
        if key not in self.programs:
            self.programs[key] = measure.Program(self, model, mesh, flags, run, variant)
        return self.programs[key]

    def onnxruntime(self, model):
        if model.name not in self.sessions:
            self.sessions = {model.name: measure.OnnxRuntime(self, model)}
        return self.sessions[model.name]


@dataclass
class Measured:
    """Medians of the rounds: of their ratios, and of both sides."""

    ratio: float
    ours: float
    theirs: float


def measured(row, bench):
    ours, theirs = row.sides(bench)
    end, pairs = time.perf_counter() + bench.most, []
    while not pairs or len(pairs) < row.rounds and time.perf_counter() < end:
        pairs.append((ours(), theirs()))
    return Measured(*(statistics.median(values) for values in
                      ([a / b for a, b in pairs], [a for a, _ in pairs], [b for _, b in pairs])))


def text(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def bar_text(row):
    if row.bar is None:
        return "none"
    if row.against == "the bare loop":
        return f"< {text(row.bar)} x ({1 / row.bar:.0%} of the peak)"
    return f"< {text(row.bar)} {row.unit}"


def met(row, ratio, ours):
    if row.bar is None:
        return ""
    return "yes" if (ratio if row.unit == "x" else ours) < row.bar else "not yet"


def cells(row, ratio, ours, commit):
    """A line of the table: what it is, the number, the bar, and when it was measured."""
    value = f"{text(ours)} MB" if row.unit == "MB" else f"{text(ratio)} x {row.against}"
    if row.unit == "s":
        value += f", {text(ours)} s"
    if row.against == "the bare loop" and row.bar:
        value = f"{text(ratio)} x the bare loop, {1 / ratio:.1%} of the peak"
    return [f"`{row.name}`", row.what, value, bar_text(row), met(row, ratio, ours), commit]


def complaint(row, found, kept):
    """What --check says of a row that has become slower; nothing of others."""
    if not kept:
        return f"{row.name} is not in {TABLE.name}: test/bench/bench.py --update {row.name}"
    limit = SLOWER * kept["ratio"]
    if found.ratio <= limit:
        return None
    return (f"{row.name} ({row.what}): {text(found.ratio)} x {row.against}, and commit {kept['commit']} took "
            f"{text(kept['ratio'])} x; at most {SLOWER} times that, {text(limit)} x, is allowed. Find what made it slower "
            f"(git bisect start HEAD {kept['commit']}, with test/bench/bench.py --check {row.name} behind each build); "
            f"if it has to be, test/bench/bench.py --update {row.name}, and say why in the commit")


def chosen(patterns, quick):
    found = [row for row in rows.ROWS if (row.quick or not quick) and
             (not patterns or any(fnmatch.fnmatch(row.name, pattern) for pattern in patterns))]
    if not found:
        sys.exit(f"error: no row is called {' or '.join(patterns)}: see bench.py --list")
    return found


def commit():
    """The last one that changed what is measured, without changes on top."""
    def git(*words):
        return subprocess.run(["git", *words, "--", *SOURCES], cwd=measure.root, check=True, capture_output=True,
                              text=True).stdout.strip()

    if git("status", "--porcelain"):
        sys.exit(f"error: {', '.join(SOURCES)} are not those of a commit, which the table would name: commit them first")
    return git("log", "-1", "--format=%h", "--abbrev=7")


def update(table, row, found, its):
    """The row in the table and the README; those that are rows no more go."""
    kept = {**table["rows"], row.name: {"ratio": float(text(found.ratio)), "ours": float(text(found.ours)), "commit": its}}
    table.update(host=f"{os.cpu_count()} cores, {measure.bare_rates()[1]}",
                 rows={row.name: kept[row.name] for row in rows.ROWS if row.name in kept})
    TABLE.write_text(json.dumps(table, indent=1) + "\n")
    before, rest = README.read_text().split(BEGIN)
    README.write_text(before + BEGIN + written(table) + END + rest.split(END)[1])


def written(table):
    """The table, as README.md shows it."""
    lines = [f"On {table['host']}.\n", "| row | what | measured | bar | met | commit |", "|---|---|---|---|---|---|"]
    for row in rows.ROWS:
        if kept := table["rows"].get(row.name):
            lines.append(f"| {' | '.join(cells(row, kept['ratio'], kept['ours'], kept['commit']))} |")
    return "\n".join(lines) + "\n"


def run(row, bench, table, check):
    """What was measured, and the complaint; again if there is one, for a host has other things to do, too."""
    kept, wrong, best = table["rows"].get(row.name), None, None
    for _ in range(TRIES if check else 1):
        found = measured(row, bench)
        if best is None or found.ratio < best.ratio:
            best = found
        wrong = complaint(row, best, kept) if check else None
        if not wrong or not kept:
            break
        print(f"  {row.name}: {text(found.ratio)} x, measured again", flush=True)
    was = f"{text(kept['ratio'])} x of {kept['commit']}" if kept else "not in the table"
    _, _, value, bar, state, _ = cells(row, best.ratio, best.ours, "")
    print(f"{row.name:24}{value:46} was {was:24} bar {bar:32} {state}", flush=True)
    return best, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    selected = chosen(options.rows, options.quick)
    if options.list:
        for row in selected:
            print(f"{row.name:24}{row.what}, against {row.against}")
        return 0
    table = json.loads(TABLE.read_text()) if TABLE.exists() else {"host": "", "rows": {}}
    its, faults = commit() if options.update else None, []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, options.threads, options.quick)
        for row in selected:
            try:
                found, wrong = run(row, bench, table, options.check)
            except measure.Missing as missing:
                print(f"{row.name:24}skipped: {missing}", flush=True)
                continue
            if wrong:
                faults.append(wrong)
            if options.update:
                update(table, row, found, its)
    for fault in faults:
        print(f"error: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
