#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What it takes to compile presets for training, on the whole wafer, at the tokens that they were published with.

  training_presets.py --check [NAME..]   are tokens, layers, launches and code, or what refuses, those of the rows in tools/presets/training.md
  training_presets.py --update [NAME..]  writes its rows, all or those of NAME

Launches of a layer are what 8 layers have more than 7; all layers must have as many, and no more code. Seconds are of the user, of this
machine, and bytes those of the compiler at its peak: of all layers, and not checked. What is refused is so with all layers."""

import argparse
import json
import os
import re
import sys
import tempfile
from pathlib import Path

from predicted_table import BIN, HERE, alike

PAGE = HERE.parents[1] / "tools/presets/training.md"
PRESETS = {"gpt2-s": 12, "gpt2-m": 24, "gpt2-l": 36, "gpt2-xl": 48, "cerebras-gpt-111m": 10, "cerebras-gpt-256m": 14, "cerebras-gpt-590m": 18,
           "cerebras-gpt-2.7b": 32, "gpt3-xl": 24, "gpt3-6.7b": 32, "gpt3-13b": 40, "gpt3-175b": 96, "megatron-1t": 128, "gptj-6b": 28, "neox-20b": 44,
           "llama-7b": 32, "llama2-70b": 80, "llama3-8b": 32, "llama3-70b": 80, "mistral-7b": 32, "smollm2-135m": 30}


class Refused(Exception):
    """By what, and seconds and bytes until then."""


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
    took = usage.ru_utime, 1024 * usage.ru_maxrss
    if status:
        text = said.read_text(encoding="utf-8")
        lacks = re.search(r"SramOverflow: (?:kernel )?('.*? are in use)", text)
        tokens = re.search(r"with (\d+) tokens a call", text)
        if not lacks or not tokens:
            raise RuntimeError(f"{preset}, {layers} layers: {text.strip().splitlines()[0]}")
        raise Refused(int(tokens[1]), lacks[1], *took)
    found = json.loads(report.read_text(encoding="utf-8"))["compilation"]
    return (len(found["kernels"]), found["sram"]["code_bytes"], found["tokens"]["per_run"]), *took


def row(work, preset, whole):
    """A line of the table; `whole`: of all layers, where a few tell what is checked unless they are refused."""
    layers = PRESETS[preset]
    try:
        all_of, *took = compiled(work, preset, layers) if whole else [None]
        (seven, _, _), _, _ = compiled(work, preset, 7)
        (eight, code, tokens), *few = compiled(work, preset, 8)
        seconds, memory = took or few
    except Refused as refused:
        tokens, lacks, seconds, memory = refused.args
        return f"| `{preset}` | {tokens:,} | {layers} | refused: {lacks} | | {seconds:.1f} | {memory / 1e9:.2f} |\n"
    expected = eight + (layers - 8) * (eight - seven)
    if whole and (all_of[0] != expected or all_of[1] > code):
        raise RuntimeError(f"{preset}: {all_of[0]} launches and {all_of[1]} bytes of code, 7 and 8 layers let expect {expected} and at most {code}")
    return f"| `{preset}` | {tokens:,} | {layers} | {eight - seven} | {code:,} | {seconds:.1f} | {memory / 1e9:.2f} |\n"


def is_row(line):
    return line.startswith("| `") and line.count("|") == 8


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", nargs="*", choices=list(PRESETS))
    parser.add_argument("--update", nargs="*", choices=list(PRESETS))
    arguments = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    found = {line.split("`")[1]: line + "\n" for line in text.splitlines() if is_row(line)}
    updates = arguments.update is not None
    for name in (arguments.update if updates else arguments.check) or (PRESETS if updates else list(found)):
        with tempfile.TemporaryDirectory() as folder:
            found[name] = row(Path(folder), name, updates or "refused" in found[name])
        print(found[name], end="", flush=True)
    rows = "".join(found[name] for name in PRESETS if name in found)
    if updates:
        head, _, tail = text.partition("|---|---|---|---|---|---|---|\n")
        rest = "".join(line + "\n" for line in tail.splitlines() if not is_row(line))
        PAGE.write_text(f"{head}|---|---|---|---|---|---|---|\n{rows}{rest}", encoding="utf-8")
    elif not alike(text, rows, is_row, range(1, 6), ()):
        print(f"{PAGE.name} has other numbers: training_presets.py --update")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
