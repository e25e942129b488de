# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoder layer on P x P PEs, one token, f16, as WaferLLM (OSDI 2025) runs it.

A matrix-vector product leaves partial sums in every PE of a line; a two-level
all-reduce adds them: in each of `groups` groups chains run from both ends to
the middle PE, then the middle PEs do the same among themselves, and the last
one multicasts the sum to the whole line. Axes alternate, so that nothing is
ever transposed. One head of full width, no key/value groups; SiLU covers d
elements: both as in the published code, which is a timing reference.
"""

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
    towards lower; 4, 5 and 6, 7 the same among the groups' middles; 8 the
    multicast. A PE receives on the color of the other parity."""

    def __init__(self, name, base, shape):
        self.name, self.base, self.shape = name, base, shape
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
        cast, last = self.base + 8, root(groups // 2)
        outs = ([self.up] if last > 0 else []) + ([self.down] if last < pes - 1 else [])
        if outs:
            program.route(cast, self.rect(last, last + 1), "ramp", *outs)
        program.route(cast, self.rect(1, last), self.down, self.up, "ramp")
        program.route(cast, self.rect(0, min(1, last)), self.down, "ramp")
        program.route(cast, self.rect(last + 1, pes - 1), self.up, self.down, "ramp")
        program.route(cast, self.rect(max(last + 1, pes - 1), pes), self.up, "ramp")

    def scalars(self):
        """Roles of a PE: which end, inner member or middle it is, twice."""
        a, group, groups = self.name, self.shape.group, self.shape.groups
        lines = [f"%{a} = scalar p{a}", f"%{a}group = constant {group}",
                 f"%{a}p = scalar mod(%{a}, %{a}group)", f"%{a}k = scalar div(%{a}, %{a}group)"]
        for level, index, count in (("1", "p", group), ("2", "k", groups)):
            v, n = f"%{a}{index}", f"%{a}{level}"
            lines += [f"{n}mid = constant {count // 2}", f"{n}last = constant {count - 1}",
                      f"{n}zero = constant 0", f"{n}two = constant 2",
                      f"{n}parity = scalar mod({v}, {n}two)",
                      f"{n}first = scalar equal({v}, {n}zero)",
                      f"{n}final = scalar equal({v}, {n}last)",
                      f"{n}low = scalar less({v}, {n}mid)",
                      f"{n}high = scalar less({n}mid, {v})",
                      f"{n}root = scalar equal({v}, {n}mid)",
                      f"{n}inner = scalar not({n}first)", f"{n}early = scalar not({n}final)"]
        one, two = f"%{a}1", f"%{a}2"
        for role in ("first", "inner", "final", "early", "low", "high", "root"):
            if role in ("low", "high", "root"):
                # The second level is for the middles of groups only.
                lines.append(f"{two}m{role} = scalar and({two}{role}, {one}root)")
        for n, low, high in ((one, "low", "high"), (two, "mlow", "mhigh")):
            lines += [f"{n}lowend = scalar and({n}{low}, {n}first)",
                      f"{n}lowin = scalar and({n}{low}, {n}inner)",
                      f"{n}highend = scalar and({n}{high}, {n}final)",
                      f"{n}highin = scalar and({n}{high}, {n}early)"]
        lines += [f"%{a}cast = scalar and({one}root, {two}root)",
                  f"%{a}hear = scalar not(%{a}cast)"]
        return lines

    def reduce(self, buffer, count, operation="add", pair=True):
        """Lines of code: all-reduce of the first elements of a buffer."""
        lines = []
        v = f"@{buffer}[0, strides = [1]]"
        form = "f16, pair" if pair and count > 1 else "f16"
        over = f"over ({count})"

        def port(level, side, own):
            color = self.base + 4 * (level - 1) + 2 * (side == "high")
            parity = f"%{self.name}{level}parity"
            return (f"fabric({parity} + {color}, {form})" if own
                    else f"fabric({parity} * -1 + {color + 1}, {form})")

        for level, count_of, root in ((1, self.shape.group, "root"),
                                      (2, self.shape.groups, "mroot")):
            n, middle = f"%{self.name}{level}", count_of // 2
            for side, there in (("low", middle > 0), ("high", middle < count_of - 1)):
                if not there:
                    continue
                out, into = port(level, side, True), port(level, side, False)
                lines += [f"vector mov {out} = {v} {over} if {n}{side}end",
                          f"vector {operation} {out} = {v}, {into} {over} if {n}{side}in"]
            for side, there in (("low", middle > 0), ("high", middle < count_of - 1)):
                if there:
                    lines.append(f"vector {operation} {v} = {v}, {port(level, side, False)} "
                                 f"{over} if {n}{root}")
        if self.shape.pes > 1:
            cast = f"fabric({self.base + 8}, {form})"
            lines += [f"vector mov {cast} = {v} {over} if %{self.name}cast",
                      f"vector mov {v} = {cast} {over} if %{self.name}hear"]
        return lines


BUFFERS = {"x": "d", "gamma": "d", "wqkv": "3dd", "kt": "ds", "v": "sd", "wo": "dd",
           "wug": "2df", "wd": "fd"}
SCRATCH = {"h": "d", "qkv": "3d", "turned": "d", "sc": "s", "o": "d", "ug": "2f", "acc": "1",
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
    x_axis, y_axis = Axis("x", 0, shape), Axis("y", 9, shape)
    pe = program.pe_class("pe", Rect(0, pes, 0, pes))
    for axis in (x_axis, y_axis):
        if pes > 1:
            axis.routes(program)
        pe.add(*axis.scalars())
    for name, text in {**BUFFERS, **SCRATCH}.items():
        pe.buffer(name, "f16", size(text, shape))

    def all_of(buffer, offset=0, step=1):
        return f"@{buffer}[{offset}, strides = [{step}]]"

    def unary(op, to, source, n):
        return f"vector {op} {to} = {source} over ({n})"

    def binary(op, to, a, b, n):
        return f"vector {op} {to} = {a}, {b} over ({n})"

    def clear(buffer, n):
        return unary("mov", all_of(buffer), "0.0", n)

    def product(out, weight, vector, inner, length, blocks=1):
        """out[b, :] += sum over k of weight[b, k, :] vector[k]."""
        return [clear(out, blocks * length),
                f"vector fmac @{out}[0, strides = [{length}, 0, 1]] = "
                f"@{weight}[0, strides = [{inner * length}, {length}, 1]], "
                f"@{vector}[0, strides = [0, 1, 0]] over ({blocks}, {inner}, {length})"]

    def norm():
        one = all_of("acc")
        return [clear("acc", 1),
                binary("fmac", all_of("acc", 0, 0), all_of("x"), all_of("x"), d),
                *y_axis.reduce("acc", 1),
                binary("mul", one, one, f"{1 / (d * pes):.9e}", 1),
                binary("add", one, one, "1.0e-3", 1), unary("rsqrt", one, one, 1),
                binary("mul", all_of("h"), all_of("x"), all_of("acc", 0, 0), d),
                binary("mul", all_of("h"), all_of("h"), all_of("gamma"), d)]

    def rope(offset):
        """Pairs (a, b) become (a c - b s, b c + a s) for one angle."""
        n, c, sine = d // 2, math.cos(1), math.sin(1)
        even, odd = all_of("qkv", offset, 2), all_of("qkv", offset + 1, 2)
        t_even, t_odd = all_of("turned", 0, 2), all_of("turned", 1, 2)
        return [binary("mul", t_even, odd, f"{-sine:.9e}", n),
                binary("mul", t_odd, even, f"{sine:.9e}", n),
                binary("fmac", t_even, even, f"{c:.9e}", n),
                binary("fmac", t_odd, odd, f"{c:.9e}", n),
                unary("mov", even, t_even, n), unary("mov", odd, t_odd, n)]

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
        unary("exp", all_of("sc"), all_of("sc"), s),
        clear("sum", 1), binary("add", scalar, scalar, all_of("sc"), s),
        *y_axis.reduce("sum", 1), unary("reciprocal", all_of("sum"), all_of("sum"), 1),
        binary("mul", all_of("sc"), all_of("sc"), scalar, s),
        *product("o", "v", "sc", s, d), *y_axis.reduce("o", d),
        *product("h", "wo", "o", d, d), *x_axis.reduce("h", d),
        binary("add", all_of("x"), all_of("x"), all_of("h"), d),
        *norm(), *product("ug", "wug", "h", d, f, 2), *y_axis.reduce("ug", 2 * f),
        # SiLU of the gate, d elements of it, then its product with the other.
        unary("sigmoid", all_of("h"), all_of("ug", f), min(d, f)),
        binary("mul", all_of("ug", f), all_of("ug", f), all_of("h"), min(d, f)),
        binary("mul", all_of("ug"), all_of("ug"), all_of("ug", f), f),
        *product("h", "wd", "ug", f, d), *x_axis.reduce("h", d),
        binary("add", all_of("x"), all_of("x"), all_of("h"), d),
    ]
    if values is None:
        pe.routine("init", [unary("mov", all_of(name), "0.03125", size(text, shape))
                            for name, text in BUFFERS.items()])
        program.launch("init")
    else:
        for name in BUFFERS:
            program.copy_in(f"{name}_in", name, values[name])
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

    x = v["x"]
    qkv = product("wqkv", norm(x), d, d, 3, 0)
    scores = product("kt", rope(qkv[..., :d]), d, s, 1, 1) / math.sqrt(d * pes)
    scores = np.exp(scores - scores.max(axis=(0, 2), keepdims=True))
    scores = scores / scores.sum(axis=(0, 2), keepdims=True)
    x = x + product("wo", product("v", scores, s, d, 1, 0), d, d, 1, 1)
    ug = product("wug", norm(x), d, f, 2, 0).copy()
    gate, n = ug[..., f:], min(d, f)
    gate[..., :n] = gate[..., :n] / (1 + np.exp(-gate[..., :n]))
    return x + product("wd", ug[..., :f] * gate, f, d, 1, 1)
