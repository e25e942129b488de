# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs chunks and tokens of a decoder's attention over states that stay, and compares with NumPy.

usage: cached_attention.py --work FOLDER [--precision f16|bf16] [--case N] [--cycles]

A program has an entry that takes several tokens and one that takes one; both write keys and values to
the same states and attend to them; with several batch elements one where each has a position of its own. --cycles: what each call takes and is predicted to.
"""

import argparse
import json
import os
import subprocess

import numpy as np

# Mesh, batch elements, capacity in tokens, heads, heads of keys, sizes of heads of keys and values,
# tokens of a chunk, positions of chunks, and of single tokens behind them.
CASES = [
    ("13x7", 1, 23, 6, 3, 5, 5, 4, [0, 4, 8, 12], [16, 17, 22]),  # 4 columns a head, one is left over
    ("1x3", 1, 10, 2, 1, 4, 4, 3, [0, 3], [5, 9]),  # one column
    ("13x7", 2, 11, 4, 2, 8, 6, 2, [0, 2, 4], [6, 10]),  # batch elements, heads wider than columns
    ("3x2", 1, 12, 4, 4, 3, 3, 5, [0, 3], [8, 11]),  # more heads than columns
    ("5x4", 1, 20, 6, 3, 4, 4, 3, [0, 3], [6, 19]),  # columns without heads
    ("8x8", 1, 5, 4, 1, 6, 6, 2, [0, 2], [4, 1]),  # one head of keys, fewer tokens than rows
    ("8x8", 1, 40, 2, 2, 16, 16, 9, [0, 9], [18, 39]),  # a head of keys for each, more tokens than rows
    ("6x1", 1, 9, 2, 2, 7, 7, 3, [0, 3], [6, 8]),  # one row
    ("4x9", 4, 16, 4, 2, 4, 4, 5, [0, 5], [10, 15]),  # rows left over
    ("2x2", 1, 130, 6, 1, 2, 2, 6, [*range(0, 121, 6)], [126, 129]),  # scores of one token at a time
    ("4x4", 1, 60, 9, 3, 4, 4, 8, [0, 8], [16, 59]),  # of two
    ("13x7", 1, 23, 6, 3, 5, 5, 8, [0, 8], [16, 17, 22]),  # three chunks in a call
    ("5x4", 2, 20, 6, 3, 4, 4, 4, [0, 4, 8], [12, 19]),  # in rows that share tokens
    ("2x2", 1, 130, 6, 1, 2, 2, 6, [*range(0, 121, 6)], [126, 129]),  # scores of one token at a time
    ("4x100", 1, 800, 2, 2, 24, 24, 100, [*range(0, 800, 100)], [3, 799]),  # rows weigh by their own largest scores first
]
# Of cases by number: how many tokens a query sees, up to its own, one beyond any capacity; and what bounds scores.
WINDOWS = {1: 1, 2: 4, 4: 7, 5: 1 << 40, 6: 11, 11: 3, 12: 5, 13: 16, 14: 290}
# Of which windows end at their multiples.
CHUNKED = {11, 12, 13}
SOFTCAPS = {4: 2.0, 6: 5.0, 7: 3.0}
# A score of each head beside those of keys, which nothing scales: around those of keys, or beyond all that counts.
SINKS = {number: np.linspace(-3, 3, CASES[number][3]).round(1).astype("f4") for number in (0, 1, 2, 3, 4, 6, 9, 10, 14)}
SINKS[8] = np.array([200, 0, -200, 1], "f4")
# On a tall mesh a launch is predicted up to three tenths too long: its first rows begin while words of the launch before are on their way to
# others, and what an exchange hides of weighing is more than the cost has.
TALL = {14}
TOLERANCES = {"f32": 1e-5, "f16": 6 * 2.0**-11, "bf16": 6 * 2.0**-8}
ENGINES = ["wavelet", "strips"]

ENTRY = """
  input @q{name} : tensor<{batch}x{count}x{queries}xf32>
  input @k{name} : tensor<{batch}x{count}x{keys}xf32>
  input @v{name} : tensor<{batch}x{count}x{values}xf32>
  entry @{name}({arguments}) {{
    {sinks}
    %q = load @q{name} on @r {{nodes = ["q"]}} : tensor<{batch}x{count}x{queries}x{element}, #q>
    %k = load @k{name} on @r {{nodes = ["k"]}} : tensor<{batch}x{count}x{keys}x{element}, #k>
    %v = load @v{name} on @r {{nodes = ["v"]}} : tensor<{batch}x{count}x{values}x{element}, #v>
    update @keys at {at} with %k on @r {{nodes = ["keys"]}} : tensor<{batch}x{count}x{keys}x{element}, #k>
    update @values at {at} with %v on @r {{nodes = ["values"]}} : tensor<{batch}x{count}x{values}x{element}, #v>
    %y = cached_attention %q keys @keys values @values at {at} heads({heads}, {key_heads}) scale(0.5) {sunk}on @r {{{few}{sight}nodes = ["attend"]}} : tensor<{batch}x{count}x{queries}x{element}, #q> -> tensor<{batch}x{count}x{results}x{element}, #y>
    store %y to "y{name}" on @r {{nodes = ["y"]}} : tensor<{batch}x{count}x{results}x{element}, #y> to tensor<{batch}x{count}x{results}xf32>
  }}
