# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reruns the commands of documents: check_commands.py [--write] FILE...

In a block whose first line is "$ wse-opt ...", every such line is run in the
root of the repository and must print the lines that follow it. --write puts
what it prints there.
"""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

BLOCK = re.compile(r"^```\n((?:\$ wse-opt .*\n(?:(?!\$ |```).*\n)*)+)```$", re.M)


def rerun(block):
    """The block as it reads now, and how many commands it has."""
    commands = re.findall(r"^\$ (wse-opt .*)$", block, re.M)
    text = ""
    for command in commands:
        output = subprocess.run(["bash", "-o", "pipefail", "-c", command], text=True,
                                check=True, capture_output=True).stdout
        lines = [line.rstrip() for line in textwrap.dedent(output).strip("\n").split("\n")]
        text += "\n".join([f"$ {command}", *lines]) + "\n"
    return text, len(commands)


def main():
    write = "--write" in sys.argv
    stale = False
    for path in map(Path, [name for name in sys.argv[1:] if name != "--write"]):
        text, number = path.read_text(encoding="utf-8"), 0
        for block in BLOCK.findall(text):
            now, commands = rerun(block)
            number += commands
            if now != block:
                stale = True
                print(f"{path}: expected\n{now}")
                text = text.replace(block, now)
        if write:
            path.write_text(text, encoding="utf-8")
        print(f"{path}: {number} commands")
    return 1 if stale and not write else 0


if __name__ == "__main__":
    sys.exit(main())
