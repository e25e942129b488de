# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C = A B on P x P PEs, a square tile of each in every PE, f32, by SUMMA: in
step k column k multicasts its tiles of A along the rows and row k its tiles of
B along the columns; then all PEs multiply what they heard. Five tiles are in a
PE, so a step's tiles are not sent before the last step's are used.

The sender of a line moves on with every step, and the routes with it, which the
PEs set themselves. Even and odd steps have colors of their own: a PE that has
heard step k knows that all words of step k - 1 have passed its router, since
PE k could only send after it had heard them; so it sets the routes for step
k + 1. Words that come earlier wait at a port that does not receive yet."""

import numpy as np

from assembler import Assembly, Rect

# Per axis: coordinate, color of even steps, thread, ports towards 0 and P.
AXES = {"a": ("%px", 1, 0, "west", "east"), "b": ("%py", 3, 2, "north", "south")}


def _line(axis, low, high, pes):
    return Rect(low, high, 0, pes) if axis == "a" else Rect(0, pes, low, high)


def _routes(program, pes):
    """Of the first two steps, whose senders are PEs 0 and 1 of each line."""
    for axis, (_, color, _, up, down) in AXES.items():
        for sender in (0, 1):
            def route(low, high, source, *ports, axis=axis, color=color + sender):
                program.route(color, _line(axis, low, high, pes), source, *ports)
            inner = [down] if sender < pes - 1 else []
            route(sender, sender + 1, "ramp", *([up] if sender else []), *inner)
            route(0, sender, down, "ramp")
            route(sender + 1, pes - 1, up, "ramp", down)
            route(max(sender + 1, pes - 1), pes, up, "ramp")


def _transfers(axis, words, step, parity):
    """Sends the PE's tile if it is its turn, and receives that of others."""
    at, color, thread, _, _ = AXES[axis]
    own, heard = (f"@{name}[0, strides = [1]]" for name in (axis, f"{axis}_heard"))
    return [f"%{axis}turn{parity} = compute equal({step}, {at})", f"if %{axis}turn{parity} {{",
            f"  vector mov fabric({color + parity}) = {own} over ({words}) thread {thread}",
            f"  vector mov {heard} = {own} over ({words}) thread {thread + 1}", "} else {",
            f"  vector mov {heard} = fabric({color + parity}) over ({words}) thread {thread + 1}",
            "}"]


def _settle(axis, step, parity):
    """Routes of the step after this one: of its sender, and of the two PEs
    before it, who heard step - 1 from the other side, or sent it."""
    at, color, _, up, down = AXES[axis]
    color += 1 - parity
    tag = f"{axis}{parity}"
    return [f"%next{tag} = compute sub({at}, {step})", f"%mine{tag} = compute equal(%next{tag}, 1)",
            f"if %mine{tag} {{", f"  if %{axis}last {{",
            f"    set_route {color} from ramp to [{up}]", "  } else {",
            f"    set_route {color} from ramp to [{up}, {down}]", "  }", "} else {",
            f"  %far{tag} = compute less(%next{tag}, -1)",
            f"  %over{tag} = compute less(%next{tag}, 1)",
            f"  %near{tag} = compute sub(%over{tag}, %far{tag})", f"  if %near{tag} {{",
            f"    if %{axis}first {{", f"      set_route {color} from {down} to [ramp]",
            "    } else {", f"      set_route {color} from {down} to [ramp, {up}]", "    }",
            "  }", "}"]


def _multiply(tile):
    return [f"for %i < {tile} {{", f"  for %j < {tile} {{",
            f"    vector fmac @c[%j, strides = [{tile}]] = @a_heard[%i, strides = [{tile}]], "
            f"@b_heard[%i * {tile} + %j, strides = [0]] over ({tile})", "  }", "}"]


def _step(tile, parity):
    words, step = tile * tile, f"%k{parity}"
    return [f"{step} = compute add(%pair * 2, {parity})",
            *(line for axis in AXES for line in _transfers(axis, words, step, parity)),
            "await [0, 1, 2, 3]",
            *(line for axis in AXES for line in _settle(axis, step, parity)),
            *_multiply(tile)]


def summa(pes, tile, machine="wse2"):
    """The program, and what the PEs should hold of C. Tiles are row-major."""
    if pes % 2:
        raise ValueError("steps come in pairs: an even number of PEs")
    words = tile * tile
    program = Assembly("summa", pes, pes, machine)
    random = np.random.default_rng(pes * 97 + tile)
    tiles = {name: random.integers(-2, 3, (pes, pes, words)).astype(np.float32) for name in "ab"}
    _routes(program, pes)
    pe = program.pe_class("pe", Rect(0, pes, 0, pes))
    pe.add("%px = scalar px", "%py = scalar py", "%zero = constant 0",
           f"%end = constant {pes - 1}")
    for axis, (at, *_) in AXES.items():
        pe.add(f"%{axis}first = scalar equal({at}, %zero)",
               f"%{axis}last = scalar equal({at}, %end)")
    for name in ("a", "b", "c", "a_heard", "b_heard"):
        pe.buffer(name, "f32", words)
    for name, values in tiles.items():
        program.copy_in(f"{name}_in", name, values)
    pe.routine("main", [f"vector mov @c[0, strides = [1]] = 0.0 over ({words})",
                        f"for %pair < {pes // 2} {{",
                        *(f"  {line}" for parity in (0, 1) for line in _step(tile, parity)), "}"])
    program.launch("main")
    program.copy_out("y", "c", (pes, pes, words), np.float32)
    a, b = (tiles[n].reshape(pes, pes, tile, tile).transpose(0, 2, 1, 3)
            .reshape(pes * tile, pes * tile) for n in "ab")
    c = a.astype(np.float64) @ b
    return program, c.reshape(pes, tile, pes, tile).transpose(0, 2, 1, 3).reshape(pes, pes, words)
