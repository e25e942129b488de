#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Placements of random models, fed back: placements_back.py --count 40
[--first 0] [--seed 0] [--work DIR]

Each model is compiled in a random mode, precision, mesh and size of SRAM, and
again with the placement that this wrote: the programs have the same bytes.
Model number i is the same for the same seed. Exit code 0 or 1.
"""

import argparse
import collections
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "models"))
import small_models  # noqa: E402
from random_graphs import FAMILIES, RandomModel  # noqa: E402

MACHINE = Path(__file__).resolve().parents[2] / "compiler" / "machine" / "wse2.json"
KINDS = ["towers", "four towers", "gpt", "encoder", "perceptron", "random", "gpt", "encoder"]
MESHES = [(4, 4), (6, 5), (8, 8), (12, 6), (16, 8), (9, 16), (24, 14), (32, 24), (40, 10),
          (64, 48), (750, 994)]
SRAM = [49152, 49152, 40960, 32768, 28672, 24576]
COLORS = [24, 24, 21, 19]


def write_model(path, kind, random):
    """A small model; what it says depends on `random` alone."""
    seed = int(random.integers(1 << 30))
    heads = int(random.choice([2, 3, 4]))
    width = heads * int(random.choice([4, 8, 12, 16]))
    tokens = int(random.integers(3, 24))
    if kind == "towers":
        small_models.towers(path, seed, tokens, width, heads)
    elif kind == "four towers":
        small_models.four_towers(path, seed)
    elif kind == "gpt":
        small_models.gpt(path, seed, int(random.integers(1, 7)), int(random.integers(1, 3)),
                         tokens, width, heads, int(random.integers(20, 400)))
    elif kind == "encoder":
        small_models.encoder_layer(path, seed, 1, tokens, width, heads)
    elif kind == "perceptron":
        small_models.perceptron(path, seed, tokens, width, int(random.integers(8, 300)))
    else:
        model = RandomModel([seed])
        model.write(path, model.build(str(random.choice(FAMILIES))))


def compiled(model, base, flags):
    """The bytes of the program, or what wsec said."""
    result = subprocess.run(["wsec", str(model), "-o", f"{base}.wafer", "--quiet",
                             f"--dump-placement={base}.json", *flags],
                            capture_output=True, text=True, check=False)
    return (None if result.returncode else Path(f"{base}.wafer").read_bytes()), result.stderr


def check(seed, index, work):
    """What became of model `index`: a word, and what it was."""
    random = np.random.default_rng([seed, index])
    kind = KINDS[index % len(KINDS)]
    model = work / f"{index}.onnx"
    write_model(model, kind, random)
    mesh = MESHES[random.integers(len(MESHES))]
    machine = {**json.loads(MACHINE.read_text()), "sram_bytes": int(random.choice(SRAM)),
               "colors": int(random.choice(COLORS))}
    (work / f"{index}-machine.json").write_text(json.dumps(machine))
    flags = [f"--mesh={mesh[0]}x{mesh[1]}", f"--machine={work / f'{index}-machine.json'}",
             f"--mode={random.choice(['resident', 'auto', 'stream'], p=[0.5, 0.3, 0.2])}",
             f"--precision={random.choice(['f32', 'f16'], p=[0.7, 0.3])}"]
    where = f"{index} ({kind}) {' '.join(flags)}"
    code, said = compiled(model, work / f"{index}-first", flags)
    if code is None:
        return "refused", f"{where}: {said}"
    placement = work / f"{index}-first.json"
    regions = json.loads(placement.read_text())["regions"]
    role = regions[0]["role"]
    where += f", {len(regions)} regions, role {role}"
    again, said = compiled(model, work / f"{index}-again", [*flags, f"--placement={placement}"])
    if again is None:
        return "not read back", f"{where}: {said}"
    if again != code:
        return "other bytes", where
    for file in work.glob(f"{index}[-.]*"):
        file.unlink()
    return f"equal of role {role}", where


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="number of the first model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", default="work")
    arguments = parser.parse_args()
    work = Path(arguments.work)
    work.mkdir(parents=True, exist_ok=True)
    outcomes = collections.Counter()
    for index in range(arguments.first, arguments.first + arguments.count):
        outcome, where = check(arguments.seed, index, work)
        outcomes[outcome] += 1
        if outcome in ("not read back", "other bytes"):
            print(f"{outcome}: {where}")
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
    bad = outcomes["not read back"] + outcomes["other bytes"]
    return 1 if bad or outcomes.total() == outcomes["refused"] else 0


if __name__ == "__main__":
    sys.exit(main())
