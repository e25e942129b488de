#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scores of `wsec place` on the graphs of the ISPD-2020 contest, beside the best
published ones.

  place.py FOLDER [--graphs ABCD] [--seed 1] [--wsec wsec]

FOLDER holds A.kgraph, B.kgraph, ... `ratio` is to our bound of the score.
Exit code 1 if the bound of the time is not the published one, a score is not below
the best published one (CU.POKer, ICCAD 2020), or a run takes more than 60 s of CPU
time on each of two cores.
"""

import argparse
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

PUBLISHED = {"A": 35810, "B": 66143.5, "C": 66920, "D": 36434}
# Published ones of the time, before it is weighted.
BOUNDS = {"A": 33152, "B": 62181, "C": 60270, "D": 32256, "I": 46592, "J": 45752,
          "K": 252, "L": 252, "M": 2156544, "N": 1020}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--graphs", default="ABCDIJKLMN")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--wsec", default="wsec")
    arguments = parser.parse_args()
    failed = False
    print(f"{'graph':6}{'score':>12}{'time':>12}{'wire':>10}{'bound':>12}{'ratio':>8}{'published':>11}{'CPU s':>7}")
    for graph in arguments.graphs:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        with tempfile.NamedTemporaryFile(suffix=".place") as output:
            text = subprocess.run(
                [arguments.wsec, "place", f"--ispd2020={arguments.folder / graph}.kgraph",
                 "-o", output.name, f"--seed={arguments.seed}", "--threads=2"],
                capture_output=True, text=True, check=True).stdout
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        score, weight, time, wire = map(float, re.search(
            r"score (\S+) = (\S+) x time (\S+) \+ \S+ x wire (\S+)", text).groups())
        bound = float(re.search(r"bound (\S+) of the time", text).group(1)) / weight
        ratio = float(re.search(r"ratio (\S+)", text).group(1))
        best = PUBLISHED.get(graph)
        failed |= seconds > 120 or (best is not None and score >= best)
        if bound != BOUNDS.get(graph, bound):
            failed = True
            print(f"{graph}: the bound is {bound:g}, published is {BOUNDS[graph]}")
        print(f"{graph:6}{score:12.1f}{time:12.1f}{wire:10.1f}{score / ratio:12.1f}{ratio:8.4f}{best or '':>11}{seconds:7.1f}",
              flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
