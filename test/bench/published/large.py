# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of whole programs on many PEs: published on real wafers."""

import llama
import meshgemm
import prefill as layer
from table import Row, check, table


def cycles(run):
    """Of the last launch, from its first PE to its last."""
    return run.report["kernels"][-1]["span_cycles"]


def extrapolate(points, at):
    """A line through the first and last of (x, y): its value, and how far, in
    parts, the points between lie from it."""
    (x0, y0), (x1, y1) = points[0], points[-1]
    slope = (y1 - y0) / (x1 - x0)
    off = max((abs(y / (y0 + slope * (x - x0)) - 1) for x, y in points[1:-1]), default=0)
    return y0 + slope * (at - x0), off


def along(points, at):
    """The extrapolated number, and the text that says so."""
    value, off = extrapolate(points, at)
    text = "from P = " + ", ".join(str(x) for x, _ in points)
    return value, text + (f", on a line within {off:.1e}" if len(points) > 2 else "")


@table("llama", "One LLaMA3-8B layer, decode at context 4K (wse2)",
       "WaferLLM 2025, real wafer, converted with the authors' 1.1 GHz",
       "A third of a layer is scalar code and task overhead nobody published; function_cycles and "
       "divide_cycles of the machine stand for it.")
def decode(options):
    small = llama.Shape(8, 2, 4, 6)
    values = llama.random_values(small)
    run = llama.decode(small, values).run(options.engine)
    check(run, llama.reference(small, values), 2e-2)
    for shape, published in llama.PUBLISHED:
        if options.quick:
            continue
        run = llama.decode(shape).run(options.engine)
        yield Row(f"{shape.pes} x {shape.pes} PEs", published,
                  cycles(run))


@table("prefill", "One LLaMA3-8B layer, prefill of 4,096 tokens (wse2)",
       "WaferLLM 2025, real wafer, converted with the authors' 1.1 GHz",
       "A step of a product does not depend on how many PEs there are, so small meshes are run with "
       "the tiles of the published ones. What a step costs beside its multiply-adds is scalar code "
       "of which only the source is published.")
def prefill(options):
    small = layer.Shape(4, 2, 3, 5)
    values = layer.random_values(small)
    check(layer.prefill(small, values).run(options.engine), layer.reference(small, values), 2e-2)
    for shape, published in layer.PUBLISHED:
        points = []
        for pes in (4, 8) if options.quick else (8, 16, 24):
            small = layer.Shape(pes, shape.d, shape.s, shape.f)
            points.append((pes, cycles(layer.prefill(small).run(options.engine))))
        value, how = along(points, shape.pes)
        yield Row(f"{shape.pes} x {shape.pes} PEs", published, value, how=how)
