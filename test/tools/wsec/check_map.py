#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opens the map of wsec --dump-placement=FILE.html in a headless browser and
holds what it shows against the JSON of the same program, and against the
counters and the report of a run: check_map.py CHROMIUM WORK

Two encoders side by side, whose launches, SRAM, routes and counts are worked out
here once more. The page is driven by its address. Exit code 0 or 1.
"""

import argparse
import json
import os
import re
import struct
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "e2e" / "models"))
import check_placement  # noqa: E402
import small_models  # noqa: E402

MESH = (24, 12)
VOID = {"meta", "link", "input", "br", "hr", "img"}


class Dom(HTMLParser):
    """Elements with their attributes and text, flat and in order."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "attrs": dict(attrs), "text": "", "cells": []}
        if tag in ("td", "th"):
            next(e for e in reversed(self.open) if e["tag"] == "tr")["cells"].append(element)
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        while self.open and self.open.pop()["tag"] != tag:
            pass

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data.replace("\u202f", "")

    def all(self, tag=None, **attrs):
        wanted = {"data-" + key: str(value) for key, value in attrs.items()}
        return [e for e in self.elements if tag in (None, e["tag"])
                and all(key in e["attrs"] and value in ("*", e["attrs"][key])
                        for key, value in wanted.items())]

    def id(self, name):
        return next(e for e in self.elements if e["attrs"].get("id") == name)


def cells(row):
    return [cell["text"].strip() for cell in row["cells"]]


