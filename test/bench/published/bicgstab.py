# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An iteration of BiCGStab for a 7-point stencil, as on the first wafer (Rocki et
al. 2020): every PE holds a column of z points, f16; inner products are f32.

The matrix has ones on its diagonal and six coefficients per point beside it. A
product of it multicasts the column to the four neighbours, two elements a
wavelet; each of six products and its sum are an instruction each, as published. Inner products are summed by stars: the
halves of each row send their words to the two middle columns, which send theirs
to the two middle rows; of four PEs one gets the sum and multicasts it."""

from dataclasses import dataclass

import numpy as np

from assembler import Assembly, Rect

HALF = np.float16
# Name -> (dx, dy) of the neighbour, thread that receives from it.
SIDES = {"w": (-1, 0, 1), "e": (1, 0, 2), "n": (0, -1, 3), "s": (0, 1, 4)}
BLOCK = 256
COLUMN_COLOR, ROW, COLUMN, ACROSS, DOWN, CAST = 1, 6, 8, 10, 11, 12
COEFFICIENTS = ("aw", "ae", "an", "as", "ab", "at")
VECTORS = ("x", "r0", "r", "p")
SCALARS = ("rho", "sum", "alpha", "omega", "new", "beta", "top")
S = {name: f"@f[{i}, strides = [0]]" for i, name in enumerate(SCALARS)}


@dataclass(frozen=True)
class Shape:
    """A mesh of width x height PEs, both even, or odd height; z points each."""

    width: int
    height: int
    z: int


PUBLISHED = Shape(600, 595, 1536), 28.1e-6 * 0.85e9


class Stars:
    """Routes and code of the sum of one word of every PE."""

    def __init__(self, program, width, height):
        self.width, self.height = width, height
        self.column, self.row = width // 2, height // 2
        c, r = self.column, self.row
        for half, (end, middle, towards, away) in enumerate(
                ((0, c - 1, "east", "west"), (width - 1, c, "west", "east"))):
            self._star(program, ROW + half, end, middle, towards, away,
                       lambda x: Rect(*x, 0, height))
        for half, (end, middle, towards, away) in enumerate(
                ((0, r - 1, "south", "north"), (height - 1, r, "north", "south"))):
            self._star(program, COLUMN + half, end, middle, towards, away,
                       lambda y: Rect(c - 1, c + 1, *y))
        program.route(ACROSS, Rect(c, c + 1, r - 1, r + 1), "ramp", "west")
        program.route(ACROSS, Rect(c - 1, c, r - 1, r + 1), "east", "ramp")
        program.route(DOWN, Rect(c - 1, c, r, r + 1), "ramp", "north")
        program.route(DOWN, Rect(c - 1, c, r - 1, r), "south", "ramp")
        self._cast(program, c - 1, r - 1)

    def _star(self, program, color, end, middle, towards, away, rect):
        """All from `end` to before `middle` send; who has sent is a wire until a
        control wavelet of the outermost turns all switches back."""
        low, high = sorted((end, middle))
        program.route(color, rect((middle, middle + 1)), away, "ramp")
        if end == middle:
            return
        program.route(color, rect((end, end + 1)), "ramp", towards)
        program.route(color, rect((low + 1, high)), "ramp", towards,
                      more=f"switch [from {away}] ring")

    def _cast(self, program, column, row):
        """From one PE along its row, and from all of that along their columns."""
        def outs(y, *ports):
            return [*ports, *(["north"] if row > 0 else []),
                    *(["south"] if row < self.height - 1 else [])]
        last = self.width - 1

        def across(x0, x1, source, *ports):
            program.route(CAST, Rect(x0, x1, row, row + 1), source, *outs(row, *ports))
        across(column, column + 1, "ramp", *(["west"] if column > 0 else []), "east")
        across(1, column, "east", "ramp", "west")
        across(0, min(1, column), "east", "ramp")
        across(column + 1, last, "west", "ramp", "east")
        across(max(last, column + 1), last + 1, "west", "ramp")
        for y0, y1, source, target in ((1, row, "south", "north"),
                                       (row + 1, self.height - 1, "north", "south")):
            program.route(CAST, Rect(0, self.width, y0, y1), source, "ramp", target)
        program.route(CAST, Rect(0, self.width, 0, min(1, row)), "south", "ramp")
        program.route(CAST, Rect(0, self.width, max(row + 1, self.height - 1), self.height),
                      "north", "ramp")

    def scalars(self):
        c, r = self.column, self.row
        lines = ["%zero = constant 0"]
        for axis, at, middle, last in (("x", "%px", c, self.width - 1),
                                       ("y", "%py", r, self.height - 1)):
            lines += [f"%{axis}m = constant {middle}", f"%{axis}m1 = constant {middle - 1}",
                      f"%{axis}end = constant {last}",
                      f"%{axis}low = scalar less({at}, %{axis}m)",
                      f"%{axis}high = scalar not(%{axis}low)",
                      f"%{axis}midhigh = scalar equal({at}, %{axis}m)",
                      f"%{axis}midlow = scalar equal({at}, %{axis}m1)",
                      f"%{axis}mid = scalar or(%{axis}midlow, %{axis}midhigh)",
                      f"%{axis}send = scalar not(%{axis}mid)",
                      f"%{axis}first = scalar equal({at}, %zero)",
                      f"%{axis}last = scalar equal({at}, %{axis}end)",
                      f"%{axis}edge = scalar or(%{axis}first, %{axis}last)",
                      f"%{axis}ends = scalar and(%{axis}edge, %{axis}send)"]
        return [*lines, "%ycolsend = scalar and(%xmid, %ysend)", "%ycolends = scalar and(%xmid, %yends)",
                "%centre = scalar and(%xmid, %ymid)", "%ylowc = scalar and(%xmid, %ymidlow)",
                "%yhighc = scalar and(%xmid, %ymidhigh)",
                "%ne = scalar and(%centre, %xmidhigh)", "%nw = scalar and(%centre, %xmidlow)",
                "%sw = scalar and(%nw, %ymidhigh)", "%root = scalar and(%nw, %ymidlow)",
                "%leaf = scalar not(%root)"]

    def reduce(self, word):
        """All PEs get the sum of `word`s; every PE has one. What arrives is
        added to two sums in turn, so that no addition waits for the last."""
        lines = []

        def star(color, senders, ends, low, high, counts, high_scalar):
            lines.append(f"vector mov fabric({high_scalar} + {color}) = {word} over (1) "
                         f"where {senders} advance")
            lines.append(f"if {ends} {{")
            lines.append(f"  control fabric({high_scalar} + {color}) [advance]")
            lines.append("}")
            for half, (who, count) in enumerate(zip((low, high), counts)):
                pairs, odd = divmod(count, 2)
                lines.append(f"vector mov @two[0, strides = [1]] = 0.0 over (2) where {who}")
                if pairs:
                    lines.append("vector add @two[0, strides = [0, 1]] = "
                                 f"@two[0, strides = [0, 1]], fabric({color + half}, depth = 2) "
                                 f"over ({pairs}, 2) where {who}")
                if odd:
                    lines.append("vector add @two[0, strides = [0]] = @two[0, strides = [0]], "
                                 f"fabric({color + half}) over (1) where {who}")
                lines.append(f"vector add {word} = {word}, @two[0, strides = [1]] over (2) "
                             f"where {who}")
        star(ROW, "%xsend", "%xends", "%xmidlow", "%xmidhigh",
             (self.column - 1, self.width - 1 - self.column), "%xhigh")
        star(COLUMN, "%ycolsend", "%ycolends", "%ylowc", "%yhighc",
             (self.row - 1, self.height - 1 - self.row), "%yhigh")
        return [*lines,
                f"vector mov fabric({ACROSS}) = {word} over (1) where %ne",
                f"vector add {word} = {word}, fabric({ACROSS}) over (1) where %nw",
                f"vector mov fabric({DOWN}) = {word} over (1) where %sw",
                f"vector add {word} = {word}, fabric({DOWN}) over (1) where %root",
                f"vector mov fabric({CAST}) = {word} over (1) where %root",
                f"vector mov {word} = fabric({CAST}) over (1) where %leaf"]


def all_reduce(width, height, machine="wse1"):
    """The sum alone: the program, and what every PE should hold."""
    program = Assembly("all_reduce", width, height, machine)
    stars = Stars(program, width, height)
    pe = program.pe_class("pe", Rect(0, width, 0, height))
    pe.add("%px = scalar px", "%py = scalar py", *stars.scalars())
    pe.buffer("v", "f32", 1)
    pe.buffer("two", "f32", 2)
    values = np.random.default_rng(1).integers(-8, 9, (height, width, 1)).astype(np.float32)
    program.copy_in("x", "v", values)
    pe.routine("main", stars.reduce("@v[0, strides = [0]]"))
    program.launch("main")
    program.copy_out("y", "v", values.shape, np.float32)
    return program, np.full(values.shape, values.sum(dtype=np.float64))


def _apply(to, source, z):
    """to = A source. A column goes to all neighbours at once, in blocks: the
    products of four of them are kept until they are added."""
    block = min(BLOCK, z)
    if z % block:
        raise ValueError(f"columns longer than {BLOCK} must be a multiple of it")

    def memory(name, offset=0):
        return f"@{name}[{offset}, strides = [1]]"

    def part(name):
        return f"@{name}[%b * {block}, strides = [1]]"
    lines = [f"vector mov {memory(to)} = {memory(source)} over ({z})"]
    for name, into, out in (("ab", 1, 0), ("at", 0, 1)):
        lines += [f"vector mul {memory('t')} = {memory(name, into)}, {memory(source, out)} "
                  f"over ({z - 1})",
                  f"vector add {memory(to, into)} = {memory(to, into)}, {memory('t')} "
                  f"over ({z - 1})"]
    lines += [f"for %b < {z // block} {{",
              f"  vector mov fabric(%own + {COLUMN_COLOR}, f16, pair) = {part(source)} "
              f"over ({block}) thread 0"]
    for i, (side, (_, _, thread)) in enumerate(SIDES.items()):
        lines.append(f"  vector mul {memory('t', i * block)} = {part('a' + side)}, "
                     f"fabric(%from_{side} + {COLUMN_COLOR}, f16, pair) over ({block}) "
                     f"where %has_{side} thread {thread}")
    lines.append("  await [0, 1, 2, 3, 4]")
    for i, side in enumerate(SIDES):
        lines.append(f"  vector add {part(to)} = {part(to)}, {memory('t', i * block)} "
                     f"over ({block}) where %has_{side}")
    return [*lines, "}"]


def _neighbours():
    """Colors by (x + 2 y) mod 5: a PE and its neighbours have five different ones."""
    lines = ["%five = constant 5", "%y2 = scalar add(%py, %py)", "%sum2 = scalar add(%px, %y2)",
             "%own = scalar mod(%sum2, %five)"]
    for side, (dx, dy, _) in SIDES.items():
        edge = f"%{'x' if dx else 'y'}{'first' if dx + dy < 0 else 'last'}"
        lines += [f"%by_{side} = constant {(dx + 2 * dy) % 5}",
                  f"%to_{side} = scalar add(%own, %by_{side})",
                  f"%from_{side} = scalar mod(%to_{side}, %five)",
                  f"%has_{side} = scalar not({edge})"]
    return lines


def _routes(program, shape):
    width, height = shape.width, shape.height
    ports = {"w": "west", "e": "east", "n": "north", "s": "south"}

    def zones(length):
        """First, inner, last."""
        return [(0, 1), (1, length - 1), (length - 1, length)]

    def fifth(low, remainder):
        """The first coordinate from `low` on with a remainder by five."""
        return low + (remainder - low) % 5
    for ry in range(5):
        for color in range(5):
            for zx, (x0, x1) in enumerate(zones(width)):
                for zy, (y0, y1) in enumerate(zones(height)):
                    def rect(of):
                        return Rect(fifth(x0, of - 2 * ry), x1, fifth(y0, ry), y1, 5, 5)
                    there = {"w": zx > 0, "e": zx < 2, "n": zy > 0, "s": zy < 2}
                    program.route(COLUMN_COLOR + color, rect(color), "ramp",
                                  *(ports[side] for side in SIDES if there[side]))
                    for side, (dx, dy, _) in SIDES.items():
                        if there[side]:
                            program.route(COLUMN_COLOR + color, rect(color - dx - 2 * dy),
                                          ports[side], "ramp")


class Columns:
    """A program of PEs with a column of z points each, and lines of its code.
    All but the coefficients are the caller's vectors; scalars are S."""

    def __init__(self, name, shape, vectors, machine):
        self.shape, z = shape, shape.z
        self.program = Assembly(name, shape.width, shape.height, machine)
        _routes(self.program, shape)
        self.stars = Stars(self.program, shape.width, shape.height)
        self.pe = self.program.pe_class("pe", Rect(0, shape.width, 0, shape.height))
        self.pe.add("%px = scalar px", "%py = scalar py", *self.stars.scalars(), *_neighbours())
        self.pe.buffer("f", "f32", len(SCALARS))
        self.pe.buffer("two", "f32", 2)
        self.pe.buffer("h", "f16", 1)
        for buffer in (*COEFFICIENTS, *vectors):
            self.pe.buffer(buffer, "f16", z)
        self.pe.buffer("t", "f16", max(z, 4 * min(BLOCK, z)))

    def apply(self, to, source):
        return _apply(to, source, self.shape.z)

    def dot(self, to, a, b):
        return [f"vector mov {S[to]} = 0.0 over (1)",
                f"vector fmac {S[to]} = @{a}[0, strides = [1]], @{b}[0, strides = [1]] "
                f"over ({self.shape.z})", *self.stars.reduce(S[to])]

    @staticmethod
    def scalar(op, to, *of):
        return f"vector {op} {S[to]} = {', '.join(S[s] for s in of)} over (1)"

    @staticmethod
    def half(scalar):
        """@h: a scalar as the vectors take it."""
        return f"vector mov @h[0, strides = [0]] = {S[scalar]} over (1)"

    def vector(self, op, to, *of):
        return (f"vector {op} @{to}[0, strides = [1]] = "
                + ", ".join(f"@{s}[0, strides = [{0 if s == 'h' else 1}]]" for s in of)
                + f" over ({self.shape.z})")

    def axpy(self, to, factor, source, sign=-1):
        """to += sign factor source."""
        return [f"vector mul {S['top']} = {S[factor]}, {sign}.0 over (1)", self.half("top"),
                self.vector("fmac", to, "h", source)]

    def finish(self, body, values, scalars, results):
        """values: of buffers; scalars: name -> value in all PEs; results: output
        -> buffer."""
        self.pe.routine("main", body)
        for name, value in values.items():
            self.program.copy_in(f"{name}_in", name, value)
        width, height, z = self.shape.width, self.shape.height, self.shape.z
        first = np.zeros((height, width, len(SCALARS)), np.float32)
        for name, value in scalars.items():
            first[..., SCALARS.index(name)] = value
        self.program.copy_in("f_in", "f", first)
        self.program.launch("main")
        for output, buffer in results.items():
            self.program.copy_out(output, buffer, (height, width, z), HALF)
        return self.program


