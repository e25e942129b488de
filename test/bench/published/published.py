#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Published cycle counts of real wafers and of the vendor's simulator, beside
what the emulator gives for the same programs.

  published.py [--quick] [--engine burst|wavelet] [--set PARAMETER=VALUE]
               [--docs FILE.md] [TABLE ...]

TABLE: one of those in this file and in large.py; all by default. --quick
leaves out what takes longer than some seconds. --set changes a parameter of
all machines, to see what rests on it. --docs writes the page that says how far
to trust which number, and keeps the numbers beside it: tables that are not run
now stay as they were. Every program also checks its values. Machine parameters
come from the presets alone: there is no constant of a table here. Exit code 1:
a number is further off than its row says.
"""

import argparse
import json
import math
import re
import sys
from pathlib import Path

import numpy as np

import assembler
import large  # noqa: F401  registers its tables
import meshgemm
import rows
import single
from table import TABLES, Row, check, table


FORMULA_WHY = "the formula has no instruction start: 5 or 6 cycles of each stage that begins anew"


@table("rates", "Vector instructions of one PE (wse3)", "FABRICA 2026, vendor simulator",
       "One synchronous instruction. Timed: between two readings of the cycle counter. Alone: to its "
       "last result.")
def rates(options):
    timed = [("copy", "f16", 15, 8.0), ("copy", "f32", 15, 4.0), ("fmac", "f16", 16, 4.0),
             ("fmac", "f32", 17, 0.5)]
    alone = [("fill", "f16", 8, 7.93), ("copy", "f16", 8, 7.85), ("axpy", "f16", 13, 3.94),
             ("add", "f16", 9, 3.96), ("mul", "f16", 9, 3.96), ("add", "i16", 9, 3.94),
             ("sum", "f16", 8, 1 / 2.0), ("dot", "f16", 20, 1 / 2.25)]
    for n in (64,) if options.quick else (8, 64, 1024):
        for operation, element, setup, rate in timed:
            run = single.vector(operation, element, n).run(options.engine)
            yield Row(f"{operation} {element}, {n} elements, timed", setup + n / rate,
                      single.elapsed(run))
        for operation, element, setup, rate in alone:
            run = single.vector(operation, element, n, clocks=False).run(options.engine)
            yield Row(f"{operation} {element}, {n} elements, alone", setup + n / rate,
                      single.span(run))


@table("short", "Short additions and one message (wse3)", "FABRICA 2026, vendor simulator")
def short(options):
    clock = single.clock_cost(options.engine)
    for n, dispatch, last in ((8, 8, 11), (16, 10, 13), (64, 22, 25)):
        run = single.vector("add", "f16", n).run(options.engine)
        yield Row(f"add f16, {n} elements, next dispatch", dispatch, single.elapsed(run) - clock)
        run = single.vector("add", "f16", n, clocks=False).run(options.engine)
        yield Row(f"add f16, {n} elements, last result", last, single.span(run))
    program, expected = single.message(8)
    run = program.run(options.engine)
    check(run, expected)
    yield Row("8 words to a waiting neighbour, all received", 19, single.elapsed(run) - clock)


@table("loops", "4,096 multiply-adds in four loop forms (wse3)", "FABRICA 2026, vendor simulator",
       "L0 one instruction, L1 a counted loop of 16 elements, L2 a map, L3 a loop around a map.")
def loops(options):
    for form, published in (("L0", 1040), ("L1", 4617), ("L2", 2840), ("L3", 3032)):
        yield Row(f"{form}", published, single.elapsed(single.loop_form(form).run(options.engine)))


@table("patterns", "Strided reads and a stencil on one PE (wse3)",
       "FABRICA 2026, vendor simulator; rates without the program they are from",
       "Kept as a guard against drift, within 30 %.")
def patterns(options):
    n = 256
    for stride in (2, 4, 8):
        run = single.vector("copy", "f16", n, stride=stride, clocks=False).run(options.engine)
        yield Row(f"copy f16 of stride {stride}, {n} elements", 8 + n * stride / 8,
                  single.span(run), 0.3)
    run = single.stencil(1024).run(options.engine)
    yield Row("5-point stencil, 1,024 results", 1024 / 0.93, single.elapsed(run), 0.3)
    yield Row("matrix-vector tile, cycles per multiply-add", 0.52, None,
              why="the shape of the tile is not published")


@table("two-phase", "Two-phase reduction along 512 PEs, 4,096 words (wse2)",
       "SpMM on Cerebras 2023, vendor simulator",
       "From the start of PE 0 to its last result, the cost of the timer taken off. One group of 512 "
       "is a plain chain.")
def two_phase(options):
    published = {2: 10055, 4: 9421, 8: 9117, 16: 8989, 32: 8973, 64: 9061, 128: 9297, 256: 9800,
                 512: 7218}
    clock = single.clock_cost(options.engine, "wse2")
    for group, cycles in published.items():
        if options.quick and group != 16:
            continue
        program, expected = rows.reduce("two-phase", 512, 4096, group=group)
        run = program.run(options.engine)
        check(run, expected)
        yield Row(f"groups of {group}", cycles, rows.elapsed_at_root(run) - clock, 0.03)


def collective(made, published, what, options, clock, bar=0.05, why=""):
    program, expected = made
    run = program.run(options.engine)
    check(run, expected)
    return Row(what, published, rows.elapsed(run) - clock, bar, why=why)


def by_formula(pattern, pes, words, options, clock):
    """A reduction or broadcast along a row beside the published formula."""
    made = (rows.broadcast(pes, words) if pattern == "broadcast"
            else rows.reduce(pattern, pes, words))
    bar, why = 0.05, ""
    if pattern == "tree":
        # Its rounds start after each other, at distances that add up to P - 1.
        bar = max(bar, (pes - 1 + 7 * math.log2(pes)) / rows.formula(pattern, pes, words))
        why = ("the formula takes the larger of contention and distance, where both add up; and "
               + FORMULA_WHY)
    elif words < 256:
        bar, why = 0.20, FORMULA_WHY
    what = f"{pattern}, {pes} PEs, {words} words"
    return collective(made, rows.formula(pattern, pes, words), what, options, clock, bar, why)


@table("collectives", "Collectives along a row (wse2)", "model of Luczynski et al. 2024",
       "A model, not a measurement: its authors found it within 4 % of a real wafer for reductions; "
       "their curves are not published. From the first clock that is read to the last.")
def collectives(options):
    clock = single.clock_cost(options.engine, "wse2")
    patterns = ("broadcast", "star", "chain", "tree", "two-phase")
    grid = [(pes, 256) for pes in (4, 8, 16, 32, 64, 128, 256, 512)]
    grid += [(512, words) for words in (1, 4, 16, 64, 1024, 4096)]
    grid += [(64, 1), (64, 4096)]
    if options.quick:
        grid = [(64, 1), (64, 256)]
    for pes, words in grid:
        for pattern in patterns:
            if options.engine == "wavelet" and pattern == "star" and pes * words > 200_000:
                continue  # minutes
            yield by_formula(pattern, pes, words, options, clock)


@table("all-reduce", "All-reduce along a row (wse2)", "model of Luczynski et al. 2024",
       "Reduce, then broadcast from the root.")
def all_reduce(options):
    clock = single.clock_cost(options.engine, "wse2")
    for pes, words in [(64, 256)] if options.quick else [(64, 256), (512, 256), (512, 4096)]:
        for pattern in ("chain", "two-phase"):
            yield collective(rows.reduce(pattern, pes, words, all_reduce=True),
                             rows.formula(pattern, pes, words)
                             + rows.formula("broadcast", pes, words),
                             f"{pattern}, {pes} PEs, {words} words", options, clock)
    yield Row("ring, 512 PEs, 4,096 words", 15328, None,
              why="not written as a program yet; by the model slower than chain and broadcast")


@table("squares", "Collectives over a square (wse2)", "model of Luczynski et al. 2024",
       "Reductions go along all rows, then down the first column.")
def squares(options):
    clock = single.clock_cost(options.engine, "wse2")
    for side in (4, 16) if options.quick else (4, 8, 16, 32, 64, 128, 256):
        for pattern in ("chain", "two-phase"):
            yield collective(rows.reduce(pattern, side, 256, side),
                             2 * rows.formula(pattern, side, 256),
                             f"{pattern} reduce, {side} x {side} PEs, 256 words", options, clock)
    sizes = [(512, 1, 1028), (512, 256, 1283)]
    if options.quick:
        sizes = [(16, 256, 256 + 30 + 5)]
    for side, words, published in sizes:
        yield collective(rows.broadcast(side, words, side), published,
                         f"broadcast, {side} x {side} PEs, {words} words", options, clock)
    yield Row("broadcast, 512 x 512 PEs, 4096 words", 5123, None,
              why="16 kB in each of 262,144 PEs; the same program as above with longer buffers")


@table("gemm", "Local matrix product, f32 (wse2)", "SpMM on Cerebras 2023, vendor simulator",
       "Every PE works alone; measured on meshes of 2x2 to 512x8 PEs, which changed nothing.")
def gemm(options):
    published = {(8, 8, 32): 9756, (8, 8, 128): 38844, (32, 32, 32): 88795,
                 (32, 32, 128): 357853, (64, 48, 64): 476866, (128, 8, 64): 150760}
    clock = single.clock_cost(options.engine, "wse2")
    for (nt, kt, m), cycles in published.items():
        run = single.gemm(nt, kt, m).run(options.engine)
        c = (run.outputs["a_out"].reshape(nt, kt) @ run.outputs["b_out"].reshape(kt, m))
        start = np.random.default_rng(1).integers(-2, 3, (1, 1, nt * m)).reshape(nt, m)
        if np.abs(run.outputs["c_out"].reshape(nt, m) - c - start).max() != 0:
            sys.exit("error: wrong product")
        yield Row(f"{nt} x {kt} x {m}", cycles, single.elapsed(run) - clock)


@table("examples", "Example programs, whole runs (wse3)", "FABRICA 2026, vendor simulator",
       "The published cycles hold the copies of the host, which go through the fabric and, on so few "
       "PEs, take most of the time. Here they take none, so these numbers bound ours from above and "
       "say no more.")
def examples(options):
    program, expected = meshgemm.meshgemm(4, 16, 16, 16, machine="wse3")
    run = program.run(options.engine)
    check(run, expected)
    yield Row("MeshGEMM, 4 x 4 PEs, 64 x 64 x 64, f16", 122770, single.span(run), None,
              why="without the host's copies")
    for what, published in {
            "SUMMA by collectives, 4 x 4 PEs, tiles of 14, f32": 51425,
            "matrix-vector product by collectives, 4 x 4 PEs": 3670,
            "MeshGEMV, 4 x 4 PEs": 14122, "Cholesky, 10 x 10 PEs": 12479,
            "7-point sparse product, 5 x 5 PEs, z 5": 2129,
            "power method, 5 x 5 PEs, 10 iterations": 43436,
            "conjugate gradients, 5 x 5 PEs, 2 iterations": 11635,
            "preconditioned, likewise": 13826, "BiCGStab, 5 x 5 PEs": 59385,
            "game of life, 12 x 12, 20 iterations": 7838, "residual, 2 x 2 PEs": 674,
            "wide multiplication, 256 bits": 81739}.items():
        yield Row(what, published, None, why="not written here")


def verdict(row):
    if row.ours is None:
        return "not run"
    if row.bar is None:
        return ""
    return "ok" if row.good else f"over {row.bar:.0%}"


def show(name, found):
    made = TABLES[name]
    print(f"\n{made.title}\n  {made.source}")
    print(f"  {'':<46}{'published':>12}{'ours':>12}{'error':>9}")
    for row in found:
        ours = "-" if row.ours is None else f"{row.ours:,.0f}"
        error = "" if row.ours is None else f"{row.error:+.1%}"
        text = "; ".join(t for t in (row.how if row.how != "run" else "", row.why) if t)
        print(f"  {row.what:<46}{row.published:>12,.6g}{ours:>12}{error:>9}  "
              f"{verdict(row):<9}{text}".rstrip(), flush=True)


def percent(row):
    return "" if row is None or row.ours is None else f"{row.error:+.1%}"


def summary(results):
    """A line for each table: what of it can be trusted how far."""
    lines = ["| table | rows run | largest error | within 5 % |", "|---|---|---|---|"]
    for name, found in results.items():
        errors = [abs(row.error) for row in found if row.ours is not None and row.bar is not None]
        worst = f"{max(errors):.1%}" if errors else "-"
        close = sum(error <= 0.05 for error in errors)
        title = TABLES[name].title
        anchor = re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
        lines.append(f"| [{title}](#{anchor}) | {len(errors)} of {len(found)} | {worst} | {close} |")
    return lines


HEAD = """# How far to trust the cycles

