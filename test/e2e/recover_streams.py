#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recovers the streams of a program from its router tables, and holds them
against those that were routed: the inverse of the router.

  recover_streams.py [--bend] PROGRAM.wafer PLACEMENT.json

The tables say what each router does with words of a color. From every PE that
takes words from its ramp, or from outside the mesh, words are followed to those
who hear them: a source, its hearers, and where words leave. The placement (of
--dump-placement) names streams by pattern, region and rows; what a pattern means
is written here once more. Both have to give the same words on every color, no
setting may be left over, and no PE may have two. One line; exit code 0 or 1.

With --bend rules are changed one at a time, each in several ways: every change
has to be noticed.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

STEP = {"north": (0, -1), "south": (0, 1), "east": (1, 0), "west": (-1, 0)}
OPPOSITE = {"north": "south", "south": "north", "east": "west", "west": "east"}


class Problem(Exception):
    """What is wrong with a table, or differs from the routed streams."""


def rules_of(program):
    """The rules of a program: color, columns, rows, receive port, transmit ports."""
    text = subprocess.run(["wse-inspect", "pe", program], capture_output=True, text=True,
                          check=True).stdout
    rule = re.compile(r"^ *route (\d+) \[(\d+):(\d+)(?::(\d+))?, (\d+):(\d+)(?::(\d+))?\] "
                      r"from (\w+) to \[([\w, ]+)\]$", re.MULTILINE)
    rules = [(int(color), range(int(x0), int(x1), int(xstep or 1)),
              range(int(y0), int(y1), int(ystep or 1)), receive, tuple(transmit.split(", ")))
             for color, x0, x1, xstep, y0, y1, ystep, receive, transmit in rule.findall(text)]
    assert len(rules) == len(re.findall(r"^ *route ", text, re.MULTILINE))
    return rules


def tables(rules):
    """Settings of rules, (receive, transmit) by PE, by color."""
    colors = {}
    for color, xs, ys, receive, transmit in rules:
        settings = colors.setdefault(color, {})
        for x in xs:
            for y in ys:
                if (x, y) in settings:
                    raise Problem(f"PE ({x},{y}) has two settings of color {color}")
                settings[x, y] = (receive, transmit)
    return colors


def follow(settings, source, mesh):
    """Who hears the words of a PE, which PEs they pass, and where they leave."""
    hearers, passed, leaves = set(), set(), set()
    work = [source]
    while work:
        at = work.pop()
        passed.add(at)
        for port in settings[at][1]:
            if port == "ramp":
                hearers.add(at)
                continue
            to = (at[0] + STEP[port][0], at[1] + STEP[port][1])
            if not (0 <= to[0] < mesh[0] and 0 <= to[1] < mesh[1]):
                leaves.add((at, port))
            elif to not in settings or settings[to][0] != OPPOSITE[port] or to in passed:
                raise Problem(f"words that {at} sends {port} arrive nowhere")
            else:
                work.append(to)
    return frozenset(hearers), passed, frozenset(leaves)


def recover(colors, mesh):
    """All (color, source, entry, hearers, leaves)."""
    found = set()
    for color, settings in colors.items():
        fed = set()
        for at, (receive, _) in settings.items():
            outside = receive == "west" and at[0] == 0
            if receive != "ramp" and not outside:
                continue
            hearers, passed, leaves = follow(settings, at, mesh)
            fed |= passed
            found.add((color, at, receive, hearers, leaves))
        if fed != set(settings):
            raise Problem(f"color {color}: nothing feeds {sorted(set(settings) - fed)[:4]}")
    return found


def rectangle(region):
    return {(x, y) for x in range(region["x"], region["x"] + region["columns"])
            for y in range(region["y"], region["y"] + region["rows"])}


def channels_of(placement):
    """The channels of each region: (row, columns served, rows carried). It may
    have a part of those of its rows in the west (columns are None where it has not), and has all exits."""
    regions = placement["regions"]
    by_region, last = {region["name"]: {} for region in regions}, None
    for west in placement["channels"]["west"]:
        may = [r for r in regions if r["y"] <= west["row"] < r["y"] + r["rows"]
               and r["x"] <= west["begin"] and west["end"] <= r["x"] + r["columns"]]
        if last in may and all(row < west["row"] for row in by_region[last["name"]]):
            may = [last]
        last = next((r for r in may if not by_region[r["name"]]), may[0])
        by_region[last["name"]][west["row"]] = range(west["begin"], west["end"])
    result = {}
    for region in regions:
        bottom, carried = region["y"] + region["rows"], {}
        for east in placement["channels"]["east"]:
            if region["y"] <= east["row"] < bottom:
                end = max(min(east["end"], bottom), carried.get(east["row"], range(0)).stop)
                carried[east["row"]] = range(east["begin"], end)
        served = by_region[region["name"]]
        result[region["name"]] = [(row, served.get(row), rows)
                                  for row, rows in sorted(carried.items())]
    return result


