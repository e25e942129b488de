# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A prefill layer on P x P PEs, f16, as WaferLLM (OSDI 2025) runs it: nine
products on rings (meshgemm.py), and norms and softmax that reduce along the
rows, by chains from both ends to the middle PE, which multicasts the sum.

Tokens lie along y, features along x; one head of full width. Scores keep Q and
pass K along y; in each step the row sums its partial tiles by two chains, to
the PE that keeps these scores. The layer is the published one, a reference of
time: the product of scores and V takes V as it lies, neither aligned along x
nor transposed, and rotations do not depend on the position. `reference` does
the same."""

import math
from dataclasses import dataclass

import numpy as np

from meshgemm import CAST, CHAIN, HALF, Mesh, place, position

EPSILON = 1e-3


@dataclass(frozen=True)
class Shape:
    """pes: P. Per PE: d features, s tokens, f of the MLP."""

    pes: int
    d: int
    s: int
    f: int


# 4,096 tokens: the published grids, tiles and cycles of a layer.
PUBLISHED = [(Shape(480, 9, 9, 30), 6.929e6), (Shape(600, 7, 7, 24), 5.624e6),
             (Shape(720, 6, 6, 20), 5.086e6)]
WEIGHTS = {"wq": "dd", "wk": "dd", "wv": "dd", "wo": "dd", "wup": "df", "wgate": "df",
           "wdown": "fd"}
INPUTS = {"x": "sd", "gamma": "d", **WEIGHTS}
SCRATCH = {"q": "sd", "k": "sd", "v": "sd", "p": "ss", "norm": "sd", "sd": "sd", "ss": "ss",
           "sf": "sf", "dd": "dd", "df": "df", "up": "sf", "gate": "sf", "act": "sf",
           "sums": "s", "turn": "ssss"}


def size(text, shape):
    return math.prod(getattr(shape, c) for c in text)


def _routes(mesh):
    """Chains in both directions, and the multicast of the middle PE."""
    program, pes, middle = mesh.program, mesh.pes, mesh.pes // 2
    for parity in (0, 1):
        program.route(CHAIN + parity, program.columns(parity, pes - 1, 2), "ramp", "east")
        program.route(CHAIN + parity, program.columns(1 + parity, pes, 2), "west", "ramp")
        program.route(CHAIN + 2 + parity, program.columns(2 - parity, pes, 2), "ramp", "west")
        program.route(CHAIN + 2 + parity, program.columns(1 - parity, pes - 1, 2), "east", "ramp")
    program.route(CAST, program.columns(middle, middle + 1), "ramp", "west")
    program.route(CAST, program.columns(1, middle), "east", "ramp", "west")
    program.route(CAST, program.columns(0, 1), "east", "ramp")
    program.route(CAST + 1, program.columns(middle, middle + 1), "ramp", "east")
    program.route(CAST + 1, program.columns(middle + 1, pes - 1), "west", "ramp", "east")
    program.route(CAST + 1, program.columns(pes - 1, pes), "west", "ramp")


def _chain(operation, memory, count, form, own, root):
    """Sends the sum of what came and what lies in memory on, towards `root`,
    where it ends in `own`."""
    over = f"over ({count})"
    east, west = f"fabric(%xodd + {CHAIN}, {form})", f"fabric(%xodd + {CHAIN + 2}, {form})"
    from_west = f"fabric(%xodd * -1 + {CHAIN + 1}, {form})"
    from_east = f"fabric(%xodd * -1 + {CHAIN + 3}, {form})"
    return [f"%root_{operation} = compute equal(%px, {root})", f"if %root_{operation} {{",
            "  if %xlast {", f"    vector {operation} {own} = {memory}, {from_west} {over}",
            "  } else {", f"    vector {operation} {own} = {memory}, {from_east} {over}",
            # After a vector instruction, `if` would be its guard.
            "    %both = compute equal(%xfirst, 0)", "    if %both {", f"      vector {operation} {own} = {own}, {from_west} {over}",
            "    }", "  }",
            "} else {",
            "  if %xfirst {", f"    vector mov {east} = {memory} {over}", "  } else {",
            "    if %xlast {", f"      vector mov {west} = {memory} {over}", "    } else {",
            f"      %before = compute less(%px, {root})", "      if %before {",
            f"        vector {operation} {east} = {from_west}, {memory} {over}", "      } else {",
            f"        vector {operation} {west} = {from_east}, {memory} {over}", "      }",
            "    }", "  }", "}"]


def _all_reduce(mesh, operation, form):
    """Of @sums, along the row."""
    middle, count = mesh.pes // 2, mesh.rows
    sums, over = mesh.memory("sums"), f"over ({mesh.rows})"
    low, high = (f"fabric({CAST + i}, f16, pair)" for i in (0, 1))
    return [*_chain(operation, sums, count, form, sums, middle),
            f"%middle_{operation} = compute equal(%px, {middle})", f"if %middle_{operation} {{",
            f"  vector mov {low} = {sums} {over}", f"  vector mov {high} = {sums} {over}",
            "} else {", f"  %low = compute less(%px, {middle})", "  if %low {",
            f"    vector mov {sums} = {low} {over}", "  } else {",
            f"    vector mov {sums} = {high} {over}", "  }", "}"]


def _root(pes):
    """Which PE of the row keeps the scores of this step: ring position y - t."""
    return [f"%yhalf = compute div(%py + 1, 2)",
            f"%ypos = compute sub({pes}, %yhalf)", "%yplus = compute div(%py, 2)",
            "%yo = compute mul(%ypos, %yodd)", "%ye = compute mul(%yplus, %yeven)",
            f"%turned = compute sub(%yo + %ye + {pes}, %step)",
            f"%ring = compute mod(%turned, {pes})",
            f"%near = compute less(%ring, {pes // 2})",
            "%twice = compute add(%ring, %ring)",
            f"%far = compute sub({2 * pes - 1}, %twice)",
            "%a = compute mul(%twice, %near)", "%b = compute sub(1, %near)",
            "%c = compute mul(%far, %b)", "%root = compute add(%a, %c)"]


def _vector(op, to, *sources, over):
    return f"vector {op} {to} = {', '.join(sources)} over ({', '.join(map(str, over))})"


def _norm(mesh, shape, source):
    """norm = source / rms(source) gamma, by rows of the matrix."""
    s, d, m = shape.s, shape.d, mesh.memory
    rows = m("sums", strides=(0, 1))
    return [_vector("mul", m("sd"), m(source), m(source), over=(s * d,)),
            _vector("mov", m("sums"), "0.0", over=(s,)),
            f"for %i < {d} {{",
            f"  vector add {m('sums')} = {m('sums')}, "
            f"@m[%i * {s} + {mesh.at['sd']}, strides = [1]] over ({s})", "}",
            *_all_reduce(mesh, "add", "f16, pair"),
            _vector("mul", m("sums"), m("sums"), f"{1 / (d * shape.pes):.9e}", over=(s,)),
            _vector("add", m("sums"), m("sums"), f"{EPSILON}", over=(s,)),
            _vector("rsqrt", m("sums"), m("sums"), over=(s,)),
            f"for %i < {d} {{",
            f"  vector mul @m[%i * {s} + {mesh.at['norm']}, strides = [1]] = "
            f"@m[%i + {mesh.at['gamma']}, strides = [0]], "
            f"@m[%i * {s} + {mesh.at[source]}, strides = [1]] over ({s})", "}",
            _vector("mul", m("norm", strides=(s, 1)), m("norm", strides=(s, 1)), rows,
                    over=(d, s))]


ANGLE = 1.0


def _rope(mesh, shape, tile):
    """Columns 2 i and 2 i + 1 become (a cos - b sin, b cos + a sin)."""
    s, at, turn = shape.s, mesh.at[tile], mesh.at["turn"]
    a, b = f"@m[%i * {2 * s} + {at}, strides = [1]]", f"@m[%i * {2 * s} + {at + s}, strides = [1]]"
    t = [f"@m[{turn + i * s}, strides = [1]]" for i in range(4)]
    cosine, sine = (f"{f(ANGLE):.9e}" for f in (math.cos, math.sin))
    products = zip(t, (a, b, b, a), (cosine, sine, cosine, sine))
    return [f"for %i < {shape.d // 2} {{",
            *(f"  vector mul {to} = {x}, {c} over ({s})" for to, x, c in products),
            f"  vector sub {a} = {t[0]}, {t[1]} over ({s})",
            f"  vector add {b} = {t[2]}, {t[3]} over ({s})", "}"]


def _softmax(mesh, shape):
    s, m = shape.s, mesh.memory
    rows, tile = m("sums", strides=(0, 1)), lambda name: m(name, strides=(s, 1))
    reduce = [f"for %i < {s} {{",
              f"  vector {{op}} {m('sums')} = {m('sums')}, "
              f"@m[%i * {s} + {mesh.at['p']}, strides = [1]] over ({s})", "}"]

    def fold(op):
        return [line.replace("{op}", op) for line in reduce]
    return [_vector("mul", m("p"), m("p"), f"{1 / math.sqrt(shape.d * shape.pes):.9e}",
                    over=(s * s,)),
            _vector("mov", m("sums"), "0.0", over=(s,)), *fold("max"),
            *_all_reduce(mesh, "max", "f16"),
            _vector("sub", tile("p"), tile("p"), rows, over=(s, s)),
            _vector("exp", m("p"), m("p"), over=(s * s,)),
            _vector("mov", m("sums"), "0.0", over=(s,)), *fold("add"),
            *_all_reduce(mesh, "add", "f16, pair"),
            _vector("reciprocal", m("sums"), m("sums"), over=(s,)),
            _vector("mul", tile("p"), tile("p"), rows, over=(s, s))]


def prefill(shape, values=None, machine="wse2"):
    """values: name -> [P, P, elements] for all of INPUTS, or None for a run that
    only counts cycles."""
    d, s, f, pes = shape.d, shape.s, shape.f, shape.pes
    sizes = {name: size(text, shape) for name, text in {**INPUTS, **SCRATCH}.items()}
    sizes["turn"] = 4 * s
    mesh = Mesh("prefill", pes, s, sizes, machine)
    m = mesh.memory
    _routes(mesh)
    mesh.scores = [*_root(pes), *_chain("add", m("ss"), s * s, "f16, pair", m("p"), "%root"),
                   _vector("mov", m("ss"), "0.0", over=(s * s,))]
    mesh.phase(_norm(mesh, shape, "x"))
    mesh.product("norm", "sd", "wq", "dd", "q", d, d)
    mesh.product("norm", "sd", "wk", "dd", "k", d, d, align=False)
    mesh.product("norm", "sd", "wv", "dd", "v", d, d, align=False)
    mesh.phase(_rope(mesh, shape, "q"))
    mesh.phase(_rope(mesh, shape, "k"))
    mesh.product("q", "q", "k", "sd", "ss", d, s, align=False, scores=True)
    mesh.phase(_softmax(mesh, shape))
    mesh.product("p", "ss", "v", "sd", "norm", s, d)
    mesh.product("norm", "sd", "wo", "dd", "q", d, d)
    mesh.phase([_vector("add", m("x"), m("x"), m("q"), over=(s * d,)), *_norm(mesh, shape, "x")])
    mesh.product("norm", "sd", "wup", "df", "up", d, f)
    mesh.product("norm", "sd", "wgate", "df", "gate", d, f, align=False)
    mesh.phase([_vector("sigmoid", m("act"), m("gate"), over=(s * f,)),
                _vector("mul", m("gate"), m("gate"), m("act"), over=(s * f,)),
                _vector("mul", m("act"), m("up"), m("gate"), over=(s * f,))])
    mesh.product("act", "sf", "wdown", "df", "q", f, d)
    mesh.phases.append([_vector("add", m("x"), m("x"), m("q"), over=(s * d,))])
    if values is None:
        return mesh.finish(0.03125, None)
    return mesh.finish(np.concatenate([values[name] for name in INPUTS], axis=2), "x")


def random_values(shape, seed=0):
    random = np.random.default_rng(seed)
    scale = 1 / math.sqrt(shape.d * shape.pes)
    values = {name: (scale * random.standard_normal((shape.pes, shape.pes, size(text, shape))))
              .astype(HALF) for name, text in INPUTS.items()}
    values["x"] = random.standard_normal(values["x"].shape).astype(HALF)
    values["gamma"] = np.broadcast_to(random.standard_normal((1, shape.pes, shape.d)),
                                      values["gamma"].shape).astype(HALF)
    return values


def reference(shape, values):
    """The same layer in float64: what the PEs hold of x at the end."""
    d, s, pes = shape.d, shape.s, shape.pes
    v = {name: value.astype(np.float64) for name, value in values.items()}
    ring = [position(p, pes) for p in range(pes)]

    def product(left, right, inner, columns):
        """Ring position i along x, j along y, in step t: blocks of ring position
        i + j - t of the left matrix, j - t of the right one."""
        left, right = left.reshape(pes, pes, inner, s), right.reshape(pes, pes, inner, columns)
        out = np.zeros((pes, pes, columns, s))
        for y in range(pes):
            for x in range(pes):
                for t in range(pes):
                    a = left[y, place(ring[x] + ring[y] - t, pes)]
                    out[y, x] += right[place(ring[y] - t, pes), x].T @ a
        return out.reshape(pes, pes, columns * s)

    def norm(x):
        x = x.reshape(pes, pes, d, s)
        mean = (x * x).sum(axis=(1, 2), keepdims=True) / (d * pes)
        return (x / np.sqrt(mean + EPSILON) * v["gamma"][..., None]).reshape(pes, pes, d * s)

    def rope(q):
        q, n = q.reshape(pes, pes, d, s).copy(), d // 2
        a, b = q[:, :, 0:2 * n:2].copy(), q[:, :, 1:2 * n:2].copy()
        q[:, :, 0:2 * n:2] = a * math.cos(ANGLE) - b * math.sin(ANGLE)
        q[:, :, 1:2 * n:2] = b * math.cos(ANGLE) + a * math.sin(ANGLE)
        return q

    x = v["x"]
    normed = norm(x)
    q, k = (rope(product(normed, v[w], d, d)) for w in ("wq", "wk"))
    values_ = product(normed, v["wv"], d, d)
    # Scores of the keys in ring position i lie in the column of that position.
    scores = np.zeros((pes, pes, s, s))
    for y in range(pes):
        for x_ in range(pes):
            scores[y, x_] = np.einsum("cdk,cdq->kq", k[place(ring[x_], pes)], q[y])
    scores /= math.sqrt(d * pes)
    scores = np.exp(scores - np.maximum(0, scores.max(axis=(1, 2), keepdims=True)))
    scores = scores / scores.sum(axis=(1, 2), keepdims=True)
    attended = product(scores.reshape(pes, pes, s * s), values_, s, d)
    x = x + product(attended, v["wo"], d, d)
    up, gate = (product(norm(x), v[w], d, shape.f) for w in ("wup", "wgate"))
    return x + product(up * gate / (1 + np.exp(-gate)), v["wdown"], shape.f, d)
