#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All 65,536 codes of a format of 16 bits go through the wafer and come back, and what is no number of it is rounded as rational
arithmetic says: half way between two neighbours to the even one, the next floats of 32 bits on either side to the nearer.

Usage: narrow_floats.py WORK FORMAT...

A model multiplies its input by -1, which is exact; with --precision=FORMAT the product is rounded, and widened on its way out.
"""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FORMATS = {"f16": (5, 10), "bf16": (8, 7), "cb16": (6, 9)}  # bits of exponent and mantissa
ENGINES = "wavelet", "strips"
ROWS = 64  # of PEs


def value(code, exponent_bits, mantissa_bits):
    """Of a code without its sign: a number, or None beyond the largest."""
    exponent, mantissa = code >> mantissa_bits, code & (1 << mantissa_bits) - 1
    if exponent == (1 << exponent_bits) - 1:
        return None
    bias = (1 << exponent_bits - 1) - 1
    if exponent:
        mantissa, exponent = mantissa + (1 << mantissa_bits), exponent - 1
    return mantissa * Fraction(2) ** (exponent + 1 - bias - mantissa_bits)


def cases(exponent_bits, mantissa_bits):
    """Floats of 32 bits and what they are rounded to, both without signs: all numbers, all points half way from one to the next
    (of the largest to what the next one would be: an infinity begins there), and the floats before and behind those."""
    codes = (1 << 15) - (1 << mantissa_bits)  # below infinity
    numbers = [value(code, exponent_bits, mantissa_bits) for code in range(codes)]
    rounded = np.array([float(number) for number in numbers] + [np.inf], "f4")
    assert all(Fraction(float(a)) == b for a, b in zip(rounded, numbers))  # f32 has all of them
    beyond = numbers[-1] + (numbers[-1] - numbers[-2])
    middles = [(a + b) / 2 for a, b in zip(numbers, [*numbers[1:], beyond])]
    exact = [number for number in map(float, middles) if np.float32(number) == number or number > 3e38]
    assert len(exact) == len(middles) and all(Fraction(a) == b for a, b in zip(exact, middles))
    with np.errstate(over="ignore"):
        middles = np.array(exact, "f4")
    code = np.arange(codes)
    even = code + code % 2
    given = [rounded, middles, np.nextafter(middles, np.float32(0)), np.nextafter(middles, np.float32(np.inf))]
    wanted = [rounded, rounded[even], rounded[code], rounded[code + 1]]
    return np.concatenate(given), np.concatenate(wanted)


def held(work, name):
    given, wanted = cases(*FORMATS[name])
    nans = np.full(2 * ((1 << FORMATS[name][1]) - 1), np.nan, "f4")
    given = np.concatenate([given, -given, nans])
    wanted = np.concatenate([wanted, -wanted, nans])
    x = np.zeros((-(-given.size // ROWS) * ROWS, 1), "f4")
    x.flat[:given.size] = given
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], "product",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, x.shape)],
                              [numpy_helper.from_array(np.full((1, 1), -1, "f4"), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), work / "m.onnx")
    np.save(work / "x.npy", x)
    for command in (["wsec", "m.onnx", "-o", "m.wafer", f"--mesh=2x{ROWS}", "--quiet", f"--precision={name}"],
                    *(["wse-run", "m.wafer", "--input", "x=x.npy", "--output", f"y={engine}.npy", f"--engine={engine}", "--quiet"]
                      for engine in ENGINES)):
        subprocess.run(command, cwd=work, check=True)
    first = None
    for engine in ENGINES:
        results = np.load(work / f"{engine}.npy").ravel()[:given.size]
        first = results if first is None else first
        assert first.tobytes() == results.tobytes(), f"{name}: {engine} and {ENGINES[0]} differ"
        wrong = np.flatnonzero(~((results == -wanted) | np.isnan(results) & np.isnan(wanted)))
        for i in wrong[:5]:
            print(f"wrong: {name} on {engine}: {given[i]!r} becomes {-results[i]!r}, expected {wanted[i]!r}")
        if wrong.size:
            sys.exit(f"{wrong.size} of {given.size} are wrong")
    print(f"{name}: {2 * (1 << 15) - nans.size} numbers and infinities come back, {nans.size} NaNs as NaNs, "
          f"{given.size - nans.size} roundings are exact")


def main():
    work = Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:]:
        held(work, name)


if __name__ == "__main__":
    main()
