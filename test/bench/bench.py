#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Benchmarks of compiler and emulator: where we are, beside the bar we aim at.

  bench.py [--repeat N] [--threads N] [MODEL ...]

MODEL: minilm, all-minilm-l6, gpt2, an .onnx file or another name of
small_models.py. For each: compile time and peak memory, compile time of the
whole wse2 mesh against 32x32, emulation time of repeated runs of one session
against onnxruntime's on the same number of threads (a single run, which shares
nothing with others, is shown too), cycles against the report's lower bound. The
one for the whole wafer is gpt2-layer: time and memory of its emulation on all
PEs; the one for all engines is small-layer: PE instructions per second.

products is the share of the host's peak that matrix products reach in the strips
engine, on one thread. The peak is measured in the same run: a bare loop over
weights in stream order, f32, all in L1, the terms of every sum in the machine's
order; of the form whose accumulators lie in memory and the one that keeps a tile
of them in registers, the faster. A product's rate is 2 M N K over the shortest of
100 N runs of one session on 32x32 PEs; all but the first replay its schedule. It
needs the target wsec-bench-kernels.

Times are the smallest of N repeats. A bar missed is printed, never an error:
speed is for benchmarks, not for tests.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

root = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(root / "python"), str(root / "test/e2e/models")]
import make_torch_models  # noqa: E402
import small_models  # noqa: E402
import wsec  # noqa: E402


def obtain(name, folder):
    cached = make_torch_models.cache() / f"{name}.onnx"
    if name in make_torch_models.MODELS:
        if not cached.exists():
            sys.exit(f"error: {cached} is missing: run test/e2e/models/make_torch_models.py")
        name = cached
    return small_models.obtain(str(name), folder)


def timed(command):
    """Wall seconds and peak resident MB of a child process."""
    before = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command])
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - before
    if status:
        sys.exit(f"error: {' '.join(map(str, command))} failed")
    return seconds, usage.ru_maxrss / 1024


def best(repeat, command):
    runs = [timed(command) for _ in range(repeat)]
    return min(s for s, _ in runs), max(m for _, m in runs)


def onnxruntime_seconds(path, inputs, threads, repeat):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(path), options)
    session.run(None, inputs)
    seconds = []
    for _ in range(max(10, 5 * repeat)):
        start = time.perf_counter()
        session.run(None, inputs)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def line(what, value, bar, good):
    print(f"  {what:<44}{value:>22}   bar {bar:<12}{'ok' if good else 'not yet'}", flush=True)


def bench_wafer(name, arguments):
    """Emulation on every PE that a wse2 program can use."""
    print(f"{name} on 750x994 PEs")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        path, inputs = obtain(name, folder)
        np.savez(folder / "in.npz", **inputs)
        program, report = folder / "p.wafer", folder / "run.json"
        compiling, _ = best(arguments.repeat, [wsec.tool("wsec"), path, "-o", program,
                                               "--mesh=750x994", "--quiet"])
        seconds, memory = best(arguments.repeat,
                               [wsec.tool("wse-run"), program, f"--weights={path.parent}", "--inputs", folder / "in.npz",
                                "--outputs", folder / "out.npz", f"--report={report}", "--quiet",
                                f"--threads={arguments.threads}"])
        run = json.loads(report.read_text())
        rate = run["work"]["instructions"] / seconds / 1e6
        line("compile", f"{compiling:.2f} s", "< 2 s", compiling < 2)
        line("emulate, with loading", f"{seconds:.2f} s", "< 60 s", seconds < 60)
        line("emulate, peak memory", f"{memory / 1024:.2f} GB", "< 16 GB", memory < 16 * 1024)
        line("PEs that compute", f"{run['pes']['used']} of {run['pes']['available']}", "", True)
        line("PE instructions per second", f"{rate:.1f} M", "", True)
        line("cycles on the wafer", str(run["cycles"]["total"]), "", True)
        kinds = {}
        for kernel in run["kernels"]:
            cycles, least = kinds.get(kernel["kind"], (0, 0))
            kinds[kernel["kind"]] = cycles + kernel["cycles"], least + kernel["lower_bound_cycles"]
        for kind, (cycles, least) in sorted(kinds.items()):
            line(f"{kind}, cycles against the bound", f"{cycles / max(1, least):.2f} x", "< 10 x", cycles < 10 * least)


