#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Published cycle counts of real wafers and of the vendor's simulator, beside
what the emulator gives for the same programs.

  published.py [--quick | --slow] [--set PARAMETER=VALUE] [--docs FILE.md]
               [TABLE ...]

TABLE: one of those in this file and in large.py; all by default. --quick
leaves out what takes longer than some seconds, --slow nothing. --set changes a
parameter of all machines, to see what rests on it. --docs writes the page that
says how far to trust which number, and keeps the numbers beside it: what is not
run now stays as it was; the tables are in tables.md beside it. Whole programs
also check their values. Machine parameters come from the presets alone: there
is no constant of a table here. Exit code 1: a number is further off than its
row says.
"""

import argparse
import json
import math
import re
import sys
from pathlib import Path

import numpy as np

import assembler
import bicgstab
import examples
import large  # registers its tables, too
import meshgemm
import rows
import single
import summa
from table import ABOUT, MINUTES, TABLES, Row, affordable, check, table


ADDED = "the formula takes the larger of contention and distance, where both add up"
RING = ("the model has rounds, and a latency between them; ours streams, which hides it, but in the "
        "second half every word takes the datapath twice, once to go on and once to be stored")
STARTS = "the formula has no start of instructions, 4 or 5 cycles"


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
            run = single.vector(operation, element, n).run()
            yield Row(f"{operation} {element}, {n} elements, timed", setup + n / rate,
                      single.elapsed(run))
        for operation, element, setup, rate in alone:
            run = single.vector(operation, element, n, clocks=False).run()
            yield Row(f"{operation} {element}, {n} elements, alone", setup + n / rate,
                      single.span(run))


@table("short", "Short additions and one message (wse3)", "FABRICA 2026, vendor simulator")
def short(options):
    clock = single.clock_cost()
    for n, dispatch, last in ((8, 8, 11), (16, 10, 13), (64, 22, 25)):
        run = single.vector("add", "f16", n).run()
        yield Row(f"add f16, {n} elements, next dispatch", dispatch, single.elapsed(run) - clock)
        run = single.vector("add", "f16", n, clocks=False).run()
        yield Row(f"add f16, {n} elements, last result", last, single.span(run))
    program, expected = single.message(8)
    run = program.run()
    check(run, expected)
    yield Row("8 words to a waiting neighbour, all received", 19, single.elapsed(run) - clock)


@table("loops", "4,096 multiply-adds in four loop forms (wse3)", "FABRICA 2026, vendor simulator",
       "L0 one instruction, L1 a counted loop of 16 elements, L2 a map, L3 a loop around a map.")
def loops(options):
    for form, published in (("L0", 1040), ("L1", 4617), ("L2", 2840), ("L3", 3032)):
        yield Row(f"{form}", published, single.elapsed(single.loop_form(form).run()))


@table("patterns", "Strided reads, a stencil and a matrix-vector tile on one PE (wse3)",
       "FABRICA 2026, vendor simulator; rates without the program they are from")
def patterns(options):
    n = 256
    for stride in (2, 4, 8):
        run = single.vector("copy", "f16", n, stride=stride, clocks=False).run()
        yield Row(f"copy f16 of stride {stride}, {n} elements", 8 + n * stride / 8,
                  single.span(run))
    run = single.stencil(1024).run()
    yield Row("5-point stencil, 1,024 results", 1024 / 0.93, single.elapsed(run))
    columns, took = (64, 128), []
    for inner in columns:
        run = single.gemv(32, inner).run()
        a, x, y = (run.outputs[f"{name}_out"].ravel().astype(np.float64) for name in "axy")
        random = np.random.default_rng(1)
        start = random.integers(-2, 3, 32)  # What y held: the first that was drawn.
        if (y != start + x @ a.reshape(inner, 32)).any():
            sys.exit("error: wrong product")
        took.append(single.elapsed(run))
    yield Row("matrix-vector tile of 32 rows, 1,000 more multiply-adds", 520,
              1000 * (took[1] - took[0]) / (32 * (columns[1] - columns[0])), 0.15,
              why="the shape of the tile is not published; what lies between 4 per cycle and 0.52 "
              "cycles is the overhead of a call over its length: with 26 rows it would be 0.52")


@table("two-phase", "Two-phase reduction along 512 PEs, 4,096 words (wse2)",
       "SpMM on Cerebras 2023, vendor simulator",
       "From the start of PE 0 to its last result, the cost of the timer taken off. One group of 512 "
       "is a plain chain.",
       about="fabric")
def two_phase(options):
    published = {2: 10055, 4: 9421, 8: 9117, 16: 8989, 32: 8973, 64: 9061, 128: 9297, 256: 9800,
                 512: 7218}
    clock = single.clock_cost("wse2")
    for group, cycles in published.items():
        if options.quick and group != 16:
            continue
        program, expected = rows.reduce("two-phase", 512, 4096, group=group)
        run = program.run()
        check(run, expected)
        yield Row(f"groups of {group}", cycles, rows.elapsed_at_root(run) - clock, 0.02)


def collective(made, published, what, options, clock, **more):
    program, expected = made
    if not affordable(options, program.width * program.height, published):
        return Row(what, published, None, why=MINUTES)
    run = program.run()
    check(run, expected)
    return Row(what, published, rows.elapsed(run) - clock, **more)


def by_formula(pattern, pes, words, options, clock):
    """A reduction or broadcast along a row beside the published formula. Where
    the structure of the program says that the formula leaves out more than 5 %,
    so much is allowed, and a percent."""
    made = (rows.broadcast(pes, words) if pattern == "broadcast"
            else rows.reduce(pattern, pes, words))
    published, exact = (of(pattern, pes, words) for of in (rows.formula, rows.structure))
    left_out = exact / published - 1 if exact else 0
    far = left_out > 0.04
    return collective(made, published, f"{pattern}, {pes} PEs, {words} words", options, clock,
                      bar=left_out + 0.01 if far else 0.05, exact=exact,
                      why=(ADDED if pattern == "tree" else STARTS) if far else "")


@table("collectives", "Collectives along a row (wse2)", "model of Luczynski et al. 2024",
       "A model, not a measurement: its authors found it within 4 % of a real wafer for reductions; "
       "their curves are not published. From the first clock that is read to the last. By structure: "
       "the same terms, but contention, distance and stages added up, and the start of every "
       "instruction that waits for one before it; ours must be that, to two cycles. Only trees with few "
       "words per PE are far from the published form, which takes the larger of contention and distance.",
       about="fabric")
def collectives(options):
    clock = single.clock_cost("wse2")
    patterns = ("broadcast", "star", "chain", "tree", "two-phase")
    grid = [(pes, 256) for pes in (4, 8, 16, 32, 64, 128, 256, 512)]
    grid += [(512, words) for words in (1, 4, 16, 64, 1024, 4096)]
    grid += [(64, 1), (64, 4096)]
    if options.quick:
        grid = [(64, 1), (64, 256)]
    for pes, words in grid:
        for pattern in patterns:
            yield by_formula(pattern, pes, words, options, clock)


@table("all-reduce", "All-reduce along a row (wse2)", "model of Luczynski et al. 2024",
       "Reduce, then broadcast from the root.",
       about="fabric")
def all_reduce(options):
    clock = single.clock_cost("wse2")
    for pes, words in [(64, 256)] if options.quick else [(64, 256), (512, 256), (512, 4096)]:
        for pattern in ("chain", "two-phase"):
            yield collective(rows.reduce(pattern, pes, words, all_reduce=True),
                             rows.formula(pattern, pes, words)
                             + rows.formula("broadcast", pes, words),
                             f"{pattern}, {pes} PEs, {words} words", options, clock)
    for pes, words in [(64, 256)] if options.quick else [(64, 256), (512, 1024), (512, 4096)]:
        yield collective(rows.ring(pes, words), rows.formula("ring", pes, words),
                         f"ring, {pes} PEs, {words} words", options, clock, bar=0.27, why=RING)


@table("squares", "Collectives over a square (wse2)", "model of Luczynski et al. 2024",
       "Reductions go along all rows, then down the first column.",
       about="fabric")
def squares(options):
    clock = single.clock_cost("wse2")
    for side in (4, 16) if options.quick else (4, 8, 16, 32, 64, 128, 256):
        for pattern in ("chain", "two-phase"):
            yield collective(rows.reduce(pattern, side, 256, side),
                             2 * rows.formula(pattern, side, 256),
                             f"{pattern} reduce, {side} x {side} PEs, 256 words", options, clock)
    sizes = [(512, 1, 1, 1028), (512, 256, 1, 1283), (256, 256, 16, 4096 + 510 + 5)]
    if options.quick:
        sizes = [(16, 256, 1, 256 + 30 + 5), (16, 16, 16, 256 + 30 + 5)]
    for side, words, times, published in sizes:
        why = f"{times} times the same {words} words, which is what a PE keeps" if times > 1 else ""
        yield collective(rows.broadcast(side, words, side, times=times), published,
                         f"broadcast, {side} x {side} PEs, {words * times} words", options, clock,
                         why=why)
    yield Row("broadcast, 512 x 512 PEs, 4096 words", 5123, None,
              why=MINUTES)


@table("gemm", "Local matrix product, f32 (wse2)", "SpMM on Cerebras 2023, vendor simulator",
       "Every PE works alone; measured on meshes of 2x2 to 512x8 PEs, which changed nothing.")
def gemm(options):
    published = {(8, 8, 32): 9756, (8, 8, 128): 38844, (32, 32, 32): 88795,
                 (32, 32, 128): 357853, (64, 48, 64): 476866, (128, 8, 64): 150760}
    clock = single.clock_cost("wse2")
    for (nt, kt, m), cycles in published.items():
        run = single.gemm(nt, kt, m).run()
        c = (run.outputs["a_out"].reshape(nt, kt) @ run.outputs["b_out"].reshape(kt, m))
        start = np.random.default_rng(1).integers(-2, 3, (1, 1, nt * m)).reshape(nt, m)
        if np.abs(run.outputs["c_out"].reshape(nt, m) - c - start).max() != 0:
            sys.exit("error: wrong product")
        yield Row(f"{nt} x {kt} x {m}", cycles, single.elapsed(run) - clock)


@table("examples", "Example programs, whole runs (wse3)", "FABRICA 2026, vendor simulator",
       "The published cycles hold the copies of the host, which go through the fabric and, on so few "
       "PEs, take most of the time. Here they take none, and the code is ours, of the same meshes and "
       "sizes: a number above the published one is wrong (Cholesky's is: see there), one below says little. Columns of "
       "points are f16, with sums in f32.",
       about="bounds")
def whole_runs(options):
    points = bicgstab.Shape(5, 5, 5)
    for what, published, made, tolerance in (
            ("MeshGEMM, 4 x 4 PEs, 64 x 64 x 64, f16", 122770,
             meshgemm.meshgemm(4, 16, 16, 16, machine="wse3"), 0),
            ("SUMMA, 4 x 4 PEs, tiles of 14 x 14, f32", 51425, summa.summa(4, 14, "wse3"), 0),
            ("matrix-vector product, 4 x 4 PEs, 32 x 16, f32", 3670,
             examples.matrix_vector(4, 8, 4), 0),
            ("MeshGEMV, 4 x 4 PEs, 64 x 64 (assumed), f16", 14122, examples.mesh_gemv(4, 16, 16),
             1e-2),
            ("7-point sparse product, 5 x 5 PEs, z 5", 2129, examples.sparse_product(points), 2e-2),
            ("power method, 5 x 5 PEs, z 5, 10 iterations", 43436,
             examples.power_method(points, 10), 2e-2),
            ("conjugate gradients, 5 x 5 PEs, z 5, 2 iterations", 11635,
             examples.conjugate_gradients(points, 2), 2e-2),
            ("preconditioned, likewise", 13826, examples.conjugate_gradients(points, 2, True), 2e-2),
            ("BiCGStab, 5 x 5 PEs, z 5, 20 iterations", 59385,
             # Beyond two iterations nothing is left but what f16 rounds off.
             (bicgstab.iteration(points, "wse3", times=20)[0], None), None),
            ("game of life, 12 x 12 PEs, 20 generations", 7838, examples.game_of_life(12, 20), 0),
            ("residual, 2 x 2 PEs, tiles of 3 x 2", 674, examples.residual(2, 3, 2), 0),
            ("wide multiplication, 256 bits", 81739, examples.wide_multiplication(256), 0)):
        program, expected = made
        run = program.run()
        if expected is not None:
            check(run, expected, tolerance)
        yield Row(what, published, large.cycles(run), 0, bound=True)
    program, expected = examples.cholesky(10, 4)
    run = program.run()
    check(run, expected, 1e-5)
    yield Row("Cholesky, 10 x 10 PEs, tiles of 4 x 4, f32", 12479, large.cycles(run), 0.52,
              bound=True, why="40 inverse roots, one after the other, take 10,120 of our cycles: "
              "divide_cycles is a fit on wse2, and likely too much here")


def verdict(row):
    if row.ours is None:
        return "not run"
    if row.good:
        return "ok"
    if row.bound:
        return "above"
    return f"over {row.bar:.0%}" if abs(row.error) > row.bar else f"not {row.exact:,.0f}"


def show(name, options):
    """Runs a table, and prints its rows as they come."""
    made = TABLES[name]
    print(f"\n{made.title}\n  {made.source}")
    print(f"  {'':<46}{'published':>12}{'ours':>12}{'error':>9}")
    found = []
    for row in made.run(options):
        found.append(row)
        ours = "-" if row.ours is None else f"{row.ours:,.0f}"
        error = "" if row.ours is None else f"{row.error:+.1%}"
        text = "; ".join(t for t in (row.how if row.how != "run" else "", row.why) if t)
        print(f"  {row.what:<46}{row.published:>12,.6g}{ours:>12}{error:>9}  "
              f"{verdict(row):<10} {text}".rstrip(), flush=True)
    return found


def percent(row):
    return "" if row is None or row.ours is None else f"{row.error:+.1%}"


def measured(found):
    """Rows whose error says something."""
    return [row for row in found if row.ours is not None and not row.bound]


def in_short(results):
    """What a number of ours can be trusted for, in words."""
    lines = ["| what | numbers | within 5 % | the others, up to |", "|---|---|---|---|"]
    for about, text in ABOUT.items():
        found = [row for name, rows_ in results.items() if TABLES[name].about == about
                 for row in rows_]
        ran = measured(found)
        far = [row for row in ran if abs(row.error) > 0.05]
        if not ran:
            done = sum(row.ours is not None for row in found)
            above = [f"{row.error:+.0%}: {row.what}" for row in found
                     if row.ours is not None and row.ours > row.published]
            says = "ours is what is left without them" + "".join(f"; {a}" for a in above)
            lines.append(f"| {text} | {done} | - | {says} |")
            continue
        worst = max(far, key=lambda row: abs(row.error), default=None)
        lines.append(f"| {text} | {len(ran)} | {len(ran) - len(far)} "
                     f"| {f'{worst.error:+.0%}: {worst.what}' if worst else 'none'} |")
    return lines


def summary(results):
    """A line for each table."""
    lines = ["| table | rows run | largest error | within 5 % |", "|---|---|---|---|"]
    for name, found in results.items():
        errors = [abs(row.error) for row in measured(found)]
        ran = sum(row.ours is not None for row in found)
        worst = f"{max(errors):.1%}" if errors else "-"
        close = sum(error <= 0.05 for error in errors) if errors else "-"
        title = TABLES[name].title
        anchor = re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
        lines.append(f"| [{title}](tables.md#{anchor}) | {ran} of {len(found)} | {worst} | {close} |")
    return lines


HEAD = """# How far to trust the cycles

