#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs on two or three regions, in MLIR: two_regions.py --count N --seed S --work DIR

A tensor is loaded on one region, moved to another that lies somewhere in the
same rows, or with --elsewhere in others and more or fewer of them, and back;
both compute with it. Of three regions the third, which may lie between them,
takes it from both. With --half tensors on the wafer are of f16. Shapes, distributions and places are random. All engines have to give the numbers of NumPy and equal bytes; the
placement dump has to name the transfers. Between other rows a program may be
refused for lack of ways, by name. Exit code 0 or 1.
"""

import argparse
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import recover_streams
from commands import run

ENGINES = ("wavelet", "strips")

PROGRAM = """module {{
  wse.program @main state(selected) mesh({mesh}) machine("wse2") {{
    region @a shape({a}x{height_a}) at ({at_a}, {row_a})
    region @b shape({b}x{height_b}) at ({at_b}, {row_b}){third_region}
    input @x : tensor<{shape}x{type}>
    %x = load @x on @a {{nodes = ["x"]}} : {first}
    %t = transfer %x on @b {{nodes = ["t"]}} : {first} -> {second}
    %u = elementwise(%t, %t) on @b {{nodes = ["u"]}} : ({second}, {second}) -> {second} {{
    ^bb0(%p: {type}, %q: {type}):
      %sum = arith.{add} %p, %q : {type}
      wse.yield %sum : {type}
    }}
    %v = transfer %u on @a {{nodes = ["v"]}} : {second} -> {third}
    %w = transfer %x on @b {{nodes = ["w"]}} : {first} -> {second}
{third_kernels}    store %v to "doubled" on @a : {third} to tensor<{shape}x{type}>
    store %w to "same" on @b : {second} to tensor<{shape}x{type}>
  }}
}}
"""

THIRD_REGION = """
    region @c shape({c}x{height_c}) at ({at_c}, {row_c})"""
THIRD_KERNELS = """    %near = transfer %u on @c {{nodes = ["near"]}} : {second} -> {fourth}
    %far = transfer %x on @c {{nodes = ["far"]}} : {first} -> {fourth}
    %all = elementwise(%near, %far) on @c {{nodes = ["all"]}} : ({fourth}, {fourth}) -> {fourth} {{
    ^bb0(%p: {type}, %q: {type}):
      %sum = arith.{add} %p, %q : {type}
      wse.yield %sum : {type}
    }}
    store %all to "tripled" on @c : {fourth} to tensor<{shape}x{type}>