def iteration(shape, machine="wse1", seed=0, times=1):
    """The program, and p and x after one iteration from a random state."""
    c = Columns("bicgstab", shape, (*VECTORS, "s", "y"), machine)
    body = [
        *c.apply("s", "p"), *c.dot("sum", "r0", "s"), c.scalar("div", "alpha", "rho", "sum"),
        *c.axpy("r", "alpha", "s"),
        *c.apply("y", "r"), *c.dot("omega", "r", "y"), *c.dot("sum", "y", "y"),
        c.scalar("div", "omega", "omega", "sum"),
        *c.axpy("x", "alpha", "p", 1), *c.axpy("x", "omega", "r", 1), *c.axpy("r", "omega", "y"),
        *c.dot("new", "r0", "r"), c.scalar("div", "beta", "alpha", "omega"),
        c.scalar("mul", "beta", "beta", "new"), c.scalar("div", "beta", "beta", "rho"),
        *c.axpy("p", "omega", "s"), c.half("beta"), c.vector("mul", "p", "p", "h"),
        c.vector("add", "p", "p", "r")]
    values = random_values(shape, seed)
    rho = (values["r0"].astype(np.float64) * values["r"]).sum()
    return (c.finish(repeated(body, times), values, {"rho": rho}, {"y": "p", "x_out": "x"}),
            reference(values))