Generated by `published.py --docs`: do not edit.

Others have measured wafers of this kind, or the vendor's cycle simulator, and published what programs took. We wrote the same
programs for our emulator and compare. Every number of ours comes from programs that ran, and a row that was extrapolated says so. What programs compute
is held against numpy, of the largest ones at smaller sizes; of single instructions only the time is taken. There is no constant of a
table: all rests on the parameters of the [machine](../../../compiler/machine/README.md), and a changed parameter
moves every table that rests on it. One parameter was set by a number below: `divide_cycles`, by the decode layer on
540 x 540 PEs, since nobody has published what a division takes.
"""

READING = """Errors are ours against the published number, on the wavelet engine, which steps every router and PE. The bar is
5 % unless a row says otherwise, and why. A cycle is a cycle of the wafer; seconds depend on a clock that the sources do not
agree on (0.85 or 1.1 GHz), so compare cycles.

- **Numbers of one PE and of words between PEs** can be used as they are: the parameters are the ones measured in such
  programs. Sums over trees are further from the published formula than from what their own structure gives.
- **Numbers of whole programs** are good to 5 to 15 %, and better for comparing two versions of a program than by
  themselves: the sources give the algorithm, not every instruction.
- **What a host does**, copies to and from the wafer above all, takes no cycles here. Nor do three things that are known of
  wse3 and that no engine counts: the first word of a stream around a corner (some 33 cycles), conflicts of memory banks, and
  links of real wafers that carry eight words in nine cycles.
