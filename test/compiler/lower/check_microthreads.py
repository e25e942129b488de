#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads pe text and says where a microthread is disturbed: check_microthreads.py FILE.

Walks the statements of each routine in every PE, loops twice. Until it is
awaited, a microthread must not be given work, what it reads must not be
written, what it writes neither read nor written, and nobody else receives or
sends on its color. Knows nothing of how the compiler writes routines.
"""

import re
import sys

MESH = re.compile(r"mesh \[(\d+), (\d+)\]")
SCALAR = re.compile(r"(%\w+) = (?:constant (-?\d+)|scalar (\w+)(?:\((.*)\))?)")
BUFFER = re.compile(r"buffer (@[\w.$]+)(?: at (\d+),)? (?:(\d+) bytes)")
OPERAND = re.compile(r"(@[\w.$]+)\[|fabric\((.*?)(?:,|\)(?= |,|$))")


FUNCTIONS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: int(a / b), "mod": lambda a, b: a - b * int(a / b),
    "min": min, "max": max, "equal": lambda a, b: int(a == b), "less": lambda a, b: int(a < b),
    "and": lambda a, b: int(bool(a and b)), "or": lambda a, b: int(bool(a or b)),
    "not": lambda a: int(not a),
    "tile_start": lambda n, p, i: i * (n // p) + min(i, n % p),
    "tile_size": lambda n, p, i: n // p + (i < n % p) if 0 <= i < p else 0,
    "tile_index": lambda n, p, e: next(
        (i for i in range(p) if e < (i + 1) * (n // p) + min(i + 1, n % p)), p),
}


def scalars_of(lines, px, py):
    """Of the class, which comes before its routines, in one PE."""
    values = {}
    for line in lines:
        if line.strip().startswith("routine "):
            return values
        if match := SCALAR.search(line):
            name, constant, function, inputs = match.groups()
            if constant is not None:
                values[name] = int(constant)
            elif function in ("px", "py"):
                values[name] = px if function == "px" else py
            else:
                values[name] = FUNCTIONS[function](*(values[i] for i in inputs.split(", ")))
    return values


def block(lines, start):
    """Statements of the body that begins behind line `start`, and its end."""
    statements, i = [], start
    while True:
        i += 1
        text = lines[i].strip()
        if text == "}":
            return statements, i
        if text.startswith("for "):
            body, i = block(lines, i)
            statements.append(("for", body, text))
        elif text.startswith("if "):
            body, i = block(lines, i)
            statements.append(("if", body, text))
        elif text.startswith("await"):
            statements.append(("await", [int(n) for n in re.findall(r"\d+", text)], text))
        elif text.startswith("vector"):
            statements.append(("vector", None, text))


class Walk:
    def __init__(self, buffers, scalars):
        self.buffers, self.scalars = buffers, scalars
        self.pending, self.found = {}, []

    def uses(self, text):
        destination, _, rest = text.partition(" = ")
        rest = rest.partition(" over (")[0]
        uses = {"reads": [], "writes": [], "receives": [], "sends": []}
        for part, memory, fabric in ((destination, "writes", "sends"), (rest, "reads", "receives")):
            for symbol, color in OPERAND.findall(part):
                uses[memory if symbol else fabric].append(self.buffers[symbol] if symbol else color)
        return uses

    def run(self, statements):
        for kind, body, text in statements:
            guard = re.search(r" where (%\w+)", text)
            if guard and not self.scalars[guard[1]]:
                continue
            if kind == "await":
                for thread in body:
                    self.pending.pop(thread, None)
            elif kind in ("for", "if"):
                self.run(body)
                self.run(body)
            else:
                self.instruction(text)

    def instruction(self, text):
        thread = re.search(r" thread (\d+)", text)
        uses = self.uses(text)
        for other, its in self.pending.items():
            problems = []
            if thread and int(thread[1]) == other:
                problems.append("gets work")
            if overlap(uses["writes"], its["reads"]):
                problems.append("reads what is written")
            if overlap(uses["writes"] + uses["reads"], its["writes"]):
                problems.append("writes what is used")
            if set(uses["receives"]) & set(its["receives"]) or set(uses["sends"]) & set(its["sends"]):
                problems.append("shares a color")
            self.found += [f"microthread {other} {problem}: {text}" for problem in problems]
        if thread:
            self.pending[int(thread[1])] = uses


def overlap(some, others):
    return any(a < d and c < b for a, b in some for c, d in others)


def main():
    lines = open(sys.argv[1]).read().splitlines()
    width, height = (int(n) for n in next(filter(None, map(MESH.search, lines))).groups())
    buffers = {}
    for line in lines:
        if match := BUFFER.search(line):
            buffers[match[1]] = (int(match[2]), int(match[2]) + int(match[3]))
    routines = {line.strip(): block(lines, i)[0] for i, line in enumerate(lines)
                if line.strip().startswith("routine ")}
    found = {}
    for px in range(width):
        for py in range(height):
            scalars = scalars_of(lines, px, py)
            for name, statements in routines.items():
                walk = Walk(buffers, scalars)
                walk.run(statements)
                found.update(dict.fromkeys(f"{name} {problem}" for problem in walk.found))
    print("\n".join(found) if found else f"{len(routines)} routines disturb no microthread")


if __name__ == "__main__":
    main()
