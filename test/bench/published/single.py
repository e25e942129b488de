# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of one PE: rates of vector instructions, loop forms, local GEMM."""

import numpy as np

from assembler import TYPES, Assembly, Rect

ONE = Rect(0, 1, 0, 1)


def timed(name, buffers, body, machine="wse3", scalars=()):
    """A PE that reads its clock, runs `body` and reads it again.

    buffers: name -> (element type, elements). All start as small integers, so
    that results are exact; the clocks come back as output "t".
    """
    program = Assembly(name, 1, 1, machine)
    pe = program.pe_class("pe", ONE)
    pe.add(*scalars)
    pe.buffer("t", "i32", 2)
    random = np.random.default_rng(1)
    for buffer, (element, count) in buffers.items():
        pe.buffer(buffer, element, count)
        values = random.integers(-2, 3, (1, 1, count)).astype(TYPES[element])
        program.copy_in(f"{buffer}_in", buffer, values)
    pe.routine("main", ["clock @t[0]", *body, "clock @t[1]"])
    program.launch("main")
    program.copy_out("t_out", "t", (1, 1, 2), np.int32)
    for buffer, (element, count) in buffers.items():
        program.copy_out(f"{buffer}_out", buffer, (1, 1, count), TYPES[element])
    return program


def elapsed(run):
    start, end = run.outputs["t_out"].ravel()
    return int(end) - int(start)


def vector(operation, element, count, machine="wse3"):
    """One synchronous instruction over `count` elements of SRAM."""
    x, y, z = (f"@{b}[0, strides = [1]]" for b in "xyz")
    scalar, total = "@s[0, strides = [0]]", "@s[0, strides = [0]]"
    text = {
        "copy": f"mov {z} = {x}",
        "fill": f"mov {z} = 1.0",
        "add": f"add {z} = {x}, {y}",
        "mul": f"mul {z} = {x}, {y}",
        "fmac": f"fmac {z} = {x}, {y}",
        "axpy": f"fmac {z} = {x}, {scalar}",
        "sum": f"add {total} = {total}, {x}",
        "dot": f"fmac {total} = {x}, {y}",
    }[operation]
    buffers = {"x": (element, count), "y": (element, count), "z": (element, count),
               "s": (element, 1)}
    return timed(f"{operation}_{element}_{count}", buffers, [f"vector {text} over ({count})"],
                 machine)


def loop_form(form, machine="wse3"):
    """4,096 f16 multiply-adds: one op; a counted loop of 16-element ops; one
    nest of them (`map`); a loop around a nest of 16."""
    z, x, y = "@z", "@x", "@y"
    one = ", strides = [1]]"
    body = {
        "L0": [f"vector fmac {z}[0{one} = {x}[0{one}, {y}[0{one} over (4096)"],
        "L1": ["for %i < 256 {",
               f"  vector fmac {z}[%i * 16{one} = {x}[%i * 16{one}, {y}[%i * 16{one} over (16)",
               "}"],
        "L2": [f"vector fmac {z}[0, strides = [16, 1]] = {x}[0, strides = [16, 1]], "
               f"{y}[0, strides = [16, 1]] over (256, 16)"],
        "L3": ["for %i < 16 {",
               f"  vector fmac {z}[%i * 256, strides = [16, 1]] = "
               f"{x}[%i * 256, strides = [16, 1]], {y}[%i * 256, strides = [16, 1]] over (16, 16)",
               "}"],
    }[form]
    buffers = {name: ("f16", 4096) for name in "xyz"}
    return timed(f"loop_{form}", buffers, body, machine)


def gemm(rows, inner, columns, machine="wse2"):
    """C += A B by columns, f32: for k < inner, for j < columns:
    fmac(C[:,j], A[:,k], B[k,j]) of length `rows`; row-major tiles."""
    nt, kt, m = rows, inner, columns
    buffers = {"c": ("f32", nt * m), "a": ("f32", nt * kt), "b": ("f32", kt * m)}
    body = [f"for %k < {kt} {{",
            f"  for %j < {m} {{",
            f"    vector fmac @c[%j, strides = [{m}]] = @a[%k, strides = [{kt}]], "
            f"@b[%k * {m} + %j, strides = [0]] over ({nt})",
            "  }", "}"]
    return timed(f"gemm_{nt}_{kt}_{m}", buffers, body, machine)
