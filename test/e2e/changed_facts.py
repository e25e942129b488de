#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes one fact of a program at a time: where regions lie, what streams do, when and where kernels run.

  changed_facts.py --count 40 [--seed 0] [--program NAME]... [--state placed]... --work DIR

Programs of one region and of several, with transfers, entries, states and weights that stay, are
taken as placed, routed and scheduled IR. A change of any number, word or name that `wsec` decides
must be refused, with an error of wsec that is none about itself, or give a program that all engines
run to the same values: bit by bit where only places and times change. Change number i is the same
for the same seed; what fails is kept in DIR. Exit code 0 or 1.
"""

import argparse
import collections
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "models"))
import small_models  # noqa: E402
import two_regions  # noqa: E402
from commands import run  # noqa: E402

ENGINES = ("wavelet", "strips")
STATES = {"placed": "place", "routed": "route", "scheduled": "schedule"}
PATTERNS = ("channel launch column row_west row_east row_cast key_north value_north key_cast "
            "value_cast out_north out_exit channel_row root_west head_cast transfer "
            "column_rest out_column out_band sum_south root_north out_half").split()
VARIANTS = "reduce broadcast stationary reduce_stored broadcast_stored".split()
PORTS = "north south east west ramp".split()
NUMBERS = [0, 1, -1, 2, 3, 7, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, -2**63, 2**63 - 1]
# Errors that only another part of the project may give: the checker of files, runs, MLIR itself.
STRANGE = re.compile(r"BadProgram|MissingRoute|RouteConflict|OutOfBounds|UninitializedRead|Deadlock|"
                     r"DataRace|MicrothreadBusy|UnreadTraffic|internal|please report|legaliz|"
                     r"'pe\.|Assertion|PLEASE submit")

#===------------------------------------------------------------------------------------------===//
# Programs
#===------------------------------------------------------------------------------------------===//

# A cache that is filled token by token, and a matrix that stays.
ENTRIES = """module {
  wse.program @main state(selected) mesh(5x4) machine("wse2") {
    region @r shape(3x3)
    input @x : tensor<1x4xf32>
    parameter @held = <@w : tensor<1x6x4xf32> view 0 strides [24, 1, 6]> resident on @r as {weight}
    parameter @w = dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.5, 1.5, -1.0, 2.0, 0.0, 1.0], [3.0, 1.0, 2.0, 0.25, 1.0, 1.0], [1.0, 0.0, 0.0, 2.0, 7.0, -2.0]]> : tensor<4x6xf32>
    state @last on @r : {result}
    state @all on @r : {cache}
    entry @load {
      fill @held on @r {nodes = ["fc"]}
    }
    entry @more {
      %k = recall @last on @r {nodes = ["last"]} : {result}
      store %k to "last" on @r {nodes = ["last"]} : {result} to tensor<1x6xf32>
    }
    %x = load @x on @r {nodes = ["x"]} : {token}
    %y = matmul %x weight <@held : tensor<4x6xf32> view 0 strides [1, 4]> variant(stationary) on @r {nodes = ["fc"]} : {token} -> {result}
    update @last with %y on @r {nodes = ["last"]} : {result}
    %z = elementwise(%y) on @r {nodes = ["double"]} : ({result}) -> {result} {
    ^bb0(%p: f32):
      %sum = arith.addf %p, %p : f32
      wse.yield %sum : f32
    }
    store %y to "y" on @r {nodes = ["fc"]} : {result} to tensor<1x6xf32>
    store %z to "z" on @r {nodes = ["double"]} : {result} to tensor<1x6xf32>
  }
}
"""


def entries(work):
    tiled = "#wse.dist<rows = [0, 1], columns = [2]>"
    text = ENTRIES
    for name, shape in (("token", "1x1x4"), ("result", "1x1x6"), ("cache", "1x6x6"),
                        ("weight", "1x6x4")):
        text = text.replace("{" + name + "}", f"tensor<{shape}xf32, {tiled}>")
    path = work / "entries.mlir"
    path.write_text(text)
    return path, {"x": np.array([[1, -2, 3, 0.5]], np.float32)}, []


def transfers(work, elsewhere):
    rng = random.Random(7 + elsewhere)
    text, x = two_regions.random_case(rng, elsewhere, half=False)
    path = work / "transfers.mlir"
    path.write_text(text)
    return path, {"x": x}, []


def of_model(name, *flags):
    def make(work):
        path, inputs = small_models.obtain(name, work, 0)
        return path, inputs, list(flags)
    return make


PROGRAMS = {
    "perceptron": of_model("perceptron", "--mesh=6x5", "--region=4x3"),
    "attention": of_model("attention", "--mesh=7x5", "--region=5x4"),
    "towers": of_model("towers", "--mesh=24x12"),
    "resident": of_model("attention", "--mesh=16x8", "--mode=resident"),
    "tall": of_model("gpt-batch", "--mesh=4x70"),
    "stored": of_model("matmul", "--mesh=8x60"),
    "transfers": lambda work: transfers(work, False),
    "elsewhere": lambda work: transfers(work, True),
    "entries": entries,
}

#===------------------------------------------------------------------------------------------===//
# Changes
#===------------------------------------------------------------------------------------------===//

# What a line of the text says that the compiler decided: each match is one fact.
NUMBER = r"-?\d+"
FACTS = [
    ("place", r"(?<= at \()(-?\d+)|(?<= at \()-?\d+, (-?\d+)", None),
    ("shape", r"(?<=shape\()(\d+)|(?<=shape\()\d+x(\d+)", None),
    ("mesh", r"(?<=mesh\()(\d+)|(?<=mesh\()\d+x(\d+)", None),
    ("machine", r'(?<=machine\(")(\w+)', ["wse1", "wse2", "wse3", "wse3-silicon", "wse9"]),
    ("state", r"(?<=state\()(\w+)", ["selected", "placed", "routed", "scheduled"]),
    ("peak", r"(?<=sram_peak = )(\d+)", None),
    ("owner", r'(?<=sram_owner = ")([^"]+)', ["nobody"]),
    ("pattern", r"(?<=^stream )@\w+ (\w+)", PATTERNS),
    ("port", r"(?<=, )(north|south|east|west|ramp)(?= to )|(?<= to )([a-z|]+)(?=>)",
     PORTS + [f"{a}|{b}" for a in PORTS for b in PORTS]),
    ("rule", r"(?<=#wse.rule<color )(\d+)|(?<=[xy] = )(\d+)(?= to)|(?<= to )(\d+)(?=[ ,>])|"
             r"(?<=step )(\d+)", None),
    ("rows", r"(?<=groups = )(\d+)|(?<=pitch = )(\d+)|(?<=used = )(\d+)", None),
    ("colors", r"(?<=colors \[)(\d+)|(?<=colors \[)\d+, (\d+)", None),
    ("slot", r"(?<=slot )(\d+)|(?<=slot = )(\d+)", None),
    ("address", r"(?<=address = )(\d+)", None),
    ("scratch", r"(?<=scratch_bytes = )(\d+)", None),
    ("window", r"(?<=window = array<i64: )(\d+)|(?<=window = array<i64: )\d+, (\d+)", None),
    ("flow", r"(?<=cycles )(\d+)|(?<=ahead )(\d+)", None),
    ("variant", r"(?<=variant\()(\w+)", VARIANTS),
    ("columns", r"(?<=columns = )(\[[^]]*\])", ["[]", "[1]", "[2]", "[0]", "[2 by 2]", "[2 by 3 over 3]",
                                               "[2 by 2 over 2]", "[2 by 4]"]),
    ("rows of", r"(?<=dist<rows = )(\[[^]]*\])", ["[0]", "[1]", "[0, 1]", "[1, 0]", "[(0, 1)]",
                                                 "[0, replicated over 2]", "[0, replicated over 3]"]),
    ("symbol", r"(@\w+)", None),
]
# Numbers and words that change what is computed with, or with what rounding.
OTHER_BITS = {"shape", "mesh", "machine", "variant", "columns", "rows of"}


def facts_of(text):
    """(name, begin, end, words) of each."""
    found, at = [], 0
    for line in text.splitlines(keepends=True):
        stripped = len(line) - len(line.lstrip())
        body = line.strip()
        is_fact = body.startswith(("wse.program", "stream ", "region ", "#", "!", "state ",
                                   "parameter ")) or " on @" in body
        # Constants say what the model is.
        body = re.sub(r'dense<[^>]*>|"0x\w*"', lambda m: "\0" * len(m[0]), body)
        for name, pattern, words in FACTS if is_fact else []:
            for match in re.finditer(pattern, body):
                group = next(i for i in range(1, match.re.groups + 1) if match[i] is not None)
                if name == "symbol" and not re.search(r"(on|to|<|\[|, )\s*$", body[:match.start(group)]):
                    continue
                found.append((name, at + stripped + match.start(group),
                              at + stripped + match.end(group), words))
        at += len(line)
    return found


def inlined(text):
    """Without aliases of types: each line says its own."""
    aliases = dict(re.findall(r"^([#!]\w+) = (.*)$", text, re.M))
    for _ in range(3):
        for alias, meaning in aliases.items():
            text = re.sub(re.escape(alias) + r"\b(?! =)", lambda _: meaning, text)
    return re.sub(r"^[#!]\w+ = .*\n", "", text, flags=re.M)


def other_number(old, same, rng):
    near = [old + d for d in (-1, 1, -2, 2, -4, 4, 16, -16)] + [old * 2, old // 2]
    return str(rng.choice([rng.choice(near), rng.choice(same), rng.choice(NUMBERS)]))


def change_fact(text, rng):
    if rng.random() < 0.5:
        text = inlined(text)
    found = facts_of(text)
    name = rng.choice(sorted({fact[0] for fact in found}))
    same = [fact for fact in found if fact[0] == name]
    _, begin, end, words = rng.choice(same)
    old = text[begin:end]
    values = [text[b:e] for _, b, e, _ in same]
    if re.fullmatch(NUMBER, old) and not words:
        new = other_number(int(old), [int(v) for v in values if re.fullmatch(NUMBER, v)], rng)
    else:
        new = rng.choice((words or values) if rng.random() < 0.8 else values)
    return text[:begin] + new + text[end:], f"{name} {old} -> {new}", name not in OTHER_BITS


def change_attribute(text, rng):
    """Leaves out an attribute of a kernel, or gives it that of another."""
    pattern = (r"(?:scratch_)?address = \d+ : i64(?:, )?|scratch_bytes = \d+ : i64(?:, )?|"
               r"slot = \d+ : i64(?:, )?|window = array<[^>]*>(?:, )?|streams = \[[^]]*\](?:, )?|"
               r"flows = \[[^]]*\](?:, )?| at \(\d+, \d+\)| on @\w+(?= colors)| to @\w+(?= colors| rows)|"
               r" rows <[^>]*>|sram_\w+ = [^,}]*(?:, )?|#wse\.(?:rule|flow)<[^]#]*>(?:, )?|@\w+(?:, )(?=@)")
    matches = list(re.finditer(pattern, text))
    if not matches:
        return change_fact(text, rng)
    match = rng.choice(matches)
    new = ""
    if rng.random() < 0.5:
        new = rng.choice(matches)[0]
    elif rng.random() < 0.3:
        new = match[0] + match[0]
    result = text[:match.start()] + new + text[match.end():]
    return result, f"'{match[0][:60]}' -> '{new[:60]}'", True


def change_lines(text, rng):
    """Swaps two operations of the text, leaves one out or writes one twice."""
    lines = text.splitlines(keepends=True)
    single = [i for i, line in enumerate(lines) if re.match(r"\s+(%\w+ = |stream|region|store|"
                                                            r"update|fill|state|input)", line)
              and not line.rstrip().endswith("{")]
    a, b = rng.choice(single), rng.choice(single)
    what = rng.choice(["swap", "swap", "move", "drop", "twice"])
    if what == "drop" and not re.match(r"\s+(stream|region|state)", lines[a]):
        what = "swap"
    if what == "twice" and not re.match(r"\s+(stream|region|state|store)", lines[a]):
        what = "move"
    if what == "swap":
        lines[a], lines[b] = lines[b], lines[a]
    elif what == "move":
        lines.insert(b, lines.pop(a))
    elif what == "drop":
        lines.pop(a)
    else:
        lines.insert(b, lines[a])
    return "".join(lines), f"{what} lines {a + 1} and {b + 1}", True


def change_color(text, rng):
    """Gives a stream another color, in its rules, too."""
    streams = list(re.finditer(r"^\s+stream .*$", text, re.M))
    if not streams:
        return change_fact(text, rng)
    match = rng.choice(streams)
    colors = re.search(r"colors \[([\d, ]*)\]", match[0])[1].split(", ")
    old, new = rng.choice(colors), str(rng.randint(0, 24))
    line = re.sub(rf"(?<=color ){old}(?=,)", new, match[0])
    line = re.sub(r"colors \[[\d, ]*\]", f"colors [{', '.join(new if c == old else c for c in colors)}]",
                  line)
    return text[:match.start()] + line + text[match.end():], f"color {old} -> {new}", True


def change_addresses(text, rng):
    """Moves all buffers, or swaps two."""
    found = list(re.finditer(r"(?<=address = )\d+", text))
    if not found:
        return change_fact(text, rng)
    if rng.random() < 0.5:
        by = rng.choice([4, 8, 64, 1024, 4096, 2])
        moved = re.sub(r"(?<=address = )\d+|(?<=sram_peak = )\d+", lambda m: str(int(m[0]) + by), text)
        return moved, f"all addresses + {by}", True
    a, b = sorted(rng.sample(found, 2), key=lambda m: m.start()) if len(found) > 1 else found * 2
    swapped = text[:a.start()] + b[0] + text[a.end():b.start()] + a[0] + text[b.end():]
    return swapped, f"addresses {a[0]} and {b[0]} swapped", True


def change_order(text, rng):
    """Swaps the slots and windows of two kernels of a scheduled program that follow one another."""
    slots = {int(m[1]): m for m in re.finditer(r"slot = (\d+) : i64(.*?)window = array<i64: (\d+), (\d+)>",
                                               text)}
    pairs = [k for k in slots if k + 1 in slots]
    if not pairs:
        return change_fact(text, rng)
    k = rng.choice(pairs)
    first, second = slots[k], slots[k + 1]
    begin, middle, end = int(first[3]), int(second[3]), int(second[4])
    length = end - middle
    new = {first: f"slot = {k + 1} : i64{first[2]}window = array<i64: {begin + length}, {end}>",
           second: f"slot = {k} : i64{second[2]}window = array<i64: {begin}, {begin + length}>"}
    for match in sorted(new, key=lambda m: -m.start()):
        text = text[:match.start()] + new[match] + text[match.end():]
    return text, f"slots {k} and {k + 1} swapped", True


CHANGES = [change_fact] * 6 + [change_attribute] * 2 + [change_lines, change_color, change_addresses,
                                                       change_order]

#===------------------------------------------------------------------------------------------===//
# Trying them
#===------------------------------------------------------------------------------------------===//


class Program:
    def __init__(self, name, work):
        self.work = work / name
        self.work.mkdir(parents=True, exist_ok=True)
        self.path, inputs, self.flags = PROGRAMS[name](self.work)
        np.savez(self.work / "inputs.npz", **inputs)
        self.expected = {}

    def text(self, state):
        out = self.work / f"{state}.mlir"
        run(["wsec", self.path, *self.flags, f"--stop-after={STATES[state]}", "--print-constants",
             "-o", out])
        return out.read_text()

    def compile(self, text, name):
        source, program = self.work / f"{name}.mlir", self.work / f"{name}.wafer"
        source.write_text(text)
        program.unlink(missing_ok=True)
        return subprocess.run(["wsec", source, "-o", program, "--quiet"], capture_output=True,
                              text=True, check=False, timeout=120)

    def outputs(self, name, engine):
        """By name; or what the run said."""
        path = self.work / "out.npz"
        result = subprocess.run(
            ["wse-run", self.work / f"{name}.wafer", f"--weights={self.work}", "--inputs",
             self.work / "inputs.npz", "--outputs", path, f"--engine={engine}", "--quiet"],
            capture_output=True, text=True, check=False, timeout=300)
        if result.returncode:
            return f"{engine} exits with {result.returncode}: {result.stderr}"
        with np.load(path) as file:
            return {key: file[key] for key in file}

    def obtain_expected(self, text):
        result = self.compile(text, "good")
        assert result.returncode == 0, result.stderr
        self.expected = {engine: self.outputs("good", engine) for engine in ENGINES}
        for engine, outputs in self.expected.items():
            assert isinstance(outputs, dict), outputs
        self.good = (self.work / "good.wafer").read_bytes()

    def fault(self, text, same_bits):
        """(what is wrong, or None; what the compiler said, or None)."""
        result = self.compile(text, "changed")
        if result.returncode == 1:
            strange = STRANGE.search(result.stderr)
            if strange or "error: " not in result.stderr:
                return f"refused, but strangely: {result.stderr}", result.stderr
            return None, result.stderr
        if result.returncode:
            return f"wsec exits with {result.returncode}: {result.stderr}", None
        for engine in ENGINES:
            outputs = self.outputs("changed", engine)
            if isinstance(outputs, str):
                return outputs, None
            for name, expected in self.expected[engine].items():
                if name not in outputs:
                    return f"no output {name}", None
                if same_bits and outputs[name].tobytes() != expected.tobytes():
                    return f"{engine}: other bits of {name}", None
                if not np.allclose(outputs[name], expected, 1e-4, 1e-4, equal_nan=True):
                    return f"{engine}: other values of {name}", None
        return None, None


def first_error(stderr):
    """Without names and numbers."""
    line = next(line for line in stderr.splitlines() if "error: " in line)
    return re.sub(r"'[^']*'|@\w+|\d+", "#", line.partition("error: ")[2])[:90]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40, help="of each program and state")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--program", action="append", choices=sorted(PROGRAMS))
    parser.add_argument("--state", action="append", choices=sorted(STATES))
    parser.add_argument("--said", action="store_true", help="print what was refused, by kind")
    parser.add_argument("--work", type=Path, required=True)
    arguments = parser.parse_args()
    said = collections.Counter()
    failed = 0
    for name in arguments.program or PROGRAMS:
        program = Program(name, arguments.work)
        for state in arguments.state or STATES:
            text = program.text(state)
            program.obtain_expected(text)
            refused = same = other = 0
            for number in range(arguments.count):
                rng = random.Random(f"{arguments.seed} {name} {state} {number}")
                changed = text
                while changed == text:
                    changed, what, same_bits = rng.choice(CHANGES)(text, rng)
                fault, error = program.fault(changed, same_bits)
                if fault:
                    failed += 1
                    kept = program.work / f"failed-{state}-{arguments.seed}-{number}.mlir"
                    kept.write_text(changed)
                    print(f"{kept}: {what}: {fault.strip()[:600]}")
                elif error:
                    refused += 1
                    said[first_error(error)] += 1
                elif (program.work / "changed.wafer").read_bytes() == program.good:
                    same += 1
                else:
                    other += 1
            print(f"{name}, {state}: {refused} refused by name, {other} other programs and {same} "
                  f"equal ones with the same values", flush=True)
    if arguments.said:
        for error, count in said.most_common():
            print(f"{count:5} {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
