# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of whole programs on many PEs: published on real wafers."""

import bicgstab
import llama
import prefill as layer
import summa
from table import MINUTES, Row, affordable, check, table


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
       "A third of a layer is divides, roots and other scalar code of which only the source is "
       "published. The machine's divide_cycles is what makes the row of 540 x 540 PEs right: that row "
       "says nothing, the two others do. They lean: with more elements in a PE ours is slower than the "
       "wafer, with fewer it is faster.",
       about="whole")
def decode(options):
    small = llama.Shape(8, 2, 4, 6)
    values = llama.random_values(small)
    run = llama.decode(small, values).run()
    check(run, llama.reference(small, values), 2e-2)
    for shape, published in llama.PUBLISHED:
        if options.quick:
            continue
        what = f"{shape.pes} x {shape.pes} PEs"
        if affordable(options, shape.pes**2, published):
            took = cycles(llama.decode(shape).run())
            yield Row(what, published, took, 0.06)
        else:
            yield Row(what, published, None, why=MINUTES)


@table("prefill", "One LLaMA3-8B layer, prefill of 4,096 tokens (wse2)",
       "WaferLLM 2025, real wafer, converted with the authors' 1.1 GHz",
       "A step of a product does not depend on how many PEs there are, so small meshes are run with "
       "the tiles of the published ones. On the wafer a step costs some 220 cycles beside its vector "
       "calls; here every k costs a loop and some scalar code, and transfers take their share of the "
       "datapath, which is more where a tile is deep.",
       about="whole")
def prefill(options):
    small = layer.Shape(4, 2, 3, 5)
    values = layer.random_values(small)
    check(layer.prefill(small, values).run(), layer.reference(small, values), 2e-2)
    # Nine short nests a step in the first: what a nest costs besides counts most.
    for (shape, published), bar in zip(layer.PUBLISHED, (0.07, 0.05, 0.05)):
        points = []
        for pes in (4, 8) if options.quick else (4, 8, 12):
            small = layer.Shape(pes, shape.d, shape.s, shape.f)
            points.append((pes, cycles(layer.prefill(small).run())))
        value, how = along(points, shape.pes)
        yield Row(f"{shape.pes} x {shape.pes} PEs", published, value, bar, how)


@table("summa", "Matrix product of 33,000 x 33,000, f32, on 750 x 750 PEs (wse2)",
       "Matsuzaki 2024, real wafer: 349.0 TFLOPS, at 0.85 GHz",
       "The paper gives the tiles and the rate, not the algorithm: by steps of SUMMA, one after the "
       "other, as five tiles of 44 x 44 in a PE allow. The authors' own model is 4.7 to 9.2 % off.",
       about="whole")
def product(options):
    made, expected = summa.summa(4, 5)
    check(made.run(), expected)
    points = []
    for pes in (2, 4) if options.quick else (4, 8, 12):
        made, expected = summa.summa(pes, 44)
        run = made.run()
        check(run, expected)
        points.append((pes, cycles(run)))
    value, how = along(points, 750)
    flops = 2 * 33000**3
    yield Row("33,000 x 33,000 x 33,000", flops / 349.0e12 * 0.85e9, value, how=how)


@table("bicgstab", "An iteration of BiCGStab on a mesh of 600 x 595 x 1,536 points (wse1)",
       "Rocki et al. 2020, real wafer: 28.1 us, at 0.85 GHz",
       "The paper's mix of operations; the order of the instructions of a PE is ours. Here the five "
       "threads that send a column and receive four others use the datapath a cycle for each wavelet of "
       "two elements; that is half a cycle per point and product more than if they waited for pairs of "
       "wavelets.",
       about="whole")
def solver(options):
    shape, published = bicgstab.PUBLISHED
    made, expected = bicgstab.iteration(bicgstab.Shape(5, 3, 8))
    check(made.run(), expected[0], 2e-2)
    few = bicgstab.Shape(8, 6, shape.z)
    made, expected = bicgstab.iteration(few)
    run = made.run()
    check(run, expected[0], 2e-2)

    def sums(width, height):
        program, total = bicgstab.all_reduce(width, height)
        found = program.run()
        check(found, total)
        return cycles(found)

    local = cycles(run) - 4 * sums(few.width, few.height)
    how = f"iteration on {few.width} x {few.height} PEs, with the sums of "
    if options.quick:
        total, _ = extrapolate([(n, sums(n, n)) for n in (16, 32)],
                               (shape.width + shape.height) / 2)
        how += "600 x 595 from P = 16, 32"
    else:
        total = sums(shape.width, shape.height)
        how += "600 x 595 PEs"
    yield Row("iteration", published, local + 4 * total, 0.15, how)
    # The paper says less than 1.5 us.
    yield Row("one sum over all PEs, at most", 1.5e-6 * 0.85e9, total,
              how=how.partition("sums of ")[2])
