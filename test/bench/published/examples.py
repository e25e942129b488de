# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The small programs of the vendor's examples (csl-examples 2025), written for
our engines: same meshes and sizes, our own code. Each function gives a program
and what its output "y" should hold."""

import numpy as np

import bicgstab
import llama
from assembler import Assembly, Rect

MACHINE = "wse3"


def _small_integers(seed, *shape, dtype=np.float32):
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(dtype)


# ------------------------------------------------------- on a mesh of columns


def sparse_product(shape):
    """y = A x for the 7-point stencil, f16."""
    c = bicgstab.Columns("sparse", shape, ("p", "s"), MACHINE)
    values = _columns(shape, "p")
    return (c.finish(c.apply("s", "p"), values, {}, {"y": "s"}),
            bicgstab.product(_wide(values), _wide(values)["p"]))


def power_method(shape, times):
    c = bicgstab.Columns("power", shape, ("p", "s"), MACHINE)
    body = [*c.apply("s", "p"), *c.dot("sum", "s", "s"), c.scalar("sqrt", "sum", "sum"),
            c.scalar("reciprocal", "sum", "sum"), c.half("sum"), c.vector("mul", "p", "s", "h")]
    values = _columns(shape, "p")
    v = _wide(values)
    for _ in range(times):
        s = bicgstab.product(v, v["p"])
        v["p"] = s / np.sqrt((s * s).sum())
    return c.finish(bicgstab.repeated(body, times), values, {}, {"y": "p"}), v["p"]


def conjugate_gradients(shape, times, preconditioned=False):
    """With a diagonal preconditioner, or none."""
    vectors = ("x", "r", "p") + (("m",) if preconditioned else ())
    c = bicgstab.Columns("gradients", shape, (*vectors, "s", "y"), MACHINE)
    again = "y" if preconditioned else "r"
    body = [*c.apply("s", "p"), *c.dot("sum", "p", "s"), c.scalar("div", "alpha", "rho", "sum"),
            *c.axpy("x", "alpha", "p", 1), *c.axpy("r", "alpha", "s"),
            *([c.vector("mul", "y", "r", "m")] if preconditioned else []),
            *c.dot("new", "r", again), c.scalar("div", "beta", "new", "rho"),
            c.scalar("mov", "rho", "new"), c.half("beta"), c.vector("mul", "p", "p", "h"),
            c.vector("add", "p", "p", again)]
    values = _columns(shape, *vectors)
    v = _wide(values)
    rho = first = (v["r"] * v["p"]).sum()
    for _ in range(times):
        s = bicgstab.product(v, v["p"])
        alpha = rho / (v["p"] * s).sum()
        v["x"] += alpha * v["p"]
        v["r"] -= alpha * s
        y = v["r"] * v["m"] if preconditioned else v["r"]
        rho, last = (v["r"] * y).sum(), rho
        v["p"] = y + rho / last * v["p"]
    return (c.finish(bicgstab.repeated(body, times), values, {"rho": first}, {"y": "x"}), v["x"])


def _columns(shape, *names):
    values = bicgstab.random_values(shape, 1)
    chosen = {name: values[name] for name in bicgstab.COEFFICIENTS}
    chosen |= {name: values["x" if name == "m" else name] for name in names}
    if "m" in chosen:
        chosen["m"] = (1 + 0.1 * np.abs(chosen["m"])).astype(chosen["m"].dtype)
        chosen["p"] = (chosen["r"] * chosen["m"]).astype(chosen["r"].dtype)
    return chosen


def _wide(values):
    return {name: value.astype(np.float64) for name, value in values.items()}


# ------------------------------------------------------------ dense products


def _chain_west(program, first):
    """Colors for sums along a row that end in column 0: a PE receives on the
    color of the other parity."""
    last = program.width - 1
    for parity in (0, 1):
        program.route(first + parity, program.columns(2 - parity, last + 1, 2), "ramp", "west")
        program.route(first + parity, program.columns(1 - parity, last, 2), "east", "ramp")


def _sum_west(first, buffer, count):
    v, over = f"@{buffer}[0, strides = [1]]", f"over ({count})"
    own, source = f"fabric(%odd + {first})", f"fabric(%odd * -1 + {first + 1})"
    return [f"vector mov {own} = {v} {over} where %last",
            f"vector add {own} = {v}, {source} {over} where %inner",
            f"vector add {v} = {v}, {source} {over} where %first"]


def _places(width):
    return ["%px = scalar px", "%zero = constant 0", "%two = constant 2",
            f"%end = constant {width - 1}", "%odd = scalar mod(%px, %two)",
            "%first = scalar equal(%px, %zero)", "%last = scalar equal(%px, %end)",
            "%edge = scalar or(%first, %last)", "%inner = scalar not(%edge)"]


def _columns_of_a(rows, columns):
    """y = A x in a PE: a vector instruction for each column."""
    return [f"vector mov @y[0, strides = [1]] = 0.0 over ({rows})",
            f"for %k < {columns} {{",
            f"  vector fmac @y[0, strides = [1]] = @a[%k, strides = [{columns}]], "
            f"@x[%k, strides = [0]] over ({rows})", "}"]


def matrix_vector(pes, rows, columns):
    """y = A x, f32: row 0 of PEs has x and multicasts it down the columns; sums
    end in column 0. Row-major tiles of rows x columns."""
    program = Assembly("gemv", pes, pes, MACHINE)
    program.route(1, program.rows(0, 1), "ramp", "south")
    program.route(1, program.rows(1, pes - 1), "north", "ramp", "south")
    program.route(1, program.rows(pes - 1, pes), "north", "ramp")
    _chain_west(program, 2)
    pe = program.pe_class("pe", Rect(0, pes, 0, pes))
    pe.add(*_places(pes), "%py = scalar py", "%top = scalar equal(%py, %zero)",
           "%below = scalar not(%top)")
    a, x = _small_integers(1, pes, pes, rows * columns), _small_integers(2, 1, pes, columns)
    for name, count in (("a", rows * columns), ("x", columns), ("y", rows)):
        pe.buffer(name, "f32", count)
    pe.routine("main", [
        f"vector mov fabric(1) = @x[0, strides = [1]] over ({columns}) where %top",
        f"vector mov @x[0, strides = [1]] = fabric(1) over ({columns}) where %below",
        *_columns_of_a(rows, columns), *_sum_west(2, "y", rows)])
    program.copy_in("a_in", "a", a)
    program.copy_in("x_in", "x", np.broadcast_to(x, (pes, pes, columns)).copy())
    program.launch("main")
    program.copy_out("y", "y", (pes, 1, rows), np.float32, program.columns(0, 1))
    return program, np.einsum("yxrc,xc->yr", a.reshape(pes, pes, rows, columns), x[0])[:, None]


def residual(pes, rows, columns):
    """The largest of |b - A x|, f32: sums end in column 0, the maximum in PE
    (0, 0)."""
    program = Assembly("residual", pes, pes, MACHINE)
    _chain_west(program, 2)
    program.route(4, Rect(0, 1, 1, 2), "ramp", "north")
    program.route(4, Rect(0, 1, 0, 1), "south", "ramp")
    pe = program.pe_class("pe", Rect(0, pes, 0, pes))
    pe.add(*_places(pes), "%py = scalar py", "%low = scalar equal(%py, %zero)",
           "%high = scalar not(%low)", "%root = scalar and(%first, %low)",
           "%leaf = scalar and(%first, %high)")
    values = {"a": _small_integers(1, pes, pes, rows * columns),
              "x": np.broadcast_to(_small_integers(2, 1, pes, columns), (pes, pes, columns)).copy(),
              "b": np.broadcast_to(_small_integers(3, pes, 1, rows), (pes, pes, rows)).copy()}
    for name, value in values.items():
        pe.buffer(name, "f32", value.shape[2])
        program.copy_in(f"{name}_in", name, value)
    for name, count in (("y", rows), ("most", 1)):
        pe.buffer(name, "f32", count)
    most = "@most[0, strides = [0]]"
    pe.routine("main", [
        *_columns_of_a(rows, columns), *_sum_west(2, "y", rows),
        f"vector sub @y[0, strides = [1]] = @b[0, strides = [1]], @y[0, strides = [1]] over ({rows})",
        f"vector abs @y[0, strides = [1]] = @y[0, strides = [1]] over ({rows})",
        f"vector mov {most} = 0.0 over (1)",
        f"vector max {most} = {most}, @y[0, strides = [1]] over ({rows})",
        f"vector mov fabric(4) = {most} over (1) where %leaf",
        f"vector max {most} = {most}, fabric(4) over (1) where %root"])
    program.launch("main")
    program.copy_out("y", "most", (1, 1, 1), np.float32, Rect(0, 1, 0, 1))
    product = np.einsum("yxrc,yxc->yr", values["a"].reshape(pes, pes, rows, columns), values["x"])
    return program, np.abs(values["b"][:, 0] - product).max().reshape(1, 1, 1)


def mesh_gemv(pes, rows, columns):
    """A matrix-vector product as a decode layer has it: f16, a two-level
    all-reduce along y."""
    shape = llama.Shape(pes, 2, rows, rows)
    axis = llama.Axis("y", 0, shape)
    program = Assembly("meshgemv", pes, pes, MACHINE)
    axis.routes(program)
    lines, stores = axis.roles()
    pe = program.pe_class("pe", Rect(0, pes, 0, pes))
    pe.add(*lines)
    values = {"a": _small_integers(1, pes, pes, rows * columns, dtype=np.float16),
              "x": _small_integers(2, pes, pes, columns, dtype=np.float16)}
    for name, value in values.items():
        pe.buffer(name, "f16", value.shape[2])
        program.copy_in(f"{name}_in", name, value)
    pe.buffer("out", "f16", rows)
    for name in ("y_role", "desc"):
        pe.buffer(name, "i16", len(axis.number))
    pe.routine("init", stores)
    program.launch("init")
    pe.routine("main", [
        f"vector mov @out[0, strides = [1]] = 0.0 over ({rows})",
        "vector fmac @out[0, strides = [0, 1]] = @x[0, strides = [1, 0]], "
        f"@a[0, strides = [{rows}, 1]] over ({columns}, {rows})",
        *axis.reduce("out", rows)])
    program.launch("main")
    program.copy_out("y", "out", (pes, pes, rows), np.float16)
    part = np.einsum("yxkn,yxk->yxn", values["a"].reshape(pes, pes, columns, rows).astype(float),
                     values["x"].astype(float))
    return program, np.broadcast_to(part.sum(axis=0, keepdims=True), part.shape)


# ------------------------------------------------------------------ cells


def game_of_life(size, times):
    """A cell a PE, i16. Neighbours along x exchange their cells, then those
    along y what they have of three. Colors by the coordinate mod 3, so that a
    PE's differs from both neighbours'."""
    program = Assembly("life", size, size, MACHINE)
    last = size - 1
    for axis, first in (("x", 1), ("y", 4)):
        low, high = ("west", "east") if axis == "x" else ("north", "south")
        strip = program.columns if axis == "x" else program.rows
        for color in range(3):
            for start, end in ((0, 1), (1, last), (last, size)):
                ports = [*([low] if start > 0 else []), *([high] if start < last else [])]
                at = start + (color - start) % 3
                program.route(first + color, strip(at, end, 3), "ramp", *ports)
            program.route(first + color, strip((color + 1) % 3 or 3, size, 3), low, "ramp")
            program.route(first + color, strip((color + 2) % 3, last, 3), high, "ramp")
    pe = program.pe_class("pe", Rect(0, size, 0, size))
    for buffer in ("cell", "row", "near"):
        pe.buffer(buffer, "i16", 1)
    pe.add("%zero = constant 0", "%one = constant 1", "%two = constant 2", "%three = constant 3",
           f"%end = constant {last}")
    body = []
    for axis, first, buffer, total in (("x", 1, "cell", "row"), ("y", 4, "row", "near")):
        n = f"%{axis}"
        pe.add(f"{n} = scalar p{axis}", f"{n}own = scalar mod({n}, %three)",
               f"{n}a = scalar add({n}, %one)", f"{n}high = scalar mod({n}a, %three)",
               f"{n}b = scalar add({n}, %two)", f"{n}low = scalar mod({n}b, %three)",
               f"{n}first = scalar equal({n}, %zero)", f"{n}last = scalar equal({n}, %end)",
               f"{n}haslow = scalar not({n}first)", f"{n}hashigh = scalar not({n}last)")
        word = f"@{total}[0, strides = [1]]"
        body += [f"vector mov fabric({n}own + {first}, i16) = @{buffer}[0, strides = [1]] over (1)",
                 f"vector mov {word} = @{buffer}[0, strides = [1]] over (1)",
                 *(f"vector add {word} = {word}, fabric({n}{side} + {first}, i16) over (1) "
                   f"where {n}has{side}" for side in ("low", "high"))]
    # `near` counts the cell itself: three live on, four leave all as it is.
    body += ["%count = load @near[0]", "%born = compute equal(%count, 3)",
             "%stays = compute equal(%count, 4)", "%alive = load @cell[0]",
             "%lives = compute mul(%stays, %alive)", "store @cell[0] = %lives + %born"]
    pe.routine("main", bicgstab.repeated(body, times))
    cells = np.random.default_rng(4).integers(0, 2, (size, size, 1)).astype(np.int16)
    program.copy_in("cells", "cell", cells)
    program.launch("main")
    program.copy_out("y", "cell", cells.shape, np.int16)
    expected = cells[..., 0]
    for _ in range(times):
        padded = np.pad(expected, 1)
        near = sum(padded[i:i + size, j:j + size] for i in range(3) for j in range(3))
        expected = ((near == 3) | ((near == 4) & (expected == 1))).astype(np.int16)
    return program, expected[..., None]


# ----------------------------------------------------------- wide integers


def wide_multiplication(bits):
    """The product of two unsigned numbers in one PE, by scalar code: digits of
    8 bits, so that a sum of products fits in 32; then the carries."""
    digits = bits // 8
    program = Assembly("wide", 1, 1, MACHINE)
    pe = program.pe_class("pe", Rect(0, 1, 0, 1))
    random = np.random.default_rng(bits)
    factors = {name: random.integers(0, 256, (1, 1, digits)).astype(np.int32) for name in "ab"}
    for name, value in factors.items():
        pe.buffer(name, "i32", digits)
        program.copy_in(f"{name}_in", name, value)
    pe.buffer("c", "i32", 2 * digits)
    pe.buffer("carry", "i32", 1)
    pe.routine("main", [
        f"vector mov @c[0, strides = [1]] = 0.0 over ({2 * digits})", "store @carry[0] = 0",
        f"for %i < {digits} {{", "  %a = load @a[%i]", f"  for %j < {digits} {{",
        "    %b = load @b[%j]", "    %ab = compute mul(%a, %b)", "    %c = load @c[%i + %j]",
        "    store @c[%i + %j] = %c + %ab", "  }", "}",
        f"for %k < {2 * digits} {{", "  %sum = load @c[%k]", "  %carry = load @carry[0]",
        "  %all = compute add(%sum, %carry)", "  %digit = compute mod(%all, 256)",
        "  %left = compute div(%all, 256)", "  store @c[%k] = %digit", "  store @carry[0] = %left",
        "}"])
    program.launch("main")
    program.copy_out("y", "c", (1, 1, 2 * digits), np.int32)
    a, b = (int.from_bytes(bytes(factors[name].ravel().tolist()), "little") for name in "ab")
    product = (a * b).to_bytes(2 * digits, "little")
    return program, np.frombuffer(product, np.uint8).astype(np.float64).reshape(1, 1, -1)


# --------------------------------------------------------------- Cholesky


def cholesky(pes, tile):
    """L of A = L L^T, f32, a row-major tile in each PE on or below the diagonal.
    In step k the PEs of column k send their tiles of L along their rows, and
    the PE at the end of a row sends that down its column: so a PE hears both
    factors of what it subtracts. After the steps before its own column it
    factors its tile, or divides by the factor at the head of its column, which
    comes with the inverse of its diagonal."""
    program = Assembly("cholesky", pes, pes, MACHINE)
    last, words = pes - 1, tile * tile
    program.route(1, Rect(0, 1, 1, pes), "ramp", "east")
    for x in range(pes):
        below, end = Rect(x, x + 1, x + 1, last), Rect(x, x + 1, max(x + 1, last), pes)
        program.route(2, Rect(x, x + 1, x, x + 1) if x < last else Rect(0, 0, 0, 0), "ramp", "south")
        program.route(2, below, "north", "south", "ramp")
        program.route(2, end, "north", "ramp")
        if x > 0:
            program.route(1, Rect(x, x + 1, x, x + 1), "west", "ramp")
            program.route(1, Rect(x, x + 1, x + 1, pes), "west", "east", "ramp")
    heads = program.pe_class("head", *(Rect(x, x + 1, x, x + 1) for x in range(pes)))
    others = program.pe_class("below", *(Rect(x, x + 1, x + 1, pes) for x in range(last)))
    above = program.pe_class("above", *(Rect(x, x + 1, 0, x) for x in range(1, pes)))
    for pe in (heads, others, above):
        pe.add("%px = scalar px")
        for buffer in ("a", "left", "right"):
            pe.buffer(buffer, "f32", words)
        pe.buffer("t", "f32", 1)
    heads.buffer("inverse", "f32", tile)
    heads.add(f"%end = constant {last}", "%final = scalar equal(%px, %end)",
              "%more = scalar not(%final)")
    every = f"over ({words})"

    def whole(name):
        return f"@{name}[0, strides = [1]]"

    def column(name, row, at):
        return f"@{name}[{row * tile + at}, strides = [{tile}]]"

    def one(name, row, at):
        return f"@{name}[{row * tile + at}, strides = [0]]"
    t = "@t[0, strides = [0]]"

    def subtract(right):
        return [f"  vector mul {whole('left')} = {whole('left')}, -1.0 {every}",
                f"  for %i < {tile} {{", f"    for %m < {tile} {{",
                f"      vector fmac @a[%i * {tile}, strides = [1]] = @{right}[%m, strides = [{tile}]], "
                f"@left[%i * {tile} + %m, strides = [0]] over ({tile})", "    }", "  }"]

    factor = []
    for j in range(tile):
        v, inverse = column("a", j, j), f"@inverse[{j}, strides = [0]]"
        factor += [f"vector rsqrt {inverse} = {one('a', j, j)} over (1)",
                   f"vector mul {v} = {v}, {inverse} over ({tile - j})"]
        for n in range(j + 1, tile):
            factor += [f"vector mov @a[{j * tile + n}, strides = [1]] = 0.0 over (1)",
                       f"vector mul {t} = {one('a', n, j)}, -1.0 over (1)",
                       f"vector fmac {column('a', n, n)} = {column('a', n, j)}, {t} over ({tile - n})"]
    divide = []
    for j in range(tile):
        for n in range(j):
            divide += [f"vector mul {t} = {one('right', j, n)}, -1.0 over (1)",
                       f"vector fmac {column('a', 0, j)} = {column('a', 0, n)}, {t} over ({tile})"]
        v = column("a", 0, j)
        divide.append(f"vector mul {v} = {v}, {one('right', j, j)} over ({tile})")
    heads.routine("main", [
        "for %k < %px {", f"  vector mov {whole('left')} = fabric(1) {every}",
        f"  vector mov fabric(2) = {whole('left')} {every} where %more",
        f"  vector mov {whole('right')} = {whole('left')} {every}", *subtract("right"), "}",
        *factor, f"vector mov {whole('left')} = {whole('a')} {every}",
        f"vector mov @left[0, strides = [{tile + 1}]] = @inverse[0, strides = [1]] over ({tile})",
        f"vector mov fabric(2) = {whole('left')} {every} where %more"])
    others.routine("main", [
        "for %k < %px {", f"  vector mov {whole('left')} = fabric(1) {every}",
        f"  vector mov {whole('right')} = fabric(2) {every}", *subtract("right"), "}",
        f"vector mov {whole('right')} = fabric(2) {every}", *divide,
        "set_route 1 from ramp to [east]", f"vector mov fabric(1) = {whole('a')} {every}"])
    above.routine("main", [f"vector mov {whole('a')} = 0.0 {every}"])
    size = pes * tile
    b = np.random.default_rng(size).standard_normal((size, size))
    a = b @ b.T + size * np.eye(size)

    def tiles(matrix):
        return (matrix.reshape(pes, tile, pes, tile).transpose(0, 2, 1, 3)
                .reshape(pes, pes, words))
    program.copy_in("a_in", "a", tiles(a).astype(np.float32))
    program.launch("main")
    program.copy_out("y", "a", (pes, pes, words), np.float32)
    return program, tiles(np.linalg.cholesky(a))