def run(*command):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"$ {' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def png_pixel(path):
    """A function from x, y to the color of a screenshot."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    assert depth == 8 and color in (2, 6), "a screenshot of another kind"
    n = 3 if color == 2 else 4
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * n)
    image = np.zeros((height + 1, width + 1, n), np.int64)
    for y, line in enumerate(lines):
        raw = line[1:].reshape(width, n).astype(np.int64)
        up = image[y, 1:]
        if line[0] == 0:
            image[y + 1, 1:] = raw
        elif line[0] == 1:
            image[y + 1, 1:] = np.cumsum(raw, axis=0) % 256
        elif line[0] == 2:
            image[y + 1, 1:] = (raw + up) % 256
        else:
            for x in range(width):
                a, b, c = image[y + 1, x], image[y, x + 1], image[y, x]
                if line[0] == 3:
                    guess = (a + b) // 2
                else:
                    p = a + b - c
                    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
                    guess = np.where((pa <= pb) & (pa <= pc), a, np.where(pb <= pc, b, c))
                image[y + 1, x + 1] = (raw[x] + guess) % 256
    return lambda x, y: tuple(int(v) for v in image[y + 1, x + 1][:3])


class Page:
    def __init__(self, chromium, path):
        self.command = [chromium, "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                        "--window-size=1400,900", "--virtual-time-budget=2000"]
        self.path = path

    def dom(self, fragment=""):
        return Dom(run(*self.command, "--dump-dom", self.path.as_uri() + "#" + fragment))

    def pixels(self, fragment):
        shot = self.path.with_suffix(".png")
        run(*self.command, f"--screenshot={shot}", self.path.as_uri() + "#" + fragment)
        return png_pixel(shot)


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: the page shows {found!r}, the files say {wanted!r}")


# ------------------------------------------------------------- once more, here

def in_range(value, limits):
    begin, end, step = limits
    return begin <= value < end and (value - begin) % step == 0


def alive_at(placement, kernels, region, launch):
    """(address, bytes) of what a PE of the region holds, by address."""
    last = list(range(len(kernels)))
    for number, kernel in enumerate(placement["kernels"]):
        for read in kernel["reads"]:
            last[placement["kernels"][read]["slot"]] = max(
                last[placement["kernels"][read]["slot"]], kernel["slot"])
    held = {}
    for slot, kernel in enumerate(kernels):
        if kernel["region"] != region or slot > launch:
            continue
        if kernel.get("bytes") and last[slot] >= launch:
            held[kernel["address"]] = kernel["bytes"]  # the later one has taken over
        if slot == launch and "scratch_address" in kernel:
            held[kernel["scratch_address"]] = kernel["scratch_bytes"]
    return sorted(held.items())


def counted_at(counters, name, x, y):
    for row in counters["maps"][name]["rows"]:
        if row["y"][0] <= y < row["y"][1]:
            for value, count in row["runs"]:
                if x < count:
                    return value
                x -= count
    raise LookupError(name)


# ---------------------------------------------------------------------- checks

def check_name_and_legend(page, placement, kernels, heads):
    """Whose map it is, how long the run takes, and which kinds of kernels the colors are."""
    dom = page.dom()
    expect("model", dom.id("title")["text"].split()[0], placement["model"])
    cycles, seconds = heads["cycles, predicted"].split(", ")
    value, unit = seconds.split()
    took = float(value) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
    expected = int("".join(c for c in cycles if c.isdigit())) / placement["machine"]["clock_ghz"]
    assert abs(took - expected) <= 0.005 * expected, (took, expected)
    kinds = {kernel["kind"] for kernel in kernels}
    expect("legend", {each["attrs"]["data-kind"] for each in dom.all("span", kind="*")}, kinds)


def check_launches(page, placement, kernels):
    heads = {fact["attrs"]["data-fact"]: fact["text"] for fact in page.dom().all("dd")}
    expect("launches", heads["launches"], str(len(kernels)))
    expect("regions", heads["regions"], str(len(placement["regions"])))
    expect("colors", heads["colors"].split()[0],
           str(len({c for s in placement["streams"] for c in s["colors"]})))
    check_name_and_legend(page, placement, kernels, heads)
    for launch in (0, len(kernels) // 2, len(kernels) - 1):
        kernel, dom = kernels[launch], page.dom(f"launch={launch}")
        begin, end = kernel["window"]
        expect("kernel", dom.all("p", kernel="*")[0]["text"], kernel["name"])
        rows = {row["attrs"]["data-row"]: cells(row)[1] for row in dom.all("tr", row="*")}
        expect("cycles", rows["predicted"], f"{end - begin} cycles, {begin} to {end}")
        r = kernel["region"]
        expect("region", rows["region"].split(", ")[1],
               f"{r['columns']}x{r['rows']} at ({r['x']},{r['y']})")
        expect("cost", [e["text"] for e in dom.all(cost="*")],
               [str(round(kernel["cost"][part])) for part in ("compute", "stream", "fabric", "serial")])
        expect("SRAM", [tuple(map(int, cells(row)[2:])) for row in dom.all("tr", buffer="*")],
               alive_at(placement, kernels, r, launch))
        blocks = [e for e in dom.all("rect", launch=launch) if "current" in e["attrs"]["class"]]
        assert blocks, "no block of the timeline is marked"


def check_filter(page, kernels):
    kept = [k for k in kernels if any("left" in name for name in [k["name"], *k["onnx_nodes"]])]
    assert 0 < len(kept) < len(kernels)
    dom = page.dom("filter=LEFT")
    expect("filter", dom.id("matches")["text"], f"{len(kept)} of {len(kernels)} launches")
    expect("the first that is kept", dom.all("p", kernel="*")[0]["text"], kept[0]["name"])
    first = next(i for i, k in enumerate(kernels) if k not in kept)
    assert "dim" in dom.all("rect", launch=first)[0]["attrs"]["class"], "a block should be dim"


def check_fullest(dom, placement, entry):
    """The links that carry most, and who uses them, as the placement lists them."""
    fullest, = (load["fullest"] for load in placement["link_load"] if load["entry"] == entry)
    shown = dom.all("tr", link="*")
    expect("fullest links", [cells(row)[:3] for row in shown],
           [[f"({link['x']}, {link['y']}) {link['port']}", str(link["links"]), str(link["words"])]
            for link in fullest])
    expect("who uses them", [re.findall(r"@(\S+)", cells(row)[3]) for row in shown],
           [list(link["streams"]) for link in fullest])
    if entry == "main":
        expect("the fact of it", dom.all("dd", fact="fullest link")[0]["text"].split()[0],
               str(fullest[0]["words"]))


def check_pe(page, placement, counters, report, kernels):
    region = placement["regions"][-1]
    x, y = region["x"] + 1, region["y"] + 2
    launch = len(kernels) // 2
    dom = page.dom(f"launch={launch}&pe={x},{y}&fill=measured")
    routes = sorted([str(route["color"]), "@" + stream["name"], route["receive"], ", ".join(route["transmit"])]
                    for stream in placement["streams"] for route in stream["routes"]
                    if in_range(x, route["x"]) and in_range(y, route["y"]))
    assert routes
    expect("routes", sorted(cells(row) for row in dom.all("tr", route="*")), routes)
    links = {row["attrs"]["data-links"]: cells(row)[1:] for row in dom.all("tr", links="*")}
    ports = ("north", "south", "east", "west")
    expect("words on links", links["measured"],
           [str(round(counted_at(counters, "link_words_" + port, x, y))) for port in ports])
    expect("words on links, predicted", links["predicted"], links["measured"])
    ran = {**placement, "kernels": [kernels[launch]]}
    expect("words on links, of the launch", links["launch"],
           [str(words[y, x]) for words in map(check_placement.words_of_links(ran, "main").get, ports)])
    check_fullest(dom, placement, "main")
    for row in dom.all("tr", counter="*"):
        name = row["attrs"]["data-counter"]
        expect(name, cells(row)[1], str(round(counted_at(counters, name, x, y))))
    total = dom.all("p", row="total")[0]["text"]
    expect("cycles of the run", re.search(r"(\d+) measured", total)[1], str(round(report["cycles"]["total"])))
    rows = {row["attrs"]["data-row"]: cells(row)[1] for row in dom.all("tr", row="*")}
    expect("cycles of the launch", rows["measured"].split()[0], str(round(report["cycles"]["per_kernel"][launch])))


def check_stages(dom, placement):
    """What each stage takes for a sample, as the compiler's report says it."""
    stages = json.loads(Path("kept-compile.json").read_text())["pipeline"]["stages"]
    regions = sorted(placement["regions"], key=lambda region: (region["y"], region["x"]))
    shown = dom.all("tr", region="*")
    expect("stages", [(row["attrs"]["data-region"], cells(row)[2]) for row in shown],
           [(region["name"], str(round(stage["predicted_cycles"]))) for region, stage in zip(regions, stages)])
    slowest = max(stages, key=lambda stage: stage["predicted_cycles"])
    expect("the slowest", [cells(row)[2] for row in shown if "slowest" in row["attrs"]["class"]],
           [str(round(slowest["predicted_cycles"]))])
    expect("the pace", dom.all("dd", fact="a sample in the slowest stage, predicted")[0]["text"],
           f"{round(slowest['predicted_cycles'])} cycles")


