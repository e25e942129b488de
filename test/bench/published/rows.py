# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives along a row of PEs, f32, and what they should take.

Each function makes a program whose PEs hold `words` elements of @v and start
together; `expected` is what the result should hold. Formulas (cycles; P PEs,
B words, T_R the ramp latency) are those of Luczynski et al. 2024, which also
defines the patterns.
"""

import math

import numpy as np

from assembler import Assembly, Rect


def _row(name, pes, words, machine, height=1):
    program = Assembly(name, pes, height, machine)
    values = np.random.default_rng(pes * 8191 + words).integers(-8, 9, (height, pes, words))
    program.copy_in("x", "v", values.astype(np.float32))
    return program, values.astype(np.float32)


def _finish(program, words, at=None, count=1):
    program.launch("main")
    program.copy_out("y", "v", (1, count, words), np.float32, at or Rect(0, count, 0, 1))


def _class(program, name, words, body, *rects):
    made = program.pe_class(name, *rects)
    made.buffer("v", "f32", words)
    made.routine("main", [line.format(v="@v[0, strides = [1]]", n=f"over ({words})",
                                      words=words) for line in body])
    return made


def broadcast(pes, words, machine="wse2"):
    """PE 0 multicasts to all others."""
    program, values = _row("broadcast", pes, words, machine)
    program.route(1, Rect(0, 1, 0, 1), "ramp", "east")
    program.route(1, Rect(1, pes - 1, 0, 1), "west", "east", "ramp")
    program.route(1, Rect(pes - 1, pes, 0, 1), "west", "ramp")
    _class(program, "root", words, ["vector mov fabric(1) = {v} {n}"], Rect(0, 1, 0, 1))
    _class(program, "others", words, ["vector mov {v} = fabric(1) {n}"], Rect(1, pes, 0, 1))
    _finish(program, words, count=pes)
    return program, np.repeat(values[:, :1], pes, axis=1)


def broadcast_2d(width, height, words, machine="wse2"):
    """PE (0, 0) multicasts along its row, and that down all columns."""
    program, values = _row("broadcast_2d", width, words, machine, height)
    down = ["south"] if height > 1 else []
    program.route(1, Rect(0, 1, 0, 1), "ramp", "east", *down)
    program.route(1, Rect(1, width - 1, 0, 1), "west", "east", "ramp", *down)
    program.route(1, Rect(width - 1, width, 0, 1), "west", "ramp", *down)
    program.route(1, Rect(0, width, 1, height - 1), "north", "south", "ramp")
    program.route(1, Rect(0, width, height - 1, height), "north", "ramp")
    _class(program, "root", words, ["vector mov fabric(1) = {v} {n}"], Rect(0, 1, 0, 1))
    _class(program, "others", words, ["vector mov {v} = fabric(1) {n}"],
           Rect(1, width, 0, 1), Rect(0, width, 1, height))
    program.launch("main")
    program.copy_out("y", "v", (height, width, words), np.float32)
    return program, np.broadcast_to(values[:1, :1], (height, width, words))


def star(pes, words, machine="wse2"):
    """Every PE sends to PE 0, the nearest first; then it is a wire."""
    program, values = _row("star", pes, words, machine)
    program.route(1, Rect(0, 1, 0, 1), "east", "ramp")
    program.route(1, Rect(1, pes - 1, 0, 1), "ramp", "west", more="switch [from east]")
    program.route(1, Rect(pes - 1, pes, 0, 1), "ramp", "west")
    each = "@v[0, strides = [0, 1]]"
    _class(program, "root", words, [f"vector add {each} = {each}, fabric(1, depth = 2) "
                                    f"over ({pes - 1}, {words})"], Rect(0, 1, 0, 1))
    _class(program, "inner", words, ["vector mov fabric(1) = {v} {n} advance"],
           Rect(1, pes - 1, 0, 1))
    _class(program, "last", words, ["vector mov fabric(1) = {v} {n}"], Rect(pes - 1, pes, 0, 1))
    _finish(program, words)
    return program, values.sum(axis=1, keepdims=True)


def chain(pes, words, machine="wse2"):
    """Every PE receives from the east, adds its own and sends on."""
    program, values = _row("chain", pes, words, machine)
    for parity in (0, 1):
        send, receive = 1 + parity, 2 - parity
        program.route(send, Rect(2 if parity == 0 else 1, pes, 0, 1, 2), "ramp", "west")
        program.route(receive, Rect(parity, pes - 1, 0, 1, 2), "east", "ramp")
        _class(program, f"inner{parity}", words,
               [f"vector add fabric({send}) = {{v}}, fabric({receive}) {{n}}"],
               Rect(2 if parity == 0 else 1, pes - 1, 0, 1, 2))
    _class(program, "root", words, ["vector add {v} = {v}, fabric(2) {n}"], Rect(0, 1, 0, 1))
    _class(program, "last", words, [f"vector mov fabric({1 + (pes - 1) % 2}) = {{v}} {{n}}"],
           Rect(pes - 1, pes, 0, 1))
    _finish(program, words)
    return program, values.sum(axis=1, keepdims=True)


def tree(pes, words, machine="wse2"):
    """Binary: in round k the PEs whose rank has k zeros at its end send 2^k to
    the west, each round on a color of its own. pes is a power of two."""
    program, values = _row("tree", pes, words, machine)
    rounds = pes.bit_length() - 1
    for k in range(rounds + 1):
        ranks = Rect(1 << k, pes, 0, 1, 2 << k) if k < rounds else Rect(0, 1, 0, 1)
        for level in range(rounds):
            if level < k:
                program.route(1 + level, ranks, "east", "ramp")
            elif level > k:
                program.route(1 + level, ranks, "east", "west")
        body = [f"vector add {{v}} = {{v}}, fabric({1 + level}) {{n}}" for level in range(k)]
        if k < rounds:
            program.route(1 + k, ranks, "ramp", "west")
            body.append(f"vector mov fabric({1 + k}) = {{v}} {{n}}")
        _class(program, f"rank{k}", words, body, ranks)
    _finish(program, words)
    return program, values.sum(axis=1, keepdims=True)


def formula(pattern, pes, words, ramp=2):
    """Cycles by the published model."""
    stage = 2 * ramp + 1
    if pattern == "broadcast":
        return words + pes + 2 * ramp
    if pattern == "star":
        return words * (pes - 1) + stage
    if pattern == "chain":
        return words + (stage + 1) * (pes - 1)
    lg = math.log2(pes)
    return max(words * lg, words * pes * lg / (2 * (pes - 1)) + pes - 1) + stage * lg