"""


def row_lines(found):
    """A table's lines. By structure: only if some row has it."""
    exact = any(row.exact is not None for row in found)
    head = ["", "published", *(["by structure"] if exact else []), "ours", "error", "remarks"]
    lines = [f"| {' | '.join(head)} |".replace("|  |", "| |"), "|" + "---|" * len(head)]
    for r in found:
        ours = "-" if r.ours is None else f"{r.ours:,.0f}"
        bar = "" if r.bar in (0, 0.05) or r.ours is None else f"within {r.bar:.0%}"
        remarks = "; ".join(t for t in (r.how if r.how != "run" else "", bar, r.why) if t)
        structure = [f"{r.exact:,.0f}" if r.exact else ""] if exact else []
        lines.append("| " + " | ".join([r.what, f"{r.published:,.6g}", *structure, ours,
                                        percent(r) or "not run", remarks]) + " |")
    return lines


def pages(numbers):
    """The page, and its tables. numbers: table -> rows."""
    lines = ["# Published cycles and ours", "", "Generated by `published.py --docs`: do not edit. What the columns mean: "
             "[how far to trust the cycles](README.md).", ""]
    for name, found in numbers.items():
        made = TABLES[name]
        lines += [f"## {made.title}", "", f"Source: {made.source}."]
        lines += [*([made.note] if made.note else []), "", *row_lines(found), ""]
    return "\n".join([HEAD, *in_short(numbers), "", READING, *summary(numbers), ""]), "\n".join(lines)


