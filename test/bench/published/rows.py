# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives along a row or over a square of PEs, f32, and what they should
take.

Each function makes a program whose PEs hold `words` elements of @v, start
together and read their clocks before and after; `expected` is what the result
should hold. Formulas (cycles; P PEs, B words, T_R the ramp latency) are those
of Luczynski et al. 2024, which also defines the patterns.

A reduction is first a Line: what each PE of a line does, its root at position
0, the others "far" from it. Lines are then laid along rows and columns.
"""

import math
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from assembler import Assembly, Rect

# Of wse2: each way, and from a dispatch to the first word, less its step.
RAMP, START = 2, 4
V = "@v[0, strides = [1]]"
# A row's root is in the west, a column's in the north.
ROW, COLUMN = {"near": "west", "far": "east"}, {"near": "north", "far": "south"}


@dataclass
class Line:
    """Routes and code by position. Colors count from 0."""

    pes: int
    words: int
    colors: int
    routes: dict = field(default_factory=lambda: defaultdict(list))
    code: list = None

    def __post_init__(self):
        self.code = [() for _ in range(self.pes)]

    def route(self, position, color, receive, *transmit, more=""):
        self.routes[color, receive, transmit, more].append(position)

    def run(self, position, *lines):
        self.code[position] += lines

    def over(self):
        return f"over ({self.words})"


def receive_add(color):
    return f"vector add {V} = {V}, fabric({{c{color}}}) {{n}}"


def send(color):
    return f"vector mov fabric({{c{color}}}) = {V} {{n}}"


def relay_add(to, source):
    return f"vector add fabric({{c{to}}}) = {V}, fabric({{c{source}}}) {{n}}"


def star_line(pes, words):
    """Every PE sends to the root, the nearest first; then it is a wire."""
    line = Line(pes, words, 1)
    line.route(0, 0, "far", "ramp")
    each = "@v[0, strides = [0, 1]]"
    line.run(0, f"vector add {each} = {each}, fabric({{c0}}, depth = 2) over ({pes - 1}, {words})")
    for x in range(1, pes):
        line.route(x, 0, "ramp", "near", more="switch [from {far}]" if x < pes - 1 else "")
        line.run(x, send(0) + (" advance" if x < pes - 1 else ""))
    return line


def chain_line(pes, words):
    """Every PE receives from its far neighbour, adds its own and sends on."""
    line = Line(pes, words, 2)
    for x in range(pes):
        to, source = (x + 1) % 2, x % 2
        if x > 0:
            line.route(x, to, "ramp", "near")
        if x < pes - 1:
            line.route(x, source, "far", "ramp")
        line.run(x, receive_add(source) if x == 0 else
                 send(to) if x == pes - 1 else relay_add(to, source))
    return line


def tree_line(pes, words):
    """Binary: in round k the PEs whose rank has k zeros at its end send 2^k
    nearer, each round on a color of its own. pes is a power of two."""
    rounds = pes.bit_length() - 1
    line = Line(pes, words, rounds)
    for x in range(pes):
        k = rounds if x == 0 else (x & -x).bit_length() - 1
        for level in range(rounds):
            if level < k:
                line.route(x, level, "far", "ramp")
                line.run(x, receive_add(level))
            elif level > k:
                line.route(x, level, "far", "near")
        if x > 0:
            line.route(x, k, "ramp", "near")
            line.run(x, send(k))
    return line


def two_phase_line(pes, words, group=None):
    """Chains inside groups of `group` PEs, then one along their leaders, the
    first of each. Inside a group neighbours alternate the color they send on,
    and the pattern flips from group to group, so that a leader sends on what
    the group before receives on. A control wavelet behind the data turns what
    it passes into a wire; next to a leader the switch advances by itself."""
    group = group or math.isqrt(pes)
    if group >= pes:
        return chain_line(pes, words)
    line = Line(pes, words, 2)
    leaders = -(-pes // group)
    for x in range(pes):
        g, i = divmod(x, group)
        to, source = ((i + 1) + g) % 2, (i + g) % 2
        last = i == group - 1 or x == pes - 1
        if i == 0:
            _leader(line, x, to, source, g == leaders - 1, last)
            continue
        wire = x < (leaders - 1) * group
        line.route(x, to, "ramp", "near", more="switch [from {far}]" if wire else "")
        if not last:
            line.route(x, source, "far", "ramp", more="switch [to [{near}]]" if wire else "")
        elif wire and source == g % 2:
            line.route(x, source, "far", "near")
        line.run(x, (send(to) if last else relay_add(to, source)) +
                 (" advance" if wire and i == 1 else ""))
        if wire and i > 1:
            line.run(x, f"control fabric({{c{to}}}) [advance]")
    return line


def _leader(line, x, to, source, final, alone):
    """Of the last group, final; `alone`: a group of one."""
    if x > 0:
        line.route(x, to, "ramp", "near")
    if not alone:
        line.route(x, source, "far", "ramp")
    if x == 0:
        line.run(x, receive_add(source), receive_add(source))
    elif final:
        line.run(x, send(to) if alone else relay_add(to, source))
    else:
        line.run(x, receive_add(source), relay_add(to, source))


def broadcast_line(pes, words):
    """The root multicasts to all others."""
    line = Line(pes, words, 1)
    for x in range(pes):
        if x == 0:
            line.route(x, 0, "ramp", "far")
        elif x < pes - 1:
            line.route(x, 0, "near", "far", "ramp")
        else:
            line.route(x, 0, "near", "ramp")
        line.run(x, send(0) if x == 0 else f"vector mov {V} = fabric({{c0}}) {{n}}")
    return line


def ring_line(pes, words):
    """All-reduce of chunks of words / pes: eastwards from neighbour to
    neighbour, and from the last PE back to the first. In the first half a PE
    adds its own to all chunks that pass but the last, whose sum is then
    complete; in the second half the sums pass all PEs. Both halves stream: no
    PE waits for the end of a chunk. What a PE passes on in the second half, by
    a thread, comes back to it over its own ramp, and is stored."""
    chunk = words // pes
    if pes % 2 or words % pes or chunk > 8:
        raise ValueError("an even number of PEs, and chunks that fit in queues: up to 8 words")
    line = Line(pes, words, 6)
    for half, back in ((0, ()), (3, ("ramp",))):
        for x in range(pes):
            line.route(x, half + (2 if x == pes - 1 else x % 2), "ramp",
                       "near" if x == pes - 1 else "far", *back)
            line.route(x, half + (2 if x == 0 else (x + 1) % 2), "far" if x == 0 else "near", "ramp")
            if 0 < x < pes - 1:
                line.route(x, half + 2, "far", "near")
    for x in range(pes):
        line.run(x, *_ring_code(x, pes, chunk))
    return line


def _ring_code(x, pes, chunk):
    to, source = 2 if x == pes - 1 else x % 2, 2 if x == 0 else (x + 1) % 2

    def port(color):
        return f"fabric({{c{color}}}, depth = 2)"

    def chunks(first, count):
        """Pieces of `count` chunks downwards from `first`, without a wrap."""
        before = min(count, first % pes + 1)
        for start, n in ((first % pes, before), (pes - 1, count - before)):
            if n:
                yield f"@v[{start * chunk}, strides = [{-chunk}, 1]]", f"over ({n}, {chunk})"
    for v, over in chunks(x, 1):
        yield f"vector mov {port(to)} = {v} {over}"
    for v, over in chunks(x - 1, pes - 2):
        yield f"vector add {port(to)} = {v}, {port(source)} {over}"
    for v, over in chunks(x + 1, 1):
        yield f"vector add {v} = {v}, {port(source)} {over}"
        yield f"vector mov {port(to + 3)} = {v} {over}"
    yield (f"vector mov {port(to + 3)} = {port(source + 3)} over ({pes - 2}, {chunk}) "
           "thread 0")
    for v, over in chunks(x + 1, pes - 1):
        yield f"vector mov {v} = {port(to + 3)} {over}"
    yield "await [0]"
    for v, over in chunks(x + 2, 1):
        yield f"vector mov {v} = {port(source + 3)} {over}"


def ring(pes, words, machine="wse2"):
    mesh = Mesh("ring", pes, 1, words, machine)
    mesh.lay(ring_line(pes, words), ROW, [0])
    expected = np.broadcast_to(mesh.values.sum(axis=1, keepdims=True), mesh.values.shape)
    return mesh.finish(Rect(0, pes, 0, 1)), expected


LINES = {"star": star_line, "chain": chain_line, "tree": tree_line, "two-phase": two_phase_line,
         "broadcast": broadcast_line}


def runs(positions):
    """Sorted positions as few (first, end, step), the longest run first."""
    left, found = sorted(positions), []
    while left:
        chosen, best = set(left), [left[0]]
        for second in left[1:]:
            step = second - left[0]
            if len(best) * step > left[-1] - left[0]:
                break  # No longer run fits.
            run = [left[0]]
            while run[-1] + step in chosen:
                run.append(run[-1] + step)
            best = max(best, run, key=len)
        step = best[1] - best[0] if len(best) > 1 else 1
        found.append((best[0], best[-1] + 1, step))
        left = sorted(chosen - set(best))
    return found


def rect(xs, ys):
    return Rect(xs[0], xs[1], ys[0], ys[1], xs[2], ys[2])


class Mesh:
    """Lines laid over a mesh. Code of the same text is one class."""

    def __init__(self, name, width, height, words, machine):
        self.program = Assembly(name, width, height, machine)
        self.width, self.height, self.words = width, height, words
        shape = (height, width, words)
        values = np.random.default_rng(width * 8191 + words).integers(-8, 9, shape)
        self.values = values.astype(np.float32)
        self.program.copy_in("x", "v", self.values)
        self.code = defaultdict(tuple)  # by (x, y)
        self.colors = 0

    def lay(self, line, across, lines):
        """`lines`: the rows (or, down columns, the columns) that get it."""
        first = self.colors + 1
        self.colors += line.colors
        words = {f"c{i}": first + i for i in range(line.colors)}
        along = (lambda p, q: rect(p, q)) if across is ROW else (lambda p, q: rect(q, p))
        for (color, receive, transmit, more), positions in line.routes.items():
            for p in runs(positions):
                for q in runs(lines):
                    self.program.route(first + color, along(p, q), across.get(receive, receive),
                                       *(across.get(t, t) for t in transmit),
                                       more=more.format(**across))
        for position, body in enumerate(line.code):
            text = tuple(part.format(n=line.over(), **words) for part in body)
            for q in lines:
                at = (position, q) if across is ROW else (q, position)
                self.code[at] += text

    def finish(self, at):
        """Makes the classes; the result is what the PEs of `at` hold."""
        whole = defaultdict(lambda: defaultdict(list))  # code -> rows -> columns
        by_column = defaultdict(lambda: defaultdict(list))
        for x, y in sorted(self.code):
            by_column[x][self.code[x, y]].append(y)
        for x in sorted(by_column):
            for body, ys in by_column[x].items():
                whole[body][tuple(ys)].append(x)
        for i, (body, places) in enumerate(whole.items()):
            rects = [rect(p, q) for ys, xs in places.items() for p in runs(xs) for q in runs(ys)]
            made = self.program.pe_class(f"role{i}", *rects)
            made.buffer("v", "f32", self.words)
            made.buffer("t", "i32", 2)
            made.routine("main", ["clock @t[0]", *body, "clock @t[1]"])
        self.program.launch("main")
        shape = (at.y1 - at.y0, at.x1 - at.x0, self.words)
        self.program.copy_out("y", "v", shape, np.float32, at)
        self.program.copy_out("t", "t", (self.height, self.width, 2), np.int32)
        return self.program


def reduce(pattern, width, words, height=1, machine="wse2", all_reduce=False, **options):
    """Along all rows to column 0, then down that to PE (0, 0); all_reduce: and
    back the same way."""
    mesh = Mesh(pattern.replace("-", "_"), width, height, words, machine)
    rows = list(range(height))
    mesh.lay(LINES[pattern](width, words, **options), ROW, rows)
    if height > 1:
        mesh.lay(LINES[pattern](height, words, **options), COLUMN, [0])
    expected = mesh.values.sum(axis=(0, 1), keepdims=True)
    at = Rect(0, 1, 0, 1)
    if all_reduce:
        _multicast(mesh)
        at = Rect(0, width, 0, height)
        expected = np.broadcast_to(expected, (height, width, words))
    return mesh.finish(at), expected


def _multicast(mesh, times=1):
    """From PE (0, 0) along its row, and that down all columns, in one go; all
    words `times` times."""
    program, width, height = mesh.program, mesh.width, mesh.height
    mesh.colors += 1
    color = mesh.colors
    down = ["south"] if height > 1 else []
    program.route(color, Rect(0, 1, 0, 1), "ramp", "east", *down)
    program.route(color, Rect(1, width - 1, 0, 1), "west", "east", "ramp", *down)
    program.route(color, Rect(width - 1, width, 0, 1), "west", "ramp", *down)
    program.route(color, Rect(0, width, 1, height - 1), "north", "south", "ramp")
    program.route(color, Rect(0, width, max(1, height - 1), height), "north", "ramp")
    v, port, over = V, f"fabric({color})", f"over ({mesh.words})"
    if times > 1:
        v, port = "@v[0, strides = [0, 1]]", f"fabric({color}, depth = 2)"
        over = f"over ({times}, {mesh.words})"
    for x in range(width):
        for y in range(height):
            line = f"mov {port} = {v}" if (x, y) == (0, 0) else f"mov {v} = {port}"
            mesh.code[x, y] += (f"vector {line} {over}",)


def broadcast(width, words, height=1, machine="wse2", times=1):
    """times: so often the root sends its words, and all others take them."""
    mesh = Mesh("broadcast", width, height, words, machine)
    _multicast(mesh, times)
    expected = np.broadcast_to(mesh.values[:1, :1], mesh.values.shape)
    return mesh.finish(Rect(0, width, 0, height)), expected


def elapsed(run):
    """From the first clock that was read to the last."""
    clocks = run.outputs["t"].astype(np.int64)
    return int(clocks[..., 1].max() - clocks[..., 0].min())


def elapsed_at_root(run):
    start, end = run.outputs["t"][0, 0].astype(np.int64)
    return int(end - start)


def formula(pattern, pes, words, ramp=RAMP):
    """Cycles by the published model."""
    stage = 2 * ramp + 1
    if pattern == "broadcast":
        return words + pes + 2 * ramp
    if pattern == "star":
        return words * (pes - 1) + stage
    if pattern == "chain":
        return words + (stage + 1) * (pes - 1)
    if pattern == "ring":
        return 2 * (pes - 1) * words / pes + 4 * pes - 6 + 2 * (pes - 1) * stage
    if pattern == "two-phase":
        group = math.isqrt(pes)
        return 2 * words + pes - 1 + stage * (group + -(-pes // group) - 2)
    lg = math.log2(pes)
    return max(words * lg, words * pes * lg / (2 * (pes - 1)) + pes - 1) + stage * lg


def structure(pattern, pes, words):
    """Cycles that the terms of the model give when all that must follow each
    other is added up: the words that the root takes, the way, and for each
    stage its ramps and step, and the start of the instruction that sends, of
    which a cycle is the step's. None: not known for this pattern."""
    if pattern == "tree":
        lg = pes.bit_length() - 1
        return words * lg + pes - 1 + lg * (2 * RAMP + 1 + START)
    begun = {"broadcast": START, "star": START + 1, "chain": START}.get(pattern)
    return None if begun is None else formula(pattern, pes, words) + begun
