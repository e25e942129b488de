#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""change_weights.py FOLDER: changes the weights of m.wafer in all the ways that
a mapped file can change while a program runs, and prints what wse-run says."""

import os
import subprocess
import sys
import time
from pathlib import Path

folder = Path(sys.argv[1])
weights = folder / "weights.bin"
kept = weights.read_bytes()


def overwrite(file, content):
    with open(file, "r+b") as opened:
        opened.write(content)


def replace(file):
    (folder / "new.bin").write_bytes(bytes(len(kept)))
    os.rename(folder / "new.bin", file)


CHANGES = {
    "cut off": lambda: os.truncate(weights, 4096),
    "emptied": lambda: os.truncate(weights, 0),
    "zeros": lambda: overwrite(weights, bytes(len(kept))),
    "one byte": lambda: overwrite(weights, bytes([kept[0] ^ 1])),
    "another file": lambda: replace(weights),
}

for name, change in CHANGES.items():
    weights.write_bytes(kept)
    # The other file is not used, so that the run would go on: a shorter one.
    repeat = 1000 if name == "another file" else 1000000
    process = subprocess.Popen(
        ["wse-run", "m.wafer", "--inputs", "in.npz", "--outputs", "meanwhile.npz", "--quiet",
         f"--repeat={repeat}"], cwd=folder, stderr=subprocess.PIPE, text=True)
    maps = Path(f"/proc/{process.pid}/maps")
    while str(weights) not in maps.read_text() and process.poll() is None:
        time.sleep(0.001)
    time.sleep(0.2)  # digests are compared, and the first runs done
    if process.poll() is None:
        change()
    _, errors = process.communicate(timeout=120)
    print(f"{name}: exit {process.returncode} {errors.strip()}")
weights.write_bytes(kept)