def repeated(body, times):
    return body if times == 1 else [f"for %round < {times} {{", *("  " + line for line in body),
                                    "}"]


def random_values(shape, seed):
    random = np.random.default_rng(seed)
    size = (shape.height, shape.width, shape.z)
    values = {name: (-random.uniform(0.05, 0.14, size)).astype(HALF) for name in COEFFICIENTS}
    values |= {name: random.standard_normal(size).astype(HALF) for name in VECTORS}
    values["p"] = values["r0"] = values["r"]
    return values


def product(v, u):
    """A u in float64; v: the coefficients."""
    out = u.copy()
    out[:, 1:] += v["aw"][:, 1:] * u[:, :-1]
    out[:, :-1] += v["ae"][:, :-1] * u[:, 1:]
    out[1:] += v["an"][1:] * u[:-1]
    out[:-1] += v["as"][:-1] * u[1:]
    out[..., 1:] += v["ab"][..., 1:] * u[..., :-1]
    out[..., :-1] += v["at"][..., :-1] * u[..., 1:]
    return out


def reference(values):
    """p and x in float64."""
    v = {name: value.astype(np.float64) for name, value in values.items()}

    def apply(u):
        return product(v, u)

    rho = (v["r0"] * v["r"]).sum()
    s = apply(v["p"])
    alpha = rho / (v["r0"] * s).sum()
    q = v["r"] - alpha * s
    y = apply(q)
    omega = (q * y).sum() / (y * y).sum()
    r = q - omega * y
    beta = alpha / omega * (v["r0"] * r).sum() / rho
    return r + beta * (v["p"] - omega * s), v["x"] + alpha * v["p"] + omega * q
