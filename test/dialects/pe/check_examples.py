# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parses the examples of documents and op descriptions: check_examples.py FILE...

Every ```mlir block must parse and verify; a class alone is put into a program.
Prints how many examples each file has, and what is wrong with those that fail.
"""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

PROGRAM = 'pe.program @example mesh [8, 8] machine "wse2" {{\n{}\n}}\n'


def examples(text):
    """Blocks with the line each begins at."""
    for match in re.finditer(r"^ *```mlir\n(.*?)^ *```", text, re.M | re.S):
        yield text.count("\n", 0, match.start()) + 2, textwrap.dedent(match[1])


def main():
    wrong = False
    for path in map(Path, sys.argv[1:]):
        number = 0
        for number, (line, example) in enumerate(examples(path.read_text()), 1):
            source = PROGRAM.format(example) if example.startswith("class ") else example
            result = subprocess.run(["wse-opt", "-"], input=source, text=True, check=False,
                                    capture_output=True)
            if result.returncode:
                wrong = True
                print(f"{path}:{line}: {result.stderr}")
        print(f"{path.name}: {number} examples")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