"""


def program(case, element, few, window, chunked, softcap, sinks):
    """A module; its chunks with `few` scores at a time."""
    sight = (f"sliding_window = {window} : i64, " if window else "") + ("chunked, " if chunked else "") + (f"softcap = {softcap} : f32, " if softcap else "")
    mesh, batch, capacity, heads, key_heads, size, value_size, chunk, _, _ = case
    columns = min(size, max(1, int(mesh.split("x")[0]) // key_heads))
    repeat = heads // key_heads
    over = lambda unit: f"2 by {unit}" + (f" over {columns}" if columns > 1 else "")
    lines = [f"#{name} = #wse.dist<rows = [0, 1{' cyclic' if name in ('ks', 'vs') else ''}], columns = [{over(unit)}]>"
             for name, unit in (("q", repeat * size), ("y", repeat * value_size), ("k", size), ("v", value_size),
                                ("ks", size), ("vs", value_size))]
    lines += [f'wse.program @main state(selected) mesh({mesh}) machine("wse2") {{', f"  region @r shape({mesh})",
              f"  state @keys on @r : tensor<{batch}x{capacity}x{key_heads * size}x{element}, #ks>",
              f"  state @values on @r : tensor<{batch}x{capacity}x{key_heads * value_size}x{element}, #vs>"]
    numbers = {"batch": batch, "queries": heads * size, "keys": key_heads * size, "values": key_heads * value_size,
               "results": heads * value_size, "heads": heads, "key_heads": key_heads, "element": element, "sight": sight,
               "sinks": "", "sunk": ""}
    if sinks is not None:
        type_of = f"tensor<{batch}x1x{heads}x{element}, #wse.dist<rows = [0, 1], columns = []>>"
        lines.append(f"  parameter @sinks = dense<{sinks.tolist()}> : tensor<{heads}xf32>")
        numbers |= {"sinks": f'%s = load <@sinks : tensor<{batch}x1x{heads}xf32> view 0 strides [0, 0, 1]> on @r {{nodes = ["sinks"]}} : {type_of}', "sunk": f"sinks(%s : {type_of}) "}
    for name, count in (("chunk", chunk), ("token", 1), *[("apart", 1)] * (batch > 1)):
        at = [f"%position_{i}" for i in range(batch)] if name == "apart" else ["%position"]
        lines.append(ENTRY.format(name=name, count=count, at=", ".join(at),
                                  arguments=", ".join(f"{its} from 0 to {capacity - count}" for its in at),
                                  few="few_scores, " if few and count > 1 else "", **numbers))
    return "\n".join(lines) + "}\n"


def attention(q, keys, values, heads, key_heads, position, window, chunked, softcap, sinks):
    """In f64; token i of q sees the keys up to position + i, or the last of them."""
    split = lambda x, n: x.astype("f8").reshape(*x.shape[:2], n, -1).transpose(0, 2, 1, 3)
    qh = split(q, heads)
    kh, vh = (np.repeat(split(x, key_heads), heads // key_heads, 1) for x in (keys, values))
    scores = 0.5 * qh @ kh.transpose(0, 1, 3, 2)
    scores = softcap * np.tanh(scores / softcap) if softcap else scores
    own = position + np.arange(q.shape[1])[:, None]
    seen = np.arange(keys.shape[1]) <= own
    if chunked:
        seen &= np.arange(keys.shape[1]) >= own // window * window
    elif window:
        seen &= np.arange(keys.shape[1]) > own - window
    scores = np.where(seen, scores, -np.inf)
    if sinks is not None:
        beside = np.broadcast_to(sinks[:, None, None], (*scores.shape[:-1], 1))
        scores = np.concatenate([scores, beside], -1)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights[..., :keys.shape[1]] @ vh).transpose(0, 2, 1, 3).reshape(*q.shape[:2], -1)


def run(*command):
    subprocess.run(command, check=True)


def check(folder, number, case, element, engines, cycles):
    mesh, batch, capacity, heads, key_heads, size, value_size, chunk, chunks, steps = case
    path = f"{folder}/{number}"
    with open(f"{path}.mlir", "w", encoding="utf-8") as file:
        file.write(program(case, element, few=number % 2 == 1, window=WINDOWS.get(number),
                           chunked=number in CHUNKED, softcap=SOFTCAPS.get(number),
                           sinks=SINKS.get(number)))
    run("wsec", f"{path}.mlir", "-o", f"{path}.wafer", f"--report={path}.json", "--quiet")
    predicted = cycles_of(f"{path}.json")
    for engine in engines:
        random = np.random.RandomState(number)
        counted = {}
        keys = np.zeros((batch, capacity, key_heads * size), "f4")
        values = np.zeros((batch, capacity, key_heads * value_size), "f4")
        kept, written = [], 0
        # The last call begins anew: what others left behind is not seen.
        for name, count, position in [("chunk", chunk, p) for p in chunks] + [("token", 1, p) for p in steps] + [("chunk", chunk, 0)]:
            while written < position:  # no token is passed over
                call(path, engine, "token", kept, random, keys, values, number, written, 1, element)
                kept, written = [f"--load-state={path}.state"], written + 1
            counted[name, position] = call(path, engine, name, kept, random, keys, values, number, position, count, element)
            kept, written = [f"--load-state={path}.state"], max(written, position + count)
            if cycles:
                print(f"case {number}, {engine}, {name} at {position}: {counted[name, position]} cycles")
        # Batch elements at positions of their own.
        for shift in range(2 * (batch > 1)):
            places = [(written - 1 - (3 + shift) * i) % written for i in range(batch)]
            call(path, engine, "apart", kept, random, keys, values, number, places, 1, element)
        # They grow with the tokens that are there, and are predicted for the last position.
        (_, first), *_, (_, last) = sorted((p, counted["token", p]) for p in steps)
        assert first < last, (path, engine, counted)
        off = predicted / counted["token", capacity - 1] - 1
        assert abs(off) < (0.3 if number in TALL else 0.1), (path, engine, off)


def cycles_of(report):
    with open(report, encoding="utf-8") as file:
        return [k["cycles"] for k in json.load(file)["kernels"] if k["kind"] == "cached_attention" and k["cycles"]][-1]


def call(path, engine, name, kept, random, keys, values, number, position, count, element):
    _, batch, _, heads, key_heads, size, _, _, _, _ = CASES[number]
    numbers = lambda *shape: np.round(random.randn(*shape) * 32).clip(-127, 127).astype("f4") / 32  # f16 and bf16 have them
    q = 2 * numbers(batch, count, heads * size)
    places = position if isinstance(position, list) else [position] * batch
    new = [numbers(batch, count, its.shape[2]) for its in (keys, values)]
    for element_number, first in enumerate(places):
        for kept_ones, its in zip((keys, values), new):
            kept_ones[element_number, first:first + count] = its[element_number]
    inputs = []
    for letter, array in (("q", q), ("k", new[0]), ("v", new[1])):
        np.save(f"{path}.{letter}.npy", array)
        inputs.append(f"--input={letter}{name}={path}.{letter}.npy")
    words = [f"--argument=position={position}"]
    if places is position:
        words = [f"--argument=position_{i}={first}" for i, first in enumerate(places)]
    run("wse-run", f"{path}.wafer", f"--entry={name}", *words, f"--engine={engine}",
        *inputs, *kept, f"--save-state={path}.state", f"--output=y{name}={path}.y.npy", f"--report={path}.json", "--quiet")
    expected = np.concatenate([attention(q[i:i + 1], keys[i:i + 1, :first + count], values[i:i + 1, :first + count], heads,
                                         key_heads, first, WINDOWS.get(number), number in CHUNKED, SOFTCAPS.get(number), SINKS.get(number))
                               for i, first in enumerate(places)])
    error = np.abs(np.load(f"{path}.y.npy") - expected).max() / max(1, np.abs(expected).max())
    assert error <= TOLERANCES[element], (path, engine, name, position, error)
    return cycles_of(f"{path}.json")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", required=True)
    parser.add_argument("--precision", default="f32", choices=list(TOLERANCES))
    parser.add_argument("--case", type=int)
    parser.add_argument("--engine")
    parser.add_argument("--cycles", action="store_true")
    arguments = parser.parse_args()
    os.makedirs(arguments.work, exist_ok=True)
    for number, case in enumerate(CASES):
        if arguments.case in (None, number):
            check(arguments.work, number, case, arguments.precision, [arguments.engine] if arguments.engine else ENGINES, arguments.cycles)
    print("all calls agree")


if __name__ == "__main__":
    main()
