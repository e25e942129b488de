#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Published cycle counts of real wafers and of the vendor's simulator, beside
what the emulator gives for the same programs.

  published.py [--quick] [--engine burst|wavelet] [--docs FILE.md] [TABLE ...]

TABLE: rates loops collectives gemm llama; all by
default. --quick leaves out what takes longer than some seconds. --docs writes
the page that says how far to trust which number. Every program also checks
its values. Machine parameters come from the presets alone: there is no
constant of a table here.
"""

import argparse
import sys
from dataclasses import dataclass

import numpy as np

import llama
import rows
import single


@dataclass(frozen=True)
class Row:
    """One number: `ours` None if it was not run; bar None: a regression only."""

    what: str
    published: float
    ours: float
    bar: float = 0.05

    @property
    def error(self):
        return self.ours / self.published - 1

    @property
    def good(self):
        return self.bar is None or abs(self.error) <= self.bar


@dataclass(frozen=True)
class Table:
    name: str
    title: str
    source: str
    run: object
    note: str = ""


TABLES = {}


def table(name, title, source, note=""):
    def register(function):
        TABLES[name] = Table(name, title, source, function, note)
        return function
    return register


@table("rates", "Vector instructions of one PE (wse3)", "FABRICA 2026, vendor simulator",
       "One synchronous instruction between two readings of the clock, which cost 7 cycles.")
def rates(options):
    harness = [("copy", "f16", 15, 8.0), ("copy", "f32", 15, 4.0), ("fmac", "f16", 16, 4.0),
               ("fmac", "f32", 17, 0.5)]
    alone = [("fill", "f16", 8, 7.93), ("copy", "f16", 8, 7.85), ("axpy", "f16", 13, 3.94),
             ("add", "f16", 9, 3.96), ("mul", "f16", 9, 3.96), ("add", "i16", 9, 3.94),
             ("sum", "f16", 8, 1 / 2.0), ("dot", "f16", 20, 1 / 2.25)]
    clock = single.elapsed(single.timed("clock", {}, []).run(options.engine))
    for n in (64, 1024):
        for operation, element, setup, rate in harness:
            took = single.elapsed(single.vector(operation, element, n).run(options.engine))
            yield Row(f"{operation} {element}, {n} elements, with the clock", setup + n / rate, took)
        for operation, element, setup, rate in alone:
            took = single.elapsed(single.vector(operation, element, n).run(options.engine))
            yield Row(f"{operation} {element}, {n} elements, alone", setup + n / rate, took - clock)


@table("loops", "4,096 multiply-adds in four loop forms (wse3)", "FABRICA 2026, vendor simulator")
def loops(options):
    for form, published in (("L0", 1040), ("L1", 4617), ("L2", 2840), ("L3", 3032)):
        yield Row(f"{form}", published, single.elapsed(single.loop_form(form).run(options.engine)))


def check(run, expected, tolerance=0.0):
    got = run.outputs["y"].astype(np.float64)
    scale = max(1.0, np.abs(expected).max())
    error = np.abs(got.reshape(expected.shape) - expected).max() / scale
    if not error <= tolerance:
        sys.exit(f"error: values differ by {error:.3g} of the largest")


def cycles(made, options):
    program, expected = made
    run = program.run(options.engine)
    check(run, expected)
    return run.cycles


@table("collectives", "Collectives along a row (wse2)", "model of Luczynski et al. 2024",
       "The published model is within 4 % of silicon for reductions.")
def collectives(options):
    made = {"broadcast": rows.broadcast, "star": rows.star, "chain": rows.chain, "tree": rows.tree}
    grid = [(512, 1), (512, 16), (512, 256), (512, 4096), (64, 1), (64, 256), (64, 4096)]
    if options.quick:
        grid = [(64, 1), (64, 256)]
    for pes, words in grid:
        for pattern, make in made.items():
            yield Row(f"{pattern}, {pes} PEs, {words} words", rows.formula(pattern, pes, words),
                      cycles(make(pes, words), options))
    for words, published in ((1, 1028), (256, 1283), (4096, 5123)):
        if not options.quick:
            yield Row(f"broadcast, 512 x 512 PEs, {words} words", published,
                      cycles(rows.broadcast_2d(512, 512, words), options))


@table("gemm", "Local matrix product, f32 (wse2)", "SpMM on Cerebras 2023, vendor simulator",
       "Every PE works alone; measured on meshes of 2x2 to 512x8 PEs, which changed nothing.")
def gemm(options):
    for (nt, kt, m), published in {(8, 8, 32): 9756, (8, 8, 128): 38844, (32, 32, 32): 88795,
                                   (32, 32, 128): 357853, (64, 48, 64): 476866,
                                   (128, 8, 64): 150760}.items():
        run = single.gemm(nt, kt, m).run(options.engine)
        c = (run.outputs["a_out"].reshape(nt, kt) @ run.outputs["b_out"].reshape(kt, m))
        start = np.random.default_rng(1).integers(-2, 3, (1, 1, nt * m)).reshape(nt, m)
        if np.abs(run.outputs["c_out"].reshape(nt, m) - c - start).max() != 0:
            sys.exit("error: wrong product")
        yield Row(f"{nt} x {kt} x {m}", published, single.elapsed(run))


@table("llama", "One LLaMA3-8B layer, decode at context 4K (wse2)",
       "WaferLLM 2025, real wafer, converted with the authors' 1.1 GHz",
       "A third of a layer is scalar code and task overhead nobody published; function_cycles and "
       "divide_cycles of the machine stand for it.")
def decode(options):
    small = llama.Shape(8, 2, 4, 6)
    values = llama.random_values(small)
    run = llama.decode(small, values).run(options.engine)
    check(run, llama.reference(small, values), 2e-2)
    for shape, published in llama.PUBLISHED:
        if options.quick:
            continue
        run = llama.decode(shape).run(options.engine)
        launches = run.report["launches"]
        yield Row(f"{shape.pes} x {shape.pes} PEs", published,
                  launches[-1]["end"] - launches[-1]["start"])


def show(name, found):
    made = TABLES[name]
    print(f"\n{made.title}\n  {made.source}")
    print(f"  {'':<44}{'published':>12}{'ours':>12}{'error':>9}")
    for row in found:
        verdict = "" if row.bar is None else "ok" if row.good else f"bar {row.bar:.0%}"
        print(f"  {row.what:<44}{row.published:>12,.0f}{row.ours:>12,.0f}{row.error:>+9.1%}  "
              f"{verdict}", flush=True)


def page(results):
    lines = ["# How far to trust the cycles", "",
             "Generated by `test/bench/published/published.py --docs`. Every number below is a",
             "program that ran on the emulator with the parameters of the preset, and whose values",
             "were checked. Errors are ours against the published number.", ""]
    for name, found in results.items():
        made = TABLES[name]
        worst = max((abs(row.error) for row in found), default=0)
        lines += [f"## {made.title}", "", f"Source: {made.source}. Largest error: {worst:.1%}."]
        lines += [made.note] if made.note else []
        lines += ["", "| | published | ours | error |", "|---|---|---|---|"]
        lines += [f"| {r.what} | {r.published:,.0f} | {r.ours:,.0f} | {r.error:+.1%} |"
                  for r in found]
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE")
    parser.add_argument("--engine", default="burst", choices=["burst", "wavelet"])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--docs", metavar="FILE.md")
    options = parser.parse_args()
    for name in options.tables:
        if name not in TABLES:
            parser.error(f"no table '{name}'; there are {', '.join(TABLES)}")
    results = {}
    for name in options.tables or TABLES:
        results[name] = list(TABLES[name].run(options))
        show(name, results[name])
    if options.docs:
        with open(options.docs, "w", encoding="utf-8") as file:
            file.write(page(results))


if __name__ == "__main__":
    main()
