# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A run of `wsec train` as a page: python -m wsec.run_page LOG.jsonl REPORT.json [-o PAGE.html]

The curve of its losses, what a call takes (forward, recomputation, backward, gradients out), what limits it, its
kernels, and where on the wafer they are. Of what --log and --report have written; it needs nothing else."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from wsec.training import History

STYLE = """body { font: 15px/1.5 system-ui, sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse } td, th { padding: .15em .8em; text-align: right } td:first-child, th:first-child { text-align: left }
tr:nth-child(even) { background: #8881 } .bar { display: inline-block; height: .8em; background: #1f5fa8 } .maps { display: flex; gap: 2em; flex-wrap: wrap }
.wafer { position: relative; background: #8882 } .wafer div { position: absolute; outline: 1px solid #8888 }"""
PARTS = ("forward", "recomputation", "backward")


def part_of(kernel: dict[str, Any]) -> str:
    """Of a step, by the nodes that it is of; gradients leave in backward."""
    for node in kernel["onnx_nodes"]:
        if node.endswith("/backward"):
            return "backward"
        if node.endswith("/recompute"):
            return "recomputation"
    return "forward"


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = ["<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows]
    return "<table>" + "\n".join(lines) + "</table>"


def bar(share: float) -> str:
    return f'<span class="bar" style="width:{200 * share:.0f}px"></span> {100 * share:.1f} %'


def step_table(step: dict[str, Any]) -> str:
    total = sum(part["cycles"] for part in step["parts"]) or 1
    return table(["of a call", "kernels", "cycles", "predicted", "share"],
                 ([escape(part["name"]), str(part["kernels"]), f"{part['cycles']:,.0f}", f"{part['predicted_cycles']:,.0f}",
                   bar(part["cycles"] / total)] for part in step["parts"]))


def sums(kernels: list[dict[str, Any]], key: str) -> list[tuple[str, dict[str, float]]]:
    """Cycles by what a key of kernels says, and of these by part; most first."""
    found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for kernel in kernels:
        found[str(kernel[key])][part_of(kernel)] += kernel["cycles"]
        found[str(kernel[key])][""] += kernel["cycles"]
    return sorted(found.items(), key=lambda entry: (-entry[1][""], entry[0]))


def cycles_table(kernels: list[dict[str, Any]], key: str, title: str) -> str:
    total = sum(kernel["cycles"] for kernel in kernels) or 1
    return table([title, *PARTS, "share"],
                 ([escape(name), *(f"{parts[part]:,.0f}" for part in PARTS), bar(parts[""] / total)]
                  for name, parts in sums(kernels, key)))


def wafer(kernels: list[dict[str, Any]], part: str, mesh: list[int]) -> str:
    """The mesh, and each region, the darker the more of the part's cycles its kernels take."""
    scale = 280 / max(mesh)
    cycles: dict[tuple[int, ...], float] = defaultdict(float)
    for kernel in kernels:
        if part_of(kernel) == part:
            cycles[tuple(kernel["region"])] += kernel["cycles"]
    total = sum(cycles.values()) or 1
    places = "".join(
        f'<div title="{right - x}x{below - y} at ({x},{y}): {count:,.0f} cycles" style="left:{x * scale:.1f}px;top:{y * scale:.1f}px;'
        f'width:{(right - x) * scale:.1f}px;height:{(below - y) * scale:.1f}px;background:rgba(31,95,168,{0.15 + 0.75 * count / total:.2f})"></div>'
        for (x, y, right, below), count in sorted(cycles.items()))
    return (f'<figure><div class="wafer" style="width:{mesh[0] * scale:.0f}px;height:{mesh[1] * scale:.0f}px">{places}</div>'
            f"<figcaption>{escape(part)}: {total:,.0f} cycles</figcaption></figure>")


def page(history: History, report: dict[str, Any]) -> str:
    training, run = report["training"], report["step"]
    step, kernels, mesh = training["step"], run["kernels"], run["machine"]["mesh"]
    unit = "tokens" if "tokens" in training else "samples"
    title = escape(f"{run['model']['name']}: {training['steps']} steps")
    last = history.steps[-1] if history.steps else {}
    facts = [["parameters that train", f"{training['trained_elements']:,} elements of {training['parameters']}"],
             [unit, f"{training[unit]:,}, {training['batch']} samples a step, {training['micro_batch']} a call"],
             ["wafer", f"{escape(run['machine']['name'])}, {mesh[0]}x{mesh[1]} PEs at {run['machine']['clock_ghz']} GHz"],
             ["a step", f"{step['cycles']:,.0f} cycles, {1e3 * step['seconds']:.3g} ms; predicted {1e3 * step['predicted_seconds']:.3g} ms; "
                        f"{step[unit + '_per_second']:,.0f} {unit}/s"],
             ["down", f"{step['weight_bytes_down']:,} bytes of weights"],
             ["up", f"{step['gradient_bytes_up']:,} bytes of gradients, {step['gradient_bytes_at_root']:,} to the store"]]
    if "density" in last:
        facts.append(["weights that count, of sparse products", f"{100 * last['density']:.2f} %"])
    return "\n".join([
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>',
        f"<h1>{title}</h1>", table(["", ""], facts),
        "<h2>Loss</h2>", history.svg(),
        "<h2>A step</h2>", step_table(step),
        "<h2>What limits it</h2>", cycles_table(kernels, "bound", "bound by"),
        "<h2>Kernels</h2>", cycles_table(kernels, "kind", "kernel"),
        "<h2>Wafer</h2><div class='maps'>", wafer(kernels, "forward", mesh), wafer(kernels, "backward", mesh), "</div></html>\n"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m wsec.run_page", description=__doc__.splitlines()[0])
    parser.add_argument("log", type=Path)
    parser.add_argument("report", type=Path)
    parser.add_argument("-o", dest="output", type=Path, default=Path("run.html"))
    arguments = parser.parse_args()
    history = History()
    for line in arguments.log.read_text().splitlines():
        history.add(line)
    try:
        report = json.loads(arguments.report.read_text())
    except json.JSONDecodeError:
        report = {}
    if "step" not in report.get("training", {}):
        parser.error(f"{arguments.report} is of no run that has made a step: wsec train writes one with --report")
    arguments.output.write_text(page(history, report))


if __name__ == "__main__":
    main()