Generated by `published.py --docs`: do not edit. Every number of ours is a program that ran on the emulator with the parameters
of a preset, and whose values were checked. There is no constant of a table: change a parameter of the
[machine](../../../compiler/machine/README.md), and every table that rests on it moves. Errors are ours against the published
number: of the burst engine, and beside it of the wavelet engine where that ran. The bar is 5 % unless a row says
otherwise, and why.
"""


def page(numbers):
    """numbers: table -> engine -> rows."""
    main = {name: found["burst"] for name, found in numbers.items() if "burst" in found}
    lines = [HEAD, *summary(main), ""]
    for name, found in main.items():
        made = TABLES[name]
        stepped = {row.what: row for row in numbers[name].get("wavelet", [])}
        lines += [f"## {made.title}", "", f"Source: {made.source}."]
        lines += [made.note] if made.note else []
        lines += ["", "| | published | ours | error | wavelet | remarks |", "|---|---|---|---|---|---|"]
        for r in found:
            ours = "-" if r.ours is None else f"{r.ours:,.0f}"
            bar = "" if r.bar in (None, 0.05) or r.ours is None else f"within {r.bar:.0%}"
            remarks = "; ".join(t for t in (r.how if r.how != "run" else "", bar, r.why) if t)
            lines.append(f"| {r.what} | {r.published:,.6g} | {ours} | {percent(r) or 'not run'} "
                         f"| {percent(stepped.get(r.what))} | {remarks} |")
        lines.append("")
    return "\n".join(lines)


def record(docs, engine, results):
    """Writes the page. Numbers of tables and engines that were not run now stay
    as numbers.json beside it has them."""
    store = Path(docs).with_name("numbers.json")
    known = json.loads(store.read_text()) if store.exists() else {}
    for name, found in results.items():
        known.setdefault(name, {})[engine] = [vars(row) for row in found]
    known = {name: known[name] for name in TABLES if name in known}
    store.write_text(json.dumps(known, indent=1) + "\n")
    numbers = {name: {engine: [Row(**row) for row in found] for engine, found in engines.items()}
               for name, engines in known.items()}
    Path(docs).write_text(page(numbers), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE")
    parser.add_argument("--engine", default="burst", choices=["burst", "wavelet"])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--set", action="append", default=[], metavar="PARAMETER=VALUE")
    parser.add_argument("--docs", metavar="FILE.md")
    options = parser.parse_args()
    for name in options.tables:
        if name not in TABLES:
            parser.error(f"no table '{name}'; there are {', '.join(TABLES)}")
    for setting in options.set:
        name, _, value = setting.partition("=")
        assembler.CHANGED[name] = json.loads(value)
    results = {}
    for name in options.tables or TABLES:
        results[name] = list(TABLES[name].run(options))
        show(name, results[name])
    if options.docs:
        record(options.docs, options.engine, results)
    over = sum(not row.good for found in results.values() for row in found)
    print(f"\n{over} of {sum(map(len, results.values()))} numbers outside their bar")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
