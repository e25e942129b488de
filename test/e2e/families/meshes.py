#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles what exporters write of transformers for meshes that nobody tuned to.

  meshes.py                  every family, each with one kind of export, and all
                             kinds; fused graphs
  meshes.py --few            three of these, on a few meshes
  meshes.py --only REGEX     some of them, by MODEL PRECISION MODE MESH

On a narrow, small, odd and large mesh, one with more rows than I/O channels, and
the whole wafer; in 32 and 16 bits; streamed, and with weights that stay. Each is
compiled, or refused for want of SRAM, within 20 seconds of one core; a sample runs,
with onnxruntime's numbers. Models are those of make_families.py, in its cache.
"""

import argparse
import itertools
import os
import re
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from families import (TOLERANCES, Failure, cache, compile_model, difference, load, run_model,
                      variants)

MESHES = ["1x3", "3x2", "13x7", "24x20", "64x64", "128x128", "750x994"]
FEW = re.compile(r"^(smollm|bert|fused)\S* (f32|f16) \S+ (1x3|64x64|750x994)$")
SECONDS = 20
FITS_NOT = re.compile(r"SRAM|SramOverflow|bytes")


def chosen_models():
    """One export of each family that the table says runs, kinds in turn."""
    families, table = {}, (Path(__file__).parent / "TABLE.md").read_text(encoding="utf-8")
    for name in variants():
        if ("| {} | {} | run |".format(*name.split(".", 1)) in table
                and (cache() / "families" / f"{name}.expected.npz").exists()):
            families.setdefault(name.partition(".")[0], []).append(name)
    for number, exports in enumerate(families.values()):
        yield exports[number % len(exports)]


def cases():
    for number, model in enumerate(chosen_models()):
        settings = itertools.product(TOLERANCES, ("stream", "resident"), MESHES)
        for place, setting in enumerate(settings):
            yield (model, *setting, place % len(MESHES) == number % (len(MESHES) - 2))


def judge(model, precision, mode, mesh, runs, seconds):
    """Whether it compiled, ran, or did not fit. Throws Failure."""
    path = cache() / "families" / f"{model}.onnx"
    inputs = load(path.with_suffix(".npz"))
    with tempfile.TemporaryDirectory() as folder:
        # Not by the clock: other tests run, too. Who takes more ends by SIGXCPU.
        limit = ["sh", "-c", f'ulimit -t {seconds}; exec "$@"', "sh"]
        refusal = compile_model(path, inputs, Path(folder), 30 * seconds, precision, mesh, mode, limit)
        if refusal:
            if not FITS_NOT.search(refusal):
                raise Failure(refusal)
            return "no room"
        if not runs:
            return "compiled"
        outputs = run_model(path, inputs, Path(folder), 30 * seconds)
    for name, expected in load(path.with_suffix(".expected.npz")).items():
        difference(name, expected, outputs[name], TOLERANCES[precision])
    return "ran"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    chosen = [case for case in cases() if re.search(arguments.only, " ".join(case[:4]))
              and (FEW.search(" ".join(case[:4])) or not arguments.few)]

    def verdict(case):
        try:
            return judge(*case, arguments.seconds)
        except Failure as failure:
            print(f"FAILED {' '.join(case[:4])}: {failure}", flush=True)
            return "failed"

    with ThreadPoolExecutor(arguments.jobs) as pool:
        counts = Counter(pool.map(verdict, chosen))
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())), "of", len(chosen))
    return counts["failed"] > 0 or counts["ran"] == 0


if __name__ == "__main__":
    sys.exit(main())
