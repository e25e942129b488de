#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cycles and streamed bytes of a transformer layer over the density of its
weights, beside Amdahl's line.

  sparsity.py [--mesh 8x8] [--engine wavelet] [--tokens 64] [--width 256] [--heads 4]

The line is a + (1 - a) * density, with a, the share that stays dense, from a run
that keeps one weight of 64. `dense` is the program without --sparsity, whose
kernels multiply by more than one weight at a time. Exit code 1 if a density is
off its line by more than --within percent.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "e2e" / "models"))
import small_models  # noqa: E402

DENSITIES = [1, 0.5, 0.25, 0.1]


class Layer:
    def __init__(self, folder, arguments):
        self.folder, self.arguments = folder, arguments
        self.model = folder / "layer.onnx"
        inputs = small_models.gpt_layer(self.model, 0, tokens=arguments.tokens,
                                        width=arguments.width, heads=arguments.heads)
        np.savez(folder / "in.npz", **inputs)

    def run(self, flags):
        """Cycles, and bytes of weights."""
        program, report = self.folder / "p.wafer", self.folder / "r.json"
        mesh = self.arguments.mesh
        subprocess.run(["wsec", self.model, "-o", program, f"--mesh={mesh}", f"--region={mesh}", "--quiet",
                        *flags], check=True)
        subprocess.run(["wse-run", program, "--inputs", self.folder / "in.npz", "--quiet",
                        f"--engine={self.arguments.engine}", f"--report={report}"], check=True)
        found = json.loads(report.read_text())
        return found["cycles"]["total"], found["weights"]["streamed_bytes"]

    def sparse(self, density):
        # All are kept where less than half a weight of 64 would be left out.
        share = max(1 - density, 1e-3)
        return self.run([f"--sparsity={share}", "--sparsity-filter=*.weight"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for flag, default in (("mesh", "8x8"), ("engine", "wavelet"), ("tokens", 64), ("width", 256),
                          ("heads", 4), ("within", 5.0)):
        parser.add_argument(f"--{flag}", type=type(default), default=default)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        layer = Layer(Path(folder), arguments)
        dense, dense_bytes = layer.run([])
        print(f"dense        {dense:10.0f} cycles {dense_bytes:10} bytes", flush=True)
        least = 1 / 64
        all_kept, one_kept = layer.sparse(1)[0], layer.sparse(least)[0]
        share = (one_kept / all_kept - least) / (1 - least)
        print(f"density  kept     cycles      bytes  speed-up  Amdahl (a = {share:.3f})  off", flush=True)
        worst = 0
        for density in DENSITIES:
            cycles, weight_bytes = layer.sparse(density)
            kept = round(64 * density) / 64
            line = 1 / (share + (1 - share) * kept)
            off = 100 * (all_kept / cycles / line - 1)
            worst = max(worst, abs(off))
            print(f"{density:7} {kept:5.3f} {cycles:10.0f} {weight_bytes:10} {all_kept / cycles:9.2f} "
                  f"{line:7.2f} {off:21.1f} %", flush=True)
        print(f"worst {worst:.1f} % {'ok' if worst <= arguments.within else 'FAILED'}")
        return 0 if worst <= arguments.within else 1


if __name__ == "__main__":
    sys.exit(main())