"""


def other_rows(rng, names, height):
    """How many rows each region has, where it begins, and the rows of the mesh: any rows of a
    mesh of one channel."""
    own = {name: height if rng.random() < 0.5 else rng.randint(1, 9) for name in names}
    rows = {name: rng.randint(0, 2 * height) for name in names}
    return own, rows, max(rows[name] + own[name] for name in names) + rng.randint(0, 2)


def random_case(rng, elsewhere, half):
    """The text of a program, and its input; the regions in the same rows, or elsewhere."""
    batch, tokens, heads = rng.randint(1, 3), rng.randint(1, 6), rng.randint(1, 5)
    size = rng.choice([1, 1, 2, 3])
    features = heads * size
    height = rng.randint(1, 7)
    names = ["a", "b", "c"][:rng.randint(2, 3)]
    width = {name: rng.randint(1, 5) for name in names}
    at, x = {}, 0
    for name in rng.sample(names, len(names)):
        at[name] = x + rng.randint(0, 4 if elsewhere else 2)
        x = at[name] + width[name]
    y = rng.randint(0, 3)
    row, own = {name: y for name in names}, {name: height for name in names}
    mesh_height = y + height + rng.randint(0, 2)
    if elsewhere:
        own, row, mesh_height = other_rows(rng, names, height)
        if len(names) == 2 and row["a"] >= row["b"] + own["b"] and rng.random() < 0.5:
            at["a"] = at["b"]  # one above the other
            x = at["a"] + max(width.values())
    is_integer = rng.random() < 0.3
    kind = "i32" if is_integer else "f32"

    def tensor(width, replicated=False):
        columns = "2"
        if replicated:
            columns = ""
        elif size > 1 and rng.random() < 0.5:
            columns = f"2 by {size}"
            if heads * size <= width and rng.random() < 0.5:
                columns += f" over {size}"
        element = "f16" if half and not is_integer else kind
        return (f"tensor<{batch}x{tokens}x{features}x{element}, "
                f"#wse.dist<rows = [0, 1], columns = [{columns}]>>")

    facts = {
        "mesh": f"{x + 2 * elsewhere + rng.randint(0, 2)}x{mesh_height}",
        "shape": f"{batch}x{tokens}x{features}", "type": kind,
        "add": "addi" if is_integer else "addf", "first": tensor(width["a"]),
        "second": tensor(width["b"]), "third": tensor(width["a"], replicated=rng.random() < 0.3),
        "fourth": tensor(width.get("c", 1))}
    for name in names:
        facts[name], facts[f"height_{name}"] = width[name], own[name]
        facts[f"at_{name}"], facts[f"row_{name}"] = at[name], row[name]
    third = "c" in names
    text = PROGRAM.format(third_region=THIRD_REGION.format(**facts) if third else "",
                          third_kernels=THIRD_KERNELS.format(**facts) if third else "", **facts)
    count = batch * tokens * features
    values = np.arange(count, dtype=np.int32 if is_integer else np.float32) * 3 - 7
    if half:
        values = np.fmod(values, 600)  # three times as much is exact
    return text, values.reshape(batch, tokens, features)


def check(text, x, work, engines):
    source, program = work / "two.mlir", work / "two.wafer"
    source.write_text(text)
    np.save(work / "x.npy", x)
    command = ["wsec", source, "-o", program, "--quiet",
               f"--dump-placement={work / 'two.json'}"]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    if "RouteCongestion" in compiled.stderr:
        assert re.search(r"error: .*from @[abc] in rows .* to @[abc] in rows .*\n"
                         r"note: .* compete for .*\n(note: .*\n)*note: .*place both in|"
                         r"error: .*rows of @[abc] in rows .* meet in one of @[abc] .*\n"
                         r"note: .* differ less", compiled.stderr), compiled.stderr
        return False
    assert compiled.returncode == 0, (compiled.stderr, text)
    placement = json.loads((work / "two.json").read_text())
    problem, _ = recover_streams.difference(program, work / "two.json")
    assert problem is None, (problem, text)
    expected = {"doubled": x + x, "same": x}
    moves = [("t", "a", "b"), ("v", "b", "a"), ("w", "a", "b")]
    if "@c" in text:
        expected["tripled"] = x + x + x
        moves += [("near", "b", "c"), ("far", "a", "c")]
    assert [(t["kernel"], t["from"], t["to"]) for t in placement["transfers"]] == moves, (
        placement["transfers"])
    found = set()
    for engine in engines:
        outputs = {name: work / f"{name}.npy" for name in expected}
        run(["wse-run", program, "--quiet", f"--engine={engine}", "--input", f"x={work / 'x.npy'}"]
            + [f"--output={name}={path}" for name, path in outputs.items()])
        for name, path in outputs.items():
            assert np.array_equal(np.load(path), expected[name]), (engine, name, text)
        found.add(b"".join(path.read_bytes() for path in outputs.values()))
    assert len(found) == 1
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--elsewhere", action="store_true", help="each region in rows of its own")
    parser.add_argument("--half", action="store_true")
    parser.add_argument("--work", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    rng = random.Random(arguments.seed)
    engines = ENGINES[:2] if arguments.half else ENGINES  # strips has no f16
    ran = sum(check(*random_case(rng, arguments.elsewhere, arguments.half), arguments.work, engines)
              for _ in range(arguments.count))
    refused = f", {arguments.count - ran} without ways" if ran < arguments.count else ""
    print(f"{ran} programs on several regions{refused}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
