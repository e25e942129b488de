# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoder layer on P x P PEs, one token, f16, as WaferLLM (OSDI 2025) runs it.

A matrix-vector product leaves partial sums in every PE of a line; a two-level
all-reduce adds them: in each of `groups` groups chains run from both ends to
the middle PE, then the middle PEs do the same among themselves, and the last
one multicasts the sum both ways. Axes alternate, so that nothing is ever
transposed. As in the published code, which is a timing reference: one head of
full width, no key/value groups, SiLU of d elements, exp(x) as (1 + x / 256)^4;
who a PE is, and its descriptors, are variables that are asked and set while it
runs. A scalar operation on f16 is a vector instruction of one element."""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from assembler import Assembly, Rect

HALF = np.float16


@dataclass(frozen=True)
class Shape:
    """pes: P. groups x group = P. Per PE: d features, s positions, f of the MLP."""

    pes: int
    groups: int
    d: int
    f: int
    s: int = None

    @property
    def group(self):
        return self.pes // self.groups

    @property
    def positions(self):
        return self.s or self.d


# Context 4K: the published grids, tiles and cycles per layer.
PUBLISHED = [(Shape(420, 20, 10, 35), 12732), (Shape(540, 20, 8, 27), 13742),
             (Shape(660, 22, 7, 22), 15323)]


class Axis:
    """Routes and code of the all-reduce along one axis.

    Colors from `base`: 0, 1 towards higher coordinates inside groups, 2, 3
    towards lower; 4, 5 and 6, 7 the same among the groups' middles; 8, 9 the
    multicasts. A PE receives on the color of the other parity."""

    def __init__(self, name, base, shape):
        self.name, self.base, self.shape = name, base, shape
        self.names = itertools.count()
        self.up, self.down = ("west", "east") if name == "x" else ("north", "south")

    def rect(self, low, high, step=1):
        whole = self.shape.pes
        if self.name == "x":
            return Rect(low, high, 0, whole, step)
        return Rect(0, whole, low, high, 1, step)

    def routes(self, program):
        pes, group, groups = self.shape.pes, self.shape.group, self.shape.groups
        middle = group // 2

        def chain(color, count, centre, place, between):
            """Links of a chain of `count` members that ends in the centre."""
            for p in range(count):
                if p < centre:
                    program.route(color + p % 2, place(p), "ramp", self.down)
                    program.route(color + p % 2, place(p + 1), self.up, "ramp")
                    program.route(color + p % 2, between(p), self.up, self.down)
                if p > centre:
                    program.route(color + 2 + p % 2, place(p), "ramp", self.up)
                    program.route(color + 2 + p % 2, place(p - 1), self.down, "ramp")
                    program.route(color + 2 + p % 2, between(p - 1), self.down, self.up)

        nothing = Rect(0, 0, 0, 0)
        chain(self.base, group, middle, lambda p: self.rect(p, pes, group), lambda p: nothing)
        def root(k):
            return k * group + middle
        chain(self.base + 4, groups, groups // 2, lambda k: self.rect(root(k), root(k) + 1),
              lambda k: self.rect(root(k) + 1, root(k + 1)))
        last = root(groups // 2)
        for cast, towards, away, low, high in (
                (self.base + 8, self.up, self.down, 0, last),
                (self.base + 9, self.down, self.up, last + 1, pes)):
            if low == high:
                continue
            end = low if towards == self.up else high - 1
            program.route(cast, self.rect(last, last + 1), "ramp", towards)
            program.route(cast, self.rect(end, end + 1), away, "ramp")
            inner = self.rect(low + 1, high) if end == low else self.rect(low, high - 1)
            program.route(cast, inner, away, towards, "ramp")

    def roles(self):
        """Scalars, and the variables that the code asks for them: who a PE is in
        its group and among the groups."""
        a, shape = self.name, self.shape
        values = {"place": f"%{a}"}
        lines = [f"%{a} = scalar p{a}", f"%{a}group = constant {shape.group}",
                 f"%{a}two = constant 2", f"%{a}zero = constant 0",
                 f"%{a}end = constant {shape.pes - 1}",
                 f"%{a}p = scalar mod(%{a}, %{a}group)", f"%{a}k = scalar div(%{a}, %{a}group)",
                 f"%{a}1parity = scalar mod(%{a}p, %{a}two)",
                 f"%{a}2parity = scalar mod(%{a}k, %{a}two)",
                 f"%{a}final = scalar equal(%{a}, %{a}end)",
                 f"%{a}more = scalar not(%{a}final)"]
        values["more"] = f"%{a}more"
        for level, index, count in (("1", "p", shape.group), ("2", "k", shape.groups)):
            n, v = f"%{a}{level}", f"%{a}{index}"
            lines += [f"{n}mid = constant {count // 2}", f"{n}end = constant {count - 1}",
                      f"{n}root = scalar equal({v}, {n}mid)",
                      f"{n}first = scalar equal({v}, %{a}zero)",
                      f"{n}last = scalar equal({v}, {n}end)", f"{n}early = scalar not({n}last)",
                      f"{n}low = scalar less({v}, {n}mid)"]
            values |= {f"{role}{level}": f"{n}{role}"
                       for role in ("root", "first", "last", "early", "low")}
        self.number = {role: i for i, role in enumerate(values)}
        stores = [f"store @{a}_role[{i}] = {value}" for i, value in enumerate(values.values())]
        return lines, stores

    def _ask(self, role, yes, no=()):
        """A branch on a variable: the published code has these at run time."""
        name = f"%{self.name}{role}{next(self.names)}"
        return [f"{name} = load @{self.name}_role[{self.number[role]}]", f"if {name} {{",
                *("  " + line for line in yes),
                *(["} else {", *("  " + line for line in no)] if no else []), "}"]

    def reduce(self, buffer, count, operation="add", pair=True):
        """Lines of code: all-reduce of the first elements of a buffer."""
        v, over = f"@{buffer}[0, strides = [1]]", f"over ({count})"
        form = "f16, pair" if pair else "f16"

        def port(level, side, own):
            color = self.base + 4 * (level - 1) + 2 * (side == "high")
            parity = f"%{self.name}{level}parity"
            return (f"fabric({parity} + {color}, {form})" if own
                    else f"fabric({parity} * -1 + {color + 1}, {form})")

        def send(level, side):
            return [f"vector mov {port(level, side, True)} = {v} {over}"]

        def forward(level, side):
            return [f"vector {operation} {port(level, side, True)} = {v}, "
                    f"{port(level, side, False)} {over}"]

        def chain(level):
            """Towards the middle, from both ends."""
            take = [f"vector {operation} {v} = {v}, {port(level, side, False)} {over}"
                    for side in ("high", "low")]
            inner = self._ask(f"low{level}", forward(level, "low"), forward(level, "high"))
            return self._ask(f"root{level}", [*self._ask(f"early{level}", take[:1]), *take[1:]],
                             self._ask(f"first{level}", send(level, "low"),
                                       self._ask(f"last{level}", send(level, "high"), inner)))

        up, down = (f"fabric({self.base + i}, f16, pair)" for i in (8, 9))
        root = self.shape.groups // 2 * self.shape.group + self.shape.group // 2

        def final(yes, no):
            """Of the PE that gets all."""
            place, name = (f"%{self.name}{what}{next(self.names)}" for what in ("at", "is"))
            return [f"{place} = load @{self.name}_role[{self.number['place']}]",
                    f"{name} = compute equal({place}, {root})", f"if {name} {{",
                    *("  " + line for line in yes), "} else {",
                    *("  " + line for line in no(place)), "}"]

        def hear(place):
            name = f"%{self.name}up{next(self.names)}"
            return [f"{name} = compute less({place}, {root})", f"if {name} {{",
                    f"  vector mov {v} = {up} {over}", "} else {",
                    f"  vector mov {v} = {down} {over}", "}"]
        lines = [f"store @desc[0] = {count}"]
        if self.shape.group > 1:
            lines += chain(1)
        if self.shape.groups > 1:
            lines += self._ask("root1", chain(2))
        if self.shape.pes > 1:
            lines += final([f"vector mov {up} = {v} {over}" if root > 0 else f"store @desc[0] = 0",
                            *self._ask("more", [f"vector mov {down} = {v} {over}"])], hear)
        return lines


BUFFERS = {"x": "d", "gamma": "d", "wqkv": "3dd", "kt": "ds", "v": "sd", "wo": "dd",
           "wug": "2df", "wd": "fd"}
SCRATCH = {"h": "d", "qkv": "3d", "turned": "2d", "sc": "s", "o": "d", "ug": "2f", "acc": "1",
           "top": "1", "sum": "1"}


def size(text, shape):
    result = 1
    for c in text:
        result *= int(c) if c.isdigit() else {"d": shape.d, "s": shape.positions, "f": shape.f}[c]
    return result


def decode(shape, values=None, machine="wse2"):
    """values: name -> [P, P, elements] for all of BUFFERS, or None for a run that
    only counts cycles: then the PEs fill their buffers themselves."""
    d, f, s, pes = shape.d, shape.f, shape.positions, shape.pes
    program = Assembly("decode", pes, pes, machine)
    x_axis, y_axis = Axis("x", 0, shape), Axis("y", 10, shape)
    pe = program.pe_class("pe", Rect(0, pes, 0, pes))
    roles = []
    for axis in (x_axis, y_axis):
        if pes > 1:
            axis.routes(program)
        lines, stores = axis.roles()
        pe.add(*lines)
        roles += stores
    for name, text in {**BUFFERS, **SCRATCH}.items():
        pe.buffer(name, "f16", size(text, shape))
    for name in ("x_role", "y_role", "desc"):
        pe.buffer(name, "i16", len(x_axis.number))
    names = itertools.count()

    def all_of(buffer, offset=0, step=1):
        return f"@{buffer}[{offset}, strides = [{step}]]"

    def unary(op, to, source, n):
        return f"vector {op} {to} = {source} over ({n})"

    def binary(op, to, a, b, n):
        return f"vector {op} {to} = {a}, {b} over ({n})"

    def clear(buffer, n):
        return unary("mov", all_of(buffer), "0.0", n)

    def product(out, weight, vector, inner, length, blocks=1):
        """out[b, :] += sum over k of weight[b, k, :] vector[k], a nest for each
        b. Its three descriptors are variables in memory: their lengths and
        bases are set before, and two are moved on after."""
        lines = []
        for block in range(blocks):
            lines.append(unary("mov", all_of(out, block * length), "0.0", length))
            lines += [f"store @desc[{i % 4}] = {value}"
                      for i, value in enumerate((inner, length, length, 0, 0, 0))]
            lines.append(f"vector fmac @{out}[{block * length}, strides = [0, 1]] = "
                         f"@{vector}[0, strides = [1, 0]], "
                         f"@{weight}[{block * inner * length}, strides = [{length}, 1]] "
                         f"over ({inner}, {length})")
            for step in (inner, length):
                old, new = (f"%desc{next(names)}" for _ in range(2))
                lines += [f"{old} = load @desc[0]", f"{new} = compute add({old}, {step})",
                          f"store @desc[0] = {new}"]
        return lines

    def norm():
        one = all_of("acc")
        return [binary("mul", all_of("h"), all_of("x"), all_of("x"), d), clear("acc", 1),
                binary("add", all_of("acc", 0, 0), all_of("acc", 0, 0), all_of("h"), d),
                *y_axis.reduce("acc", 1),
                binary("mul", all_of("h"), all_of("x"), all_of("gamma"), d),
                binary("div", one, one, f"{float(d * pes)}", 1),
                binary("add", one, one, "1.0e-3", 1), unary("sqrt", one, one, 1),
                unary("reciprocal", one, one, 1),
                binary("mul", all_of("h"), all_of("h"), all_of("acc", 0, 0), d)]

    def power(to, source, n, sign=1):
        """The published exp(x): (1 + x / 256)^4."""
        return [binary("mul", to, source, f"{sign / 256}", n), binary("add", to, to, "1.0", n),
                binary("mul", to, to, to, n), binary("mul", to, to, to, n)]

    def silu(n):
        """Of n elements of the gate, in a loop of scalar code."""
        one, top = f"@ug[%i + {f}, strides = [1]]", all_of("top")
        return [f"for %i < {n} {{", *(f"  {line}" for line in [
            *power(top, one, 1, -1), binary("add", top, top, "1.0", 1),
            binary("div", one, one, top, 1)]), "}"]

    def rope(offset):
        """Pairs (a, b) become (a c - b s, b c + a s) for one angle."""
        n, c, sine = d // 2, f"{math.cos(1):.9e}", f"{math.sin(1):.9e}"
        even, odd = all_of("qkv", offset, 2), all_of("qkv", offset + 1, 2)
        t = [all_of("turned", i * n) for i in range(4)]
        return [*(binary("mul", *of, n) for of in zip(t, (even, odd, odd, even),
                                                      (c, sine, c, sine))),
                binary("sub", even, t[0], t[1], n), binary("add", odd, t[2], t[3], n)]

    scalar = all_of("sum", 0, 0)
    body = [
        *norm(), *product("qkv", "wqkv", "h", d, d, 3), *y_axis.reduce("qkv", 3 * d),
        *rope(0), *rope(d),
        *product("sc", "kt", "qkv", d, s), *x_axis.reduce("sc", s),
        binary("mul", all_of("sc"), all_of("sc"), f"{1 / math.sqrt(d * pes):.9e}", s),
        unary("mov", all_of("top"), all_of("sc"), 1),
        binary("max", all_of("top", 0, 0), all_of("top", 0, 0), all_of("sc"), s),
        *y_axis.reduce("top", 1, "max"),
        binary("sub", all_of("sc"), all_of("sc"), all_of("top", 0, 0), s),
        *power(all_of("sc"), all_of("sc"), s),
        clear("sum", 1), binary("add", scalar, scalar, all_of("sc"), s),
        *y_axis.reduce("sum", 1), unary("reciprocal", all_of("sum"), all_of("sum"), 1),
        binary("mul", all_of("sc"), all_of("sc"), scalar, s),
        *product("o", "v", "sc", s, d), *y_axis.reduce("o", d),
        *product("h", "wo", "o", d, d), *x_axis.reduce("h", d),
        binary("add", all_of("x"), all_of("x"), all_of("h"), d),
        *norm(), *product("ug", "wug", "h", d, f, 2), *y_axis.reduce("ug", 2 * f),
        # SiLU of the gate, d elements of it, then its product with the other.
        *silu(min(d, f)),
        binary("mul", all_of("ug"), all_of("ug"), all_of("ug", f), f),
        *product("h", "wd", "ug", f, d), *x_axis.reduce("h", d),
        binary("add", all_of("x"), all_of("x"), all_of("h"), d),
    ]
    if values is None:
        fill = [unary("mov", all_of(name), "0.03125", size(text, shape))
                for name, text in BUFFERS.items()]
    else:
        fill = []
        for name in BUFFERS:
            program.copy_in(f"{name}_in", name, values[name])
    pe.routine("init", [*fill, *roles])
    program.launch("init")
    pe.routine("main", body)
    program.launch("main")
    program.copy_out("y", "x", (pes, pes, d) if values is not None else (1, 1, d), HALF,
                     None if values is not None else Rect(0, 1, 0, 1))
    return program


def random_values(shape, seed=0):
    random = np.random.default_rng(seed)
    scale = 1 / math.sqrt(shape.d * shape.pes)
    values = {name: (scale * random.standard_normal((shape.pes, shape.pes, size(text, shape))))
              .astype(HALF) for name, text in BUFFERS.items()}
    # Features lie along y: every PE of a row holds the same.
    for name in ("x", "gamma"):
        values[name] = np.broadcast_to(random.standard_normal((shape.pes, 1, shape.d)),
                                       values[name].shape).astype(HALF)
    return values


def reference(shape, values):
    """The same layer in float64: what the PEs hold of x at the end, [P, P, d]."""
    d, f, s, pes = shape.d, shape.f, shape.positions, shape.pes
    v = {name: value.astype(np.float64) for name, value in values.items()}

    def product(weight, vector, inner, length, blocks, axis):
        w = v[weight].reshape(pes, pes, blocks, inner, length)
        part = np.einsum("yxbkn,yxk->yxbn", w, vector).reshape(pes, pes, blocks * length)
        return np.broadcast_to(part.sum(axis=axis, keepdims=True), part.shape)

    def norm(x):
        mean = (x * x).sum(axis=(0, 2), keepdims=True) / (d * pes)
        return x / np.sqrt(mean + 1e-3) * v["gamma"]

    def rope(q):
        n = d // 2
        even, odd = q[..., 0:2 * n:2].copy(), q[..., 1:2 * n:2].copy()
        out = q.copy()
        out[..., 0:2 * n:2] = even * math.cos(1) - odd * math.sin(1)
        out[..., 1:2 * n:2] = odd * math.cos(1) + even * math.sin(1)
        return out

    def power(x):
        return (1 + x / 256)**4

    x = v["x"]
    qkv = product("wqkv", norm(x), d, d, 3, 0)
    scores = product("kt", rope(qkv[..., :d]), d, s, 1, 1) / math.sqrt(d * pes)
    scores = power(scores - scores.max(axis=(0, 2), keepdims=True))
    scores = scores / scores.sum(axis=(0, 2), keepdims=True)
    x = x + product("wo", product("v", scores, s, d, 1, 0), d, d, 1, 1)
    ug = product("wug", norm(x), d, f, 2, 0).copy()
    gate, n = ug[..., f:], min(d, f)
    gate[..., :n] = gate[..., :n] / (1 + power(-gate[..., :n]))
    return x + product("wd", ug[..., :f] * gate, f, d, 1, 1)