def check_loading(chromium, placement, kernels):
    """Words of loading are shown apart from those of main."""
    assert kernels[0]["entry"] == "load", kernels[0]
    link = next(load for load in placement["link_load"] if load["entry"] == "load")["fullest"][0]
    dom = Page(chromium, Path("kept.html").resolve()).dom(f"pe={link['x']},{link['y']}&fill=predicted-load")
    check_fullest(dom, placement, "load")
    check_fullest(Page(chromium, Path("kept.html").resolve()).dom("fill=predicted"), placement, "main")
    links = {row["attrs"]["data-links"]: cells(row)[1:] for row in dom.all("tr", links="*")}
    for entry, name in (("main", "predicted"), ("load", "predicted-load")):
        words = check_placement.words_of_links(placement, entry)
        expect(f"words on links, {entry}", links[name],
               [str(words[port][link["y"], link["x"]]) for port in check_placement.PORTS[:4]])


def check_resident(chromium, model, mesh):
    """Of a program that keeps its weights, the map shows the run of main."""
    flags = ["wsec", model, mesh, "--mode=resident", "--quiet"]
    run(*flags, "-o", "kept.wafer", "--dump-placement=kept.json", "--report=kept-compile.json")
    run("wse-run", "kept.wafer", "--inputs", "in.npz", "--quiet", "--report=kept-report.json")
    run(*flags, "--dump-placement=kept.html", "--counters=kept-report.json")
    placement, report = (json.loads(Path(name).read_text()) for name in ("kept.json", "kept-report.json"))
    kernels = sorted(placement["kernels"], key=lambda kernel: kernel["slot"])
    launch = next(i for i, kernel in enumerate(kernels) if kernel["entry"] == "main") + 1
    dom = Page(chromium, Path("kept.html").resolve()).dom(f"launch={launch}")
    rows = {row["attrs"]["data-row"]: cells(row)[1] for row in dom.all("tr", row="*")}
    expect("cycles of a launch after those of load", rows["measured"].split()[0],
           str(round(report["cycles"]["per_kernel"][launch])))
    check_stages(dom, placement)
    check_loading(chromium, placement, kernels)
    run("wse-run", "kept.wafer", "--inputs", "in.npz", "--samples=2", "--quiet", "--report=stages.json")
    run(*flags, "--dump-placement=stages.html", "--counters=stages.json")
    stages = json.loads(Path("stages.json").read_text())["pipeline"]["stages"]
    assert len(stages) > 1, stages
    shown = Page(chromium, Path("stages.html").resolve()).dom("launch=0").all("tr", stage="*")
    expect("stages", [[cells(row)[i] for i in (1, 2, 4, 5)] for row in shown],
           [[str(round(stage[key])) for key in ("predicted_cycles", "cycles", "samples_per_second", "latency_cycles")]
            for stage in stages])


