# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of one PE: rates of vector instructions, loop forms, local GEMM."""

import numpy as np

from assembler import TYPES, Assembly, Rect

ONE = Rect(0, 1, 0, 1)


def program_of(name, buffers, body, machine="wse3", clocks=True):
    """A PE that runs `body`, and reads its clock before and after.

    buffers: name -> (element type, elements). All start as small integers, so
    that results are exact; the clocks come back as output "t".
    """
    program = Assembly(name, 1, 1, machine)
    pe = program.pe_class("pe", ONE)
    pe.buffer("t", "i32", 2)
    random = np.random.default_rng(1)
    for buffer, (element, count) in buffers.items():
        pe.buffer(buffer, element, count)
        values = random.integers(-2, 3, (1, 1, count)).astype(TYPES[element])
        program.copy_in(f"{buffer}_in", buffer, values)
    pe.routine("main", ["clock @t[0]", *body, "clock @t[1]"] if clocks else body)
    program.launch("main")
    if clocks:
        program.copy_out("t_out", "t", (1, 1, 2), np.int32)
    for buffer, (element, count) in buffers.items():
        program.copy_out(f"{buffer}_out", buffer, (1, 1, count), TYPES[element])
    return program


def elapsed(run):
    """Between the readings of the clock."""
    start, end = run.outputs["t_out"].ravel()
    return int(end) - int(start)


def span(run):
    """From the first instruction of the last launch to its last result."""
    return run.report["kernels"][-1]["span_cycles"]


def clock_cost(machine="wse3"):
    """What a reading adds to what lies between two of them."""
    return elapsed(program_of("clock", {}, [], machine).run())


def vector(operation, element, count, machine="wse3", stride=1, clocks=True):
    """One synchronous instruction over `count` elements of SRAM, the first
    source read with a stride."""
    x, y, z = (f"@{b}[0, strides = [{stride if b == 'x' else 1}]]" for b in "xyz")
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
    buffers = {"x": (element, count * stride), "y": (element, count), "z": (element, count),
               "s": (element, 1)}
    return program_of(f"{operation}_{element}_{count}", buffers,
                      [f"vector {text} over ({count})"], machine, clocks)


def loop_form(form, machine="wse3"):
    """4,096 f16 multiply-adds: one op; a counted loop of 16-element ops; a
    `map` of them, each with a scalar of its own; a loop around a map of 16."""
    row, one, scalar = "strides = [16, 1]]", "strides = [1]]", "strides = [1, 0]]"
    body = {
        "L0": [f"vector fmac @z[0, {one} = @x[0, {one}, @y[0, {one} over (4096)"],
        "L1": ["for %i < 256 {",
               f"  vector fmac @z[%i * 16, {one} = @x[%i * 16, {one}, @y[%i * 16, {one} over (16)",
               "}"],
        "L2": [f"vector fmac @z[0, {row} = @x[0, {row}, @y[0, {scalar} over (256, 16)"],
        "L3": ["for %i < 16 {",
               f"  vector fmac @z[%i * 256, {row} = @x[%i * 256, {row}, "
               f"@y[%i * 16, {scalar} over (16, 16)",
               "}"],
    }[form]
    buffers = {name: ("f16", 4096) for name in "xyz"}
    return program_of(f"loop_{form}", buffers, body, machine)


def stencil(results, machine="wse3"):
    """Sums of five neighbours, f16: four vector instructions."""
    def at(offset):
        return f"@x[{offset}, strides = [1]]"
    z, over = "@z[0, strides = [1]]", f"over ({results})"
    body = [f"vector add {z} = {at(0)}, {at(1)} {over}",
            *(f"vector add {z} = {z}, {at(i)} {over}" for i in (2, 3, 4))]
    return program_of("stencil", {"x": ("f16", results + 4), "z": ("f16", results)}, body, machine)


def message(words, machine="wse3"):
    """To a neighbour in the east that waits. Its clock is read when the last
    word is in."""
    program = Assembly("message", 2, 1, machine)
    program.route(1, Rect(0, 1, 0, 1), "ramp", "east")
    program.route(1, Rect(1, 2, 0, 1), "west", "ramp")
    over = f"over ({words})"
    for name, x, move in (("sender", 0, f"mov fabric(1) = @v[0, strides = [1]] {over}"),
                          ("receiver", 1, f"mov @v[0, strides = [1]] = fabric(1) {over}")):
        pe = program.pe_class(name, Rect(x, x + 1, 0, 1))
        pe.buffer("v", "f32", words)
        pe.buffer("t", "i32", 2)
        pe.routine("main", ["clock @t[0]", f"vector {move}", "clock @t[1]"])
    values = np.arange(2 * words, dtype=np.float32).reshape(1, 2, words)
    program.copy_in("x", "v", values)
    program.launch("main")
    program.copy_out("y", "v", (1, 1, words), np.float32, Rect(1, 2, 0, 1))
    program.copy_out("t_out", "t", (1, 1, 2), np.int32, Rect(1, 2, 0, 1))
    return program, values[:, :1]


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
    return program_of(f"gemm_{nt}_{kt}_{m}", buffers, body, machine)


def gemv(rows, inner, machine="wse3"):
    """y += A x, f16, as MeshGEMV does it in each PE: a map over the columns of A,
    which are contiguous, each scaled by its element of x."""
    buffers = {"y": ("f16", rows), "a": ("f16", rows * inner), "x": ("f16", inner)}
    return program_of(f"gemv_{rows}_{inner}", buffers, [
        f"vector fmac @y[0, strides = [0, 1]] = @a[0, strides = [{rows}, 1]], "
        f"@x[0, strides = [1, 0]] over ({inner}, {rows})"], machine)
