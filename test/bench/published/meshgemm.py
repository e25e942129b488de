# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Y = X W on P x P PEs, f16, by two rings, as WaferLLM (OSDI 2025) does it.

A ring is folded onto a line of PEs, 0, 2, 4, .., 5, 3, 1, so that neighbours in
it are at most two hops apart. In each of P steps a PE multiplies the tiles it
has while it passes both on: X along x, W along y. At ring position i along x
and j along y both belong to block i + j - t of the inner dimension in step t.
For that X is aligned first, by P/2 more steps in which every row takes part,
and the host lays W out in its first place.

Everything a PE holds lies in one buffer @m, and variables hold where: swapping
what is sent with what was received swaps two numbers. Tiles of X and Y hold one
column after the other, S elements each; tiles of W one row after the other.
"""

import numpy as np

from assembler import Assembly, Rect

HALF = np.float16
VARIABLES = ("left", "left_in", "right", "right_in", "out", "inner", "columns", "left_size",
             "right_size", "step", "shifts", "phase", "scores")
V = {name: f"@v[{i}]" for i, name in enumerate(VARIABLES)}

# Colors. Rings take three in rotation: to receive, to send, to pass through.
RING_X, RING_Y, SHIFT, CHAIN, CAST = 0, 3, 6, 9, 13


def position(p, pes):
    """Of a PE in the ring."""
    return p // 2 if p % 2 == 0 else pes - (p + 1) // 2


def place(i, pes):
    """The PE at a position of the ring."""
    i %= pes
    return 2 * i if i < pes // 2 else 2 * (pes - i) - 1


def ring_routes(program, base, axis, pes, across=None, reverse=False):
    """Routes of a ring along x or y, in the lines `across` (low, high, step).
    pes is even. Reversed, all words run the other way on the same colors."""
    low, high, step = across or (0, pes, 1)

    def rect(p, stride=1, end=None):
        end = end or p + 1
        return (Rect(p, end, low, high, stride, step) if axis == "x"
                else Rect(low, high, p, end, step, stride))

    up, down = ("west", "east") if axis == "x" else ("north", "south")

    def link(color, where, source, target):
        if reverse:
            source, target = target, source
        program.route(base + color % 3, where, source, target)

    link(0, rect(0), down, "ramp")
    link(1, rect(0), "ramp", down)
    link(pes - 1, rect(pes - 1), up, "ramp")
    link(pes - 2, rect(pes - 1), "ramp", up)
    for p in range(1, min(7, pes - 1)):
        where = rect(p, 6, pes - 1)
        ahead, behind = (down, up) if p % 2 == 0 else (up, down)
        turn = 1 if p % 2 == 0 else -1
        link(p + turn, where, "ramp", ahead)
        link(p - turn, where, behind, "ramp")
        link(p, where, ahead, behind)


def ring_scalars(name, coordinate, pes):
    """%<name>send and %<name>recv: colors of a ring, from 0."""
    n = f"%{name}"
    return [f"{n}odd = scalar mod({coordinate}, %two)",
            f"{n}first = scalar equal({coordinate}, %zero)",
            f"{n}last = scalar equal({coordinate}, %end)",
            f"{n}s = scalar add({coordinate}, {n}odd)", f"{n}s1 = scalar add({n}s, %one)",
            f"{n}send = scalar mod({n}s1, %three)",
            f"{n}r = scalar sub({coordinate}, {n}odd)", f"{n}r2 = scalar add({n}r, %two)",
            f"{n}rf = scalar add({n}r2, {n}first)", f"{n}rl = scalar add({n}rf, {n}last)",
            f"{n}rll = scalar add({n}rl, {n}last)", f"{n}recv = scalar mod({n}rll, %three)"]


class Mesh:
    """A program of products, and of code between them, one phase after the other.

    sizes: what lies in @m, name -> elements; the first `inputs` of them come
    from the host, tiles of `inputs` are concatenated."""

    def __init__(self, name, pes, rows, sizes, machine="wse2"):
        if pes % 2 or pes < 4:
            raise ValueError("a folded ring needs an even number of PEs, four or more")
        self.pes, self.rows, self.phases = pes, rows, []
        self.at, total = {}, 0
        for tile, size in sizes.items():
            self.at[tile] = total
            total += size
        self.sizes, self.total = sizes, total
        self.program = Assembly(name, pes, pes, machine)
        self.pe = self.program.pe_class("pe", Rect(0, pes, 0, pes))
        self.pe.add("%px = scalar px", "%py = scalar py", "%zero = constant 0", "%one = constant 1",
                    "%two = constant 2", "%three = constant 3", f"%end = constant {pes - 1}",
                    *ring_scalars("x", "%px", pes), *ring_scalars("y", "%py", pes),
                    # Even rows align their X against the ring, odd ones along it.
                    "%half = scalar add(%py, %yodd)", "%align = scalar div(%half, %two)",
                    "%along = scalar mul(%xsend, %yodd)", "%yeven = scalar not(%yodd)",
                    "%against = scalar mul(%xrecv, %yeven)",
                    "%asend = scalar add(%along, %against)",
                    "%along2 = scalar mul(%xrecv, %yodd)",
                    "%against2 = scalar mul(%xsend, %yeven)",
                    "%arecv = scalar add(%along2, %against2)")
        self.pe.buffer("m", "f16", total)
        self.pe.buffer("v", "i16", len(VARIABLES))
        ring_routes(self.program, RING_X, "x", pes)
        ring_routes(self.program, RING_Y, "y", pes)
        ring_routes(self.program, SHIFT, "x", pes, (0, pes, 2), reverse=True)
        ring_routes(self.program, SHIFT, "x", pes, (1, pes, 2))

    def memory(self, tile, offset=0, strides=(1,)):
        return f"@m[{self.at[tile] + offset}, strides = [{', '.join(map(str, strides))}]]"

    def product(self, left, spare_left, right, spare_right, out, inner, columns, align=True,
                scores=False):
        """A phase: out = left right. The spares take what is received. X that
        was left aligned by an earlier product needs no alignment."""
        size = self.rows * inner
        lines = [f"vector mov {self.memory(out)} = 0.0 over ({self.rows * columns})"]
        values = {"left": self.at[spare_left] if left != spare_left else self.at[left],
                  "left_in": self.at[left], "right": self.at[spare_right],
                  "right_in": self.at[right], "out": self.at[out], "inner": inner,
                  "columns": columns, "left_size": size, "right_size": inner * columns,
                  "step": 0, "scores": int(scores)}
        if not align and not scores:
            # It lies where the last product left it, in one of the two tiles.
            del values["left"], values["left_in"]
            lines += self._swap("left", "left_in")
        lines += [f"store {V[name]} = {value}" for name, value in values.items()]
        if align:
            lines += [f"store {V['shifts']} = %align", "activate @shifted", "unblock @shifted"]
        else:
            lines += ["activate @step", "unblock @step"]
        self.phases.append(lines)

    def phase(self, lines):
        """Code that ends at once. (What follows a vector instruction must not
        begin with a word of its syntax: so the next phase is activated first.)"""
        self.phases.append(["activate @phase", *lines])

    @staticmethod
    def _swap(a, b):
        return [f"%{a} = load {V[b]}", f"%{b} = load {V[a]}",
                f"store {V[a]} = %{a}", f"store {V[b]} = %{b}"]

    def _multiply(self):
        """out[:, n] += left[:, k] right[k, n]: for each k a nest over n."""
        rows = self.rows
        return ["%out = load " + V["out"], "%inner = load " + V["inner"],
                "%columns = load " + V["columns"],
                "for %k < %inner {",
                f"  %l = compute add(%left, %k * {rows})",
                "  %kn = compute mul(%k, %columns)",
                f"  vector fmac @m[%out, strides = [{rows}, 1]] = "
                "@m[%right + %kn, strides = [1, 0]], @m[%l, strides = [0, 1]] "
                f"over (%columns, {rows})",
                "}"]

    def _transfer(self, side, out_thread, in_thread, ring, base):
        done = f"@{side}_done"
        return [f"vector mov fabric(%{ring}send + {base}, f16, pair) = "
                f"@m[%{side}, strides = [1]] over (%{side}_size) thread {out_thread} "
                f"then unblock {done}",
                f"vector mov @m[%{side}_in, strides = [1]] = "
                f"fabric(%{ring}recv + {base}, f16, pair) over (%{side}_size) "
                f"thread {in_thread} then activate {done}"]

    def _tasks(self):
        pes, add = self.pes, self.pe.task
        add("@left_done local 8 blocked", ["block @left_done", "unblock @both"])
        add("@right_done local 9 blocked", ["block @right_done", "activate @both"])
        add("@both local 10 blocked", ["block @both", "unblock @step"])
        left = self._transfer("left", 3, 1, "x", RING_X)
        right = self._transfer("right", 2, 4, "y", RING_Y)
        step = ["%step = load " + V["step"], f"%more = compute less(%step, {pes})"]
        sizes = ["%left_size = load " + V["left_size"], "%right_size = load " + V["right_size"]]
        after = [f"store {V['step']} = %step + 1", "activate @step"]
        normal = [*self._swap("left", "left_in"), *self._swap("right", "right_in"), *step,
                  "if %more {", *(f"  {line}" for line in
                                  [*sizes, *left, *right, *self._multiply(), *after]),
                  "} else {", "  activate @phase", "}"]
        if self.scores is None:
            add("@step local 11 blocked", ["block @step", *normal])
        else:
            stays = ["%left = load " + V["left"], *self._swap("right", "right_in"), *step,
                     "if %more {", *(f"  {line}" for line in
                                     ["unblock @both", sizes[1], *right, *self._multiply(),
                                      *self.scores, *after]),
                     "} else {", "  activate @phase", "}"]
            add("@step local 11 blocked",
                ["block @step", "%scores = load " + V["scores"], "if %scores {",
                 *(f"  {line}" for line in stays), "} else {",
                 *(f"  {line}" for line in normal), "}"])
        # Rows that are done with their alignment pass their tile on all the same.
        swap = self._swap("left", "left_in")
        add("@shifted local 12 blocked", [
            "block @shifted", "%step = load " + V["step"], "%shifts = load " + V["shifts"],
            f"%more = compute less(%step, {pes // 2})",
            "%negative = compute less(%shifts, 0)",
            "if %more {",
            "  %moves = compute equal(%negative, 0)", "  if %moves {",
            *(f"    {line}" for line in swap), f"    store {V['shifts']} = %shifts + -1", "  }",
            "  %l = load " + V["left"], "  %i = load " + V["left_in"],
            "  %n = load " + V["left_size"],
            f"  vector mov fabric(%asend + {SHIFT}, f16, pair) = @m[%l, strides = [1]] over (%n) "
            "thread 3 then unblock @shifted",
            f"  vector mov @m[%i, strides = [1]] = fabric(%arecv + {SHIFT}, f16, pair) over (%n) "
            "thread 6 then activate @shifted",
            f"  store {V['step']} = %step + 1",
            "} else {",
            "  if %negative {", *(f"    {line}" for line in swap), "  }",
            f"  store {V['step']} = 0", "  activate @step", "  unblock @step", "}"])

    scores = None

    def finish(self, tiles, result):
        """tiles: [P, P, elements] of what @m begins with, or a number that fills
        all of it. Host copies, phases, launches. `result`: tile to copy out."""
        self._tasks()
        program, pes = self.program, self.pes
        dispatch, depth = ["%phase = load " + V["phase"], f"store {V['phase']} = %phase + 1"], 0
        for number, lines in enumerate(self.phases):
            pad = "  " * depth
            dispatch += [f"{pad}%is{number} = compute equal(%phase, {number})",
                         f"{pad}if %is{number} {{", *(f"{pad}  {line}" for line in lines),
                         f"{pad}}} else {{"]
            depth += 1
        dispatch += ["  " * d + "}" for d in reversed(range(depth))]
        self.pe.task("@phase local 13", dispatch)
        if isinstance(tiles, float):
            self.pe.routine("fill", [f"vector mov @m[0, strides = [1]] = {tiles} over ({self.total})"])
            program.launch("fill")
        else:
            self.pe.buffer("start", "f16", 1)
            program.copy_in("tiles", "m", tiles)
        self.pe.routine("main", [f"store {V['phase']} = 0", "activate @phase"])
        program.launch("main")
        if result is None:
            program.copy_out("y", "m", (1, 1, 1), HALF, Rect(0, 1, 0, 1))
        elif self.at[result] != 0:
            raise ValueError("the result must come first in @m")
        else:
            program.copy_out("y", "m", (pes, pes, self.sizes[result]), HALF)
        return program


def meshgemm(pes, rows, inner, columns, random=True, machine="wse2"):
    """The product alone: X [P rows, P inner], W [P inner, P columns]; and what
    the PEs should hold of Y."""
    mesh = Mesh("meshgemm", pes, rows,
                {"y": rows * columns, "x": rows * inner, "w": inner * columns,
                 "x2": rows * inner, "w2": inner * columns}, machine)
    mesh.product("x", "x2", "w", "w2", "y", inner, columns)
    if not random:
        return mesh.finish(0.03125, None), None
    values = np.random.default_rng(pes)
    x = values.integers(-2, 3, (pes * rows, pes * inner)).astype(HALF)
    w = values.integers(-2, 3, (pes * inner, pes * columns)).astype(HALF)
    tiles = np.zeros((pes, pes, mesh.at["x2"]), HALF)
    for py in range(pes):
        for px in range(pes):
            block = x[py * rows:(py + 1) * rows, px * inner:(px + 1) * inner]
            tiles[py, px, mesh.at["x"]:mesh.at["w"]] = block.T.ravel()
            k = place(position(px, pes) + position(py, pes), pes)
            block = w[k * inner:(k + 1) * inner, px * columns:(px + 1) * columns]
            tiles[py, px, mesh.at["w"]:] = block.ravel()
    product = x.astype(np.float64) @ w.astype(np.float64)
    expected = (product.reshape(pes, rows, pes, columns).transpose(0, 2, 3, 1)
                .reshape(pes, pes, rows * columns))
    return mesh.finish(tiles, "y"), expected