def known(docs):
    """The numbers beside a page: table -> rows."""
    store = Path(docs).with_name("numbers.json")
    read = json.loads(store.read_text()) if store.exists() else {}
    return {name: [Row(**row) for row in found] for name, found in read.items()}


def kept(found, before):
    """What was found, but rows that were not run now as they were before."""
    ran = {row.what: row for row in before if row.ours is not None}
    return [ran.get(row.what, row) if row.ours is None else row for row in found]


def record(docs, numbers):
    """Writes the page, and the tables and numbers beside it."""
    order = sorted(TABLES, key=lambda name: list(ABOUT).index(TABLES[name].about))
    numbers = {name: numbers[name] for name in order if name in numbers}
    plain = {name: [vars(row) for row in found] for name, found in numbers.items()}
    Path(docs).with_name("numbers.json").write_text(json.dumps(plain, indent=1) + "\n")
    text, tables = pages(numbers)
    Path(docs).write_text(text, encoding="utf-8")
    Path(docs).with_name("tables.md").write_text(tables, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", action="store_true")
    amount.add_argument("--slow", action="store_true")
    parser.add_argument("--set", action="append", default=[], metavar="PARAMETER=VALUE")
    parser.add_argument("--docs", metavar="FILE.md")
    options = parser.parse_args()
    for name in options.tables:
        if name not in TABLES:
            parser.error(f"no table '{name}'; there are {', '.join(TABLES)}")
    for setting in options.set:
        name, _, value = setting.partition("=")
        assembler.CHANGED[name] = json.loads(value)
    ran = {name: show(name, options) for name in options.tables or TABLES}
    if options.docs:
        numbers = known(options.docs)
        record(options.docs, {**numbers, **{name: kept(found, numbers.get(name, [])) for name, found in ran.items()}})
    found = [row for some in ran.values() for row in some]
    over = sum(not row.good for row in found)
    print(f"\n{over} of {len(found)} numbers outside their bar")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
