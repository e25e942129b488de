#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints programs as text of the pe dialect and compiles the text again: the
bytes must be those of the program.

  round_trip.py PROGRAM.wafer...
  round_trip.py --random COUNT --work DIR    hand-written programs drawn by lot

One line per program. Exit code 0 or 1.
"""

import argparse
import subprocess
import sys
from pathlib import Path


def difference(program, weights="."):
    """What is wrong with the text of a program, or None. The text lies beside
    the program; its weight files there or in a folder."""
    program = Path(program)
    text, again = program.with_suffix(".pe.mlir"), program.with_suffix(".pe.wafer")
    for command in (["wse-inspect", "pe", program, "-o", text],
                    ["wsec", text, "-o", again, f"--weights={weights}", "--quiet"]):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            return f"{command[0]}: {result.stderr}"
    if again.read_bytes() != program.read_bytes():
        return f"{text.name} compiles to other bytes"
    text.unlink()
    again.unlink()
    return None


def random_programs(count, work):
    """Programs that the engines are compared with, compiled from their text."""
    work.mkdir(parents=True, exist_ok=True)
    for seed in range(1, count + 1):
        source, program = work / f"{seed}.mlir", work / f"{seed}.wafer"
        source.write_text(subprocess.run(
            ["RandomPrograms", f"--seed={seed}", "--count=1", "--print"],
            capture_output=True, text=True, check=True).stdout)
        subprocess.run(["wsec", source, "-o", program, "--quiet"], check=True,
                       stderr=subprocess.DEVNULL)
        yield program


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", type=Path)
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--work", type=Path, default=Path("work"))
    arguments = parser.parse_args()
    wrong = False
    programs = arguments.programs + list(random_programs(arguments.random, arguments.work))
    for program in programs:
        problem = difference(program)
        wrong |= problem is not None
        print(f"{program.name}: {problem or 'the same bytes'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
