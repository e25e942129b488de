# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the examples of pass descriptions: check_pass_examples.py FILE.td...

Every pass has one. The first block of its description, ```mlir, goes through
the pass, or through the passes that its first line names after "// wse-opt".
The next block is what comes of it:

- ```mlir: the IR, in which names of values and line breaks do not matter; or,
  with lines "...", parts of it as it is printed.
- without a language: lines of what the pass prints; of an error, if they say so.
"""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

PASS = re.compile(r'^def \w+\s*:\s*Pass<"([\w-]+)".*?^}', re.M | re.S)
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.M | re.S)


def run(text, *flags):
    result = subprocess.run(["wse-opt", "-", "--mlir-print-op-on-diagnostic=false", *flags],
                            input=text, text=True, check=False, capture_output=True)
    return result.stdout, result.stderr


def folded(text):
    return re.sub(r"\s+", " ", text).strip()


def contains(printed, parts):
    """Whether the parts follow one another in what is printed."""
    at = 0
    for part in map(folded, parts):
        at = printed.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def problem_of(flag, blocks):
    """What is wrong with the example of a pass, or an empty text."""
    if len(blocks) < 2 or blocks[0][0] != "mlir":
        return "expected a ```mlir block and one of what becomes of it"
    before = textwrap.dedent(blocks[0][1])
    language, after = blocks[1][0], textwrap.dedent(blocks[1][1])
    given = re.match(r"// wse-opt (.*)\n", before)
    flags = given[1].split() if given else [f"--{flag}"]
    if not any(f"--{flag}" == given.split("=")[0] for given in flags):
        return f"the example does not run --{flag}"
    output, errors = run(before, *flags)
    if bool(errors) != (not language and "error:" in after):
        return errors or "there is no error"
    if not language:
        lines = after.strip().split("\n")
        if not lines[0]:
            return "the example shows nothing that is printed"
        return "" if contains(folded(errors or output), lines) else f"printed:\n{errors or output}"
    if re.search(r"^ *\.\.\.$", after, re.M):
        parts = re.split(r"^ *\.\.\.$", after, flags=re.M)
        if not "".join(parts).strip():
            return "the example shows nothing of what comes of it"
        return "" if contains(folded(output), parts) else f"printed:\n{output}"
    expected, errors = run(after)
    return errors if errors else "" if output == expected else f"printed:\n{output}"


def main():
    wrong = False
    for path in map(Path, sys.argv[1:]):
        text, number = path.read_text(encoding="utf-8"), 0
        for number, match in enumerate(PASS.finditer(text), 1):
            if problem := problem_of(match[1], BLOCK.findall(match[0])):
                wrong = True
                line = text.count("\n", 0, match.start()) + 1
                print(f"{path}:{line}: {match[1]}: {problem}")
        if number == 0 or number != text.count(': Pass<"'):
            wrong = True
            print(f"{path}: not all of its passes were found")
        print(f"{path}: {number} passes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
