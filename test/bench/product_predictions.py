#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicted against measured cycles of products, in all ways that weights stream.

  product_predictions.py [--bin build/release/bin] [--work DIR] [--jobs 2]
      [--shape 32x64x256 ...] [--mesh 16x16 ...] [--variant reduce ...] [--strips LOW:HIGH]

A line for each product of tokens x features x result features on a mesh, in a
variant that is written into the selected program: what the cost model says, what
`wavelet` counts, and how far apart they are; then, for each variant, the worst
and the root of the mean square. Of predictions it passes no judgement: who changes the
cost model runs it before and after. With --strips a run on `strips` follows, and its cycles
must be so many percent off those of `wavelet`.
"""

import argparse
import itertools
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SHAPES = ["32x64x256", "32x256x64", "128x96x96", "8x512x512", "16x96x384"]
MESHES = ["4x4", "8x8", "16x16", "32x4", "64x8", "13x7", "32x32"]
VARIANTS = ["reduce", "broadcast", "reduce_stored", "broadcast_stored"]


def write_model(work, shape):
    tokens, features, results = map(int, shape.split("x"))
    random = np.random.default_rng(0)
    weight = random.standard_normal((features, results)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [tokens, features])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [tokens, results])],
        [numpy_helper.from_array(weight, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, work / f"{shape}.onnx")
    x = random.standard_normal((tokens, features)).astype(np.float32)
    np.savez(work / f"{shape}.npz", x=x)


def measure(options, shape, mesh, variant):
    """The kernel as predicted and as measured, or why there is none; by how much `strips` is off the whole run."""
    path = options.work / f"{shape}-{mesh}-{variant}"

    def run(tool, *arguments):
        done = subprocess.run([options.bin / tool, *map(str, arguments), "--quiet"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.split("\n")[0])

    try:
        run("wsec", options.work / f"{shape}.onnx", f"--mesh={mesh}", f"--region={mesh}",
            "--stop-after=select", "--print-constants", "-o", f"{path}.mlir")
        text = Path(f"{path}.mlir").read_text()
        text = re.sub(r"variant\(\w+\) on @r", f"variant({variant}) on @r", text)
        Path(f"{path}.mlir").write_text(text)
        run("wsec", f"{path}.mlir", "-o", f"{path}.wafer", f"--report={path}.compiled.json")
        for engine in ("wavelet", "strips") if options.strips else ("wavelet",):
            run("wse-run", f"{path}.wafer", "--inputs", options.work / f"{shape}.npz",
                f"--engine={engine}", f"--report={path}.{engine}.json")
    except RuntimeError as error:
        return str(error)

    def report(which):
        return json.loads(Path(f"{path}.{which}.json").read_text())

    cycles = [next(k["cycles"] for k in report(which)["kernels"] if k["kind"] == "matmul")
              for which in ("compiled", "wavelet")]
    if options.strips:
        cycles.append(100 * (report("strips")["cycles"]["total"] / report("wavelet")["cycles"]["total"] - 1))
    return cycles


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=Path(), help="folder of the tools; else those of PATH")
    parser.add_argument("--work", type=Path, default=Path("build/product_predictions"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--shape", action="append")
    parser.add_argument("--mesh", action="append")
    parser.add_argument("--variant", action="append")
    parser.add_argument("--strips", type=lambda text: [float(bound) for bound in text.split(":")])
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    shapes = options.shape or SHAPES
    for shape in shapes:
        write_model(options.work, shape)
    cases = list(itertools.product(shapes, options.mesh or MESHES, options.variant or VARIANTS))
    misses, outside = {}, False
    with ThreadPoolExecutor(options.jobs) as pool:
        for case, result in zip(cases, pool.map(lambda case: measure(options, *case), cases)):
            shape, mesh, variant = case
            if isinstance(result, str):
                print(f"{shape:12} {mesh:7} {variant:17} {result}", flush=True)
                outside |= bool(options.strips)
                continue
            off = 100 * (result[0] / result[1] - 1)
            misses.setdefault(variant, []).append(off)
            print(f"{shape:12} {mesh:7} {variant:17} predicted {result[0]:9.0f} measured "
                  f"{result[1]:9.0f} {off:+6.1f} %", flush=True)
            if options.strips:
                low, high = options.strips
                inside = low <= result[2] <= high
                outside |= not inside
                print(f"{'':38} strips {result[2]:+.1f} %{'' if inside else ' OUTSIDE'}", flush=True)
    for variant, each in misses.items():
        print(f"{variant:17} {len(each)} products: {min(each):+.1f} to {max(each):+.1f} %, "
              f"root of mean squares {np.sqrt(np.mean(np.square(each))):.1f} %")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