def bench(name, arguments):
    print(name)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        path, inputs = obtain(name, folder)
        np.savez(folder / "in.npz", **inputs)
        shapes = [f"--shape={n}={'x'.join(map(str, v.shape))}" for n, v in inputs.items()]
        program = folder / "p.wafer"

        def compile_command(mesh):
            return [wsec.tool("wsec"), path, "-o", program, f"--mesh={mesh}", "--quiet", *shapes]

        whole, whole_memory = best(arguments.repeat, compile_command("750x994"))
        seconds, memory = best(arguments.repeat, compile_command("32x32"))
        memory = max(memory, whole_memory)
        line("compile, 32x32", f"{seconds:.2f} s", "< 2 s", seconds < 2)
        line("compile, peak memory", f"{memory:.0f} MB", "< 2048 MB", memory < 2048)
        line("compile, 750x994 against 32x32", f"{whole / seconds:.2f} x", "< 1.5 x",
             whole < 1.5 * seconds)
        report = folder / "run.json"
        run = [wsec.tool("wse-run"), program, f"--weights={path.parent}", "--inputs", folder / "in.npz", "--outputs",
               folder / "out.npz", f"--report={report}", "--quiet",
               f"--threads={arguments.threads}"]

        def emulate(*flags):
            timed(run + list(flags))
            return json.loads(report.read_text())["time"]["emulate_s"]

        once = min(emulate() for _ in range(arguments.repeat))
        repeated = emulate(f"--repeat={max(10, 5 * arguments.repeat)}")
        reference = onnxruntime_seconds(path, inputs, arguments.threads, arguments.repeat)
        ratio = repeated / reference
        line("emulate, 32x32, a single run", f"{once:.4f} s", "", True)
        line("emulate, 32x32, repeated runs", f"{repeated:.4f} s", "", True)
        line("onnxruntime, repeated runs", f"{reference:.4f} s", "", True)
        line("emulate against onnxruntime", f"{ratio:.1f} x", "< 3 x", ratio < 3)
        rate = json.loads(report.read_text())["work"]["instructions"] / repeated / 1e6
        line("PE instructions per second, repeated runs", f"{rate:.1f} M", "", True)
        kernels = [k for k in json.loads(report.read_text())["kernels"]
                   if k.get("lower_bound_cycles")]
        for kind in sorted({k["kind"] for k in kernels}):
            mine = [k for k in kernels if k["kind"] == kind]
            quality = sum(k["cycles"] for k in mine) / sum(k["lower_bound_cycles"] for k in mine)
            aim = 1.3 if "matmul" in kind else float("inf")
            line(f"cycles against lower bound, {kind}", f"{quality:.2f} x",
                 "< 1.3 x" if aim < 2 else "", quality < aim)


def bench_engines(name, arguments):
    """Single runs of all engines on a mesh small enough for the stepping one."""
    print(f"{name} on 8x8 PEs")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        path, inputs = obtain(name, folder)
        np.savez(folder / "in.npz", **inputs)
        program, report = folder / "p.wafer", folder / "run.json"
        timed([wsec.tool("wsec"), path, "-o", program, "--mesh=8x8", "--quiet"])
        for engine in ("strips", "streams", "wavelet"):
            runs = []
            for _ in range(arguments.repeat):
                timed([wsec.tool("wse-run"), program, f"--weights={path.parent}", "--inputs", folder / "in.npz", "--outputs",
                       folder / "out.npz", f"--report={report}", "--quiet",
                       f"--engine={engine}", f"--threads={arguments.threads}"])
                runs.append(json.loads(report.read_text()))
            seconds = min(run["time"]["emulate_s"] for run in runs)
            line(f"emulate, a single run, {engine}", f"{seconds:.4f} s", "", True)
            rate = runs[0]["work"]["instructions"] / seconds / 1e6
            line(f"PE instructions per second, {engine}", f"{rate:.3f} M", "", True)


def bare_rates():
    """GFLOP/s of one core without an emulator: form of the loop -> rate, and the
    instruction set."""
    try:
        kernels = wsec.tool("wsec-bench-kernels")
    except wsec.Error:
        sys.exit("error: products needs cmake --build build/release --target wsec-bench-kernels")
    text = subprocess.run([kernels, "--benchmark_filter=bareProduct", "--benchmark_format=json"],
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    rates, label = {}, ""
    for run in json.loads(text)["benchmarks"]:
        if run["run_type"] == "iteration":
            form, label = run["run_name"].split("/")[1], run["label"]
            rates[form] = max(rates.get(form, 0), run["GFLOP/s"])
    return rates, label


def bench_products(name, arguments):
    """Matrix products on one thread beside the peak of the core they ran on."""
    print(f"{name} on 32x32 PEs, one thread")
    rates, label = bare_rates()
    peak = max(rates.values())
    for form, rate in rates.items():
        line(f"bare loop, {label}, sums in {form}", f"{rate:.1f} GFLOP/s", "", True)
    for rows, inner, columns in ((512, 512, 512), (128, 768, 3072)):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            path = folder / "matmul.onnx"
            inputs = small_models.matmul(path, 0, rows, inner, columns)
            np.savez(folder / "in.npz", **inputs)
            program, report = folder / "p.wafer", folder / "run.json"
            timed([wsec.tool("wsec"), path, "-o", program, "--mesh=32x32", "--quiet"])
            timed([wsec.tool("wse-run"), program, f"--weights={path.parent}", "--inputs", folder / "in.npz", "--outputs",
                   folder / "out.npz", f"--report={report}", "--quiet", "--threads=1",
                   f"--repeat={100 * arguments.repeat}"])
            seconds = json.loads(report.read_text())["time"]["emulate_s"]
        rate = 2e-9 * rows * inner * columns / seconds
        what = f"product {rows}x{inner} by {inner}x{columns}"
        line(f"{what}, replayed", f"{rate:.1f} GFLOP/s", "", True)
        line(f"{what}, share of the peak", f"{rate / peak:.1%}", "", True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["small-layer", "minilm", "all-minilm-l6", "gpt2", "gpt2-layer", "products"])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    benchmarks = {"gpt2-layer": bench_wafer, "small-layer": bench_engines,
                  "products": bench_products}
    for name in arguments.models:
        benchmarks.get(name, bench)(name, arguments)


if __name__ == "__main__":
    main()