def check_keep_outs(chromium, model, mesh):
    """PEs that no region has are hatched, and said to be."""
    x, y = MESH[0] - 1, MESH[1] - 1
    for ending in ("json", "html"):
        run("wsec", model, mesh, "--quiet", f"--keep-out={x},{y},1x1", f"--dump-placement=out.{ending}")
    placement = json.loads(Path("out.json").read_text())
    expect("keep-outs", placement["machine"]["keep_outs"], [{"x": x, "y": y, "columns": 1, "rows": 1}])
    page = Page(chromium, Path("out.html").resolve())
    assert any(e["text"] == "kept out" for e in page.dom(f"pe={x},{y}").all("span")), "a PE is kept out"
    assert all(e["text"] != "kept out" for e in page.dom(f"pe={x - 1},{y}").all("span")), "a PE is not kept out"


def check_picture(page, placement):
    """Regions are where they should be, light and dark."""
    seen = {}
    for theme in ("light", "dark"):
        pixel = page.pixels(f"view=0,0,{MESH[0]},{MESH[1]}&routes=none&theme={theme}")
        box = next(iter(e for e in page.dom("theme=" + theme).all("html")))
        expect("theme", box["attrs"]["data-theme"], theme)
        seen[theme] = pixel
    # The map is 1020 wide, as many PEs as there are columns; row 0 of the mesh is
    # some 180 down.
    side = 1020 / MESH[0]
    left, right = (int((r["x"] + r["columns"] / 2 + .3) * side) for r in placement["regions"][:2])
    rows = range(210, 180 + int(side * (placement["regions"][0]["rows"] - 1)), 7)
    colors = lambda theme, x: {seen[theme](x, y) for y in rows}
    assert not colors("light", left) & colors("light", right), "regions look alike"
    assert not colors("light", left) & colors("dark", left), "light and dark look alike"


def check_alone(text):
    for outside in ("http:", "https:", "src=", "@import", "url("):
        for place in re.finditer(re.escape(outside), text):
            around = text[place.start():place.start() + 40]
            if not around.startswith("http://www.w3.org/2000/svg"):
                sys.exit(f"the page loads something: {around}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("chromium")
    parser.add_argument("work", type=Path)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    os.chdir(args.work)
    model, mesh = Path("towers.onnx"), f"--mesh={MESH[0]}x{MESH[1]}"
    np.savez("in.npz", **small_models.towers(model, seed=1))
    run("wsec", model, mesh, "-o", "towers.wafer", "--quiet", "--dump-placement=towers.json")
    run("wse-run", "towers.wafer", "--inputs", "in.npz", "--quiet", "--counters=counters.json",
        "--report=report.json")
    run("wsec", model, mesh, "--dump-placement=towers.html", "--counters=counters.json",
        "--counters=report.json")
    page = Page(args.chromium, Path("towers.html").resolve())
    placement, counters, report = (json.loads(Path(name).read_text()) for name in
                                   ("towers.json", "counters.json", "report.json"))
    kernels = sorted(placement["kernels"], key=lambda kernel: kernel["slot"])
    check_alone(page.path.read_text(encoding="utf-8"))
    check_launches(page, placement, kernels)
    check_filter(page, kernels)
    check_pe(page, placement, counters, report, kernels)
    check_picture(page, placement)
    check_resident(args.chromium, model, mesh)
    check_keep_outs(args.chromium, model, mesh)
    print(f"the map shows {len(kernels)} launches, their SRAM and routes, and what a run counted")


if __name__ == "__main__":
    main()
