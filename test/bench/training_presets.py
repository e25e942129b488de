#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What it takes to compile presets for training, on the whole wafer, at the tokens that they were published with.

  training_presets.py --check            are tokens, layers, launches and code those of the rows in tools/presets/README.md
  training_presets.py --update [NAME..]  writes its rows, all or those of NAME

Launches of a layer are what 5 layers have more than 4; all layers must have as many, and as much code. Seconds are of the user, of this
machine, and bytes those of the compiler at its peak: of all layers, and not checked."""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from predicted_table import BIN, HERE, alike

PAGE = HERE.parents[1] / "tools/presets/README.md"
PRESETS = {"cerebras-gpt-111m": 10, "gpt2-s": 12, "gpt2-m": 24, "gpt3-xl": 24, "gpt3-175b": 96, "megatron-1t": 128}


def compiled(work, preset, layers):
    """Launches, bytes of code, tokens of a call; seconds of the user, and bytes."""
    config, report, said = work / "m.yaml", work / "m.json", work / "said"
    config.write_text(f"model: {{preset: {preset}, layers: {layers}}}", encoding="utf-8")
    command = [str(word) for word in (BIN / "wsec", "train", config, "--compile-only", f"--cache={work / 'programs'}", f"--report={report}")]
    child = os.fork()
    if child == 0:
        file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.execv(command[0], command)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"{preset}, {layers} layers: {said.read_text(encoding='utf-8').strip().splitlines()[0]}")
    found = json.loads(report.read_text(encoding="utf-8"))["compilation"]
    return (len(found["kernels"]), found["sram"]["code_bytes"], found["tokens"]["per_run"]), usage.ru_utime, 1024 * usage.ru_maxrss


def row(work, preset, whole):
    layers = PRESETS[preset]
    (four, _, _), _, _ = compiled(work, preset, 4)
    (five, code, tokens), seconds, memory = compiled(work, preset, 5)
    if whole:
        all_of, seconds, memory = compiled(work, preset, layers)
        expected = (five + (layers - 5) * (five - four), code, tokens)
        if all_of != expected:
            raise RuntimeError(f"{preset}: launches, code and tokens are {all_of}, and 4 and 5 layers let expect {expected}")
    return f"| `{preset}` | {tokens:,} | {layers} | {five - four} | {code:,} | {seconds:.1f} | {memory / 1e9:.2f} |\n"


def is_row(line):
    return line.startswith("| `") and line.count("|") == 8


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--update", nargs="*", choices=list(PRESETS))
    arguments = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    kept = {line.split("`")[1]: line + "\n" for line in text.splitlines() if is_row(line)}
    names = [name for name in PRESETS if name in kept] if arguments.update is None else arguments.update or list(PRESETS)
    with tempfile.TemporaryDirectory() as folder:
        found = kept | {name: row(Path(folder), name, arguments.update is not None) for name in names}
    rows = "".join(found[name] for name in PRESETS if name in found)
    print(rows, end="")
    if arguments.update is not None:
        head, _, tail = text.partition("|---|---|---|---|---|---|---|\n")
        rest = "".join(line + "\n" for line in tail.splitlines() if not is_row(line))
        PAGE.write_text(f"{head}|---|---|---|---|---|---|---|\n{rows}{rest}", encoding="utf-8")
    elif not alike(text, rows, is_row, range(1, 6), ()):
        print(f"{PAGE.name} has other numbers: training.py --update")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