def groups_of(stream):
    count, pitch, used = stream["groups"]
    return [range(g * pitch, g * pitch + used) for g in range(count)]


def tokens_of(batch, tokens, height):
    """The tokens of each row of a region, counted through all batch elements."""
    def share(elements, parts):
        size, large = divmod(len(elements), parts)
        starts = [part * size + min(part, large) for part in range(parts + 1)]
        return [elements[begin:end] for begin, end in zip(starts, starts[1:])]

    if batch > height:
        return [[element * tokens + token for element in own for token in range(tokens)]
                for own in share(range(batch), height)]
    group = height // batch
    rows = [[] for _ in range(height)]
    for element in range(batch):
        own = share(range(element * tokens, (element + 1) * tokens), min(group, tokens))
        for i, some in enumerate(own):
            rows[element * group + i] = list(some)
    return rows


def words_of(stream, region, target, channels, placement):
    """(number of the color, source, entry, hearers, leaves) of a stream."""
    x0, y0 = region["x"], region["y"]
    width, height = region["columns"], region["rows"]
    xs, ys = range(x0, x0 + width), range(y0, y0 + height)
    colors = stream["colors"]

    def link(dx, dy):
        return [((x - x0 if dx else y - y0) % 2, (x, y), "ramp", {(x + dx, y + dy)}, ())
                for x in xs for y in ys if x + dx in xs and y + dy in ys]

    pattern = stream["pattern"]
    if pattern == "launch":
        everyone = set().union(*(rectangle(r) for r in placement["regions"]))
        return [(0, (0, 0), "west", everyone, ())]
    if pattern == "channel":
        return [(0, (0, row), "west", {(x, row) for x in columns}, ())
                for row, columns, _ in channels if columns]
    if pattern == "channel_row":
        return [(0, (0, row), "west", {(x, row) for x in xs}, ())
                for row, columns, _ in channels if columns is not None]
    if pattern == "column":
        hearers = [y0 + y for group in groups_of(stream) for y in group]
        return [(0, (x, row), "ramp", {(x, y) for y in hearers}, ())
                for row, columns, _ in channels for x in columns or ()]
    if pattern == "column_rest":
        hearers = [y0 + y for group in groups_of(stream) for y in group]
        return [(0, (x, row), "ramp", {(x, y) for y in hearers if y != row}, ())
                for row, columns, _ in channels for x in columns or ()]
    if pattern in ("row_west", "row_east"):
        return link(1 if pattern == "row_east" else -1, 0)
    if pattern in ("key_north", "value_north"):
        return link(0, -1)
    if pattern == "sum_south":
        return link(0, 1)
    if pattern == "row_cast":
        return [(0, (x0, y), "ramp", {(x, y) for x in xs}, ()) for y in ys]
    if pattern in ("key_cast", "value_cast"):
        return [(0, (x, y0 + group[0]), "ramp", {(x, y0 + y) for y in group}, ())
                for x in xs for group in groups_of(stream)]
    if pattern == "head_cast":
        return [(0, (x0 + group[0], y), "ramp", {(x0 + x, y) for x in group}, ())
                for y in ys for group in groups_of(stream)]
    if pattern == "root_west":
        count, pitch, _ = stream["groups"]
        return [(g % 2, (x0 + g * pitch, y), "ramp", {(x0 + (g - 1) * pitch, y)}, ())
                for y in ys for g in range(1, count)]
    if pattern == "root_north":
        count, pitch, _ = stream["groups"]
        return [(g % 2, (x, y0 + g * pitch), "ramp", {(x, y0 + (g - 1) * pitch)}, ())
                for x in xs for g in range(1, count)]
    if pattern == "out_north":
        return [((y - y0) % 2, (xs[-1], y), "ramp", {(xs[-1], y - 1)}, ())
                for row, _, rows in channels for y in rows if y > row]
    if pattern == "out_exit":
        edge = placement["machine"]["width"] - 1
        return [(0, (xs[-1], row), "ramp", set(), {((edge, row), "east")})
                for row, _, rows in channels if rows]
    if pattern in ("out_column", "out_band", "out_half"):
        rows = [y for group in groups_of(stream) for y in group]
        exits = [row for row, _, _ in channels if row - y0 >= rows[-1]]
        size, large = divmod(width, len(exits))
        edge = placement["machine"]["width"] - 1
        found = []
        for i, row in enumerate(exits):
            first = x0 + i * size + min(i, large)
            band = range(first, first + size + (i < large))
            if pattern != "out_column":
                some = band if pattern == "out_band" else band[:len(band) // 2]
                found += [(0, (x, row), "ramp", set(), {((edge, row), "east")}) for x in some[-1:]]
                continue
            stops = [y0 + y for y in rows if y0 + y < row] + [row]
            found += [(n % 2, (x, stops[n]), "ramp", {(x, stops[n + 1])}, ())
                      for x in band for n in range(len(stops) - 1)]
        return found
    assert pattern == "transfer", pattern
    source = xs[-1] if target["x"] > x0 else x0
    if "groups" in stream:
        batch, tokens, _ = stream["groups"]
        own, there = (tokens_of(batch, tokens, rows) for rows in (height, target["rows"]))
    else:
        own = there = [[row] for row in range(height)]
    to = range(target["x"], target["x"] + target["columns"])
    return [(row % len(colors), (source, y0 + row), "ramp",
             {(x, target["y"] + i) for i, some in enumerate(there) if set(some) & set(own[row])
              for x in to}, ())
            for row in range(height) if own[row]]


def meant(placement):
    """The same as `recover` of what the placement says was routed."""
    regions = {region["name"]: region for region in placement["regions"]}
    channels = channels_of(placement)
    only = next(iter(regions))
    result = set()
    for stream in placement["streams"]:
        on = stream.get("region", only)
        for slot, source, entry, hearers, leaves in words_of(
                stream, regions[on], regions.get(stream.get("target")), channels[on], placement):
            result.add((stream["colors"][slot], source, entry, frozenset(hearers),
                        frozenset(leaves)))
    return result


def difference(program, placement):
    """What the tables of a program do not say of its streams; or None. And how
    many sources there are."""
    return difference_of(rules_of(program), json.loads(Path(placement).read_text()))


def difference_of(rules, placement):
    """The same of rules, and of what a placement holds."""
    mesh = placement["machine"]["width"], placement["machine"]["height"]
    try:
        found, routed = recover(tables(rules), mesh), meant(placement)
    except Problem as problem:
        return str(problem), 0
    for what, some, others in (("recovered and not routed", found, routed),
                               ("routed and not recovered", routed, found)):
        for color, source, entry, hearers, leaves in sorted(some - others, key=str):
            return (f"{what}: color {color} from {source} ({entry}) to "
                    f"{sorted(hearers)[:4] or sorted(leaves)}", 0)
    return None, len(found)


def bends(rule):
    """The rule changed: another color, one line less, another receive port, one
    transmit port more or less."""
    color, xs, ys, receive, transmit = rule
    yield color + 1, xs, ys, receive, transmit
    yield color, xs[1:], ys, receive, transmit
    yield color, xs, ys[1:], receive, transmit
    for port in (*STEP, "ramp"):
        if port != receive and port not in transmit:
            yield color, xs, ys, port, transmit
            yield color, xs, ys, receive, (*transmit, port)
        if port in transmit:
            yield color, xs, ys, receive, tuple(its for its in transmit if its != port)


def bend(program, placement):
    """How many changes of one rule there are, and those that are not noticed."""
    rules, placement = rules_of(program), json.loads(Path(placement).read_text())
    changed = [(i, bent) for i, rule in enumerate(rules) for bent in bends(rule)]
    return len(changed), [(rules[i], bent) for i, bent in changed if difference_of(
        rules[:i] + [bent] + rules[i + 1:], placement)[0] is None]


def main():
    if sys.argv[1:2] == ["--bend"] and len(sys.argv) == 4:
        count, missed = bend(*sys.argv[2:])
        print(f"{count} bent rules, {len(missed)} not noticed {missed[:2]}")
        return 1 if missed else 0
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    problem, count = difference(*sys.argv[1:])
    print(problem or f"{count} sources, as routed")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
