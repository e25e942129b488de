# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds `wsec estimate --mesh` against the emulator: cycles of a forward pass, and of a
step of training, of small models on small meshes.

One run in which the link is the limit gives beta, the used fraction of its
rate, one in which the PEs are gives eta, that of their peak; the others must
follow by 10 %, and so must steps of training, of one of which eta is taken.

Usage: estimate.py FOLDER. Prints a line per run; exit code 1 if one does not.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

# Layers, width, heads, mesh, tokens.
STREAM = [(3, 384, 4, "48x8", 4), (3, 384, 4, "48x8", 8), (4, 384, 4, "48x6", 6), (2, 640, 8, "64x8", 8),
          (3, 512, 8, "48x8", 8)]
COMPUTE = [(2, 512, 8, "16x16", 16), (4, 384, 4, "16x16", 16), (2, 640, 4, "24x24", 24),
           (3, 512, 4, "20x20", 20)]
TRAINING = [(3, 448, 4, "16x16", 16), (4, 384, 4, "16x16", 16), (3, 512, 4, "20x20", 20), (2, 512, 4, "32x32", 32),
            (2, 384, 4, "16x16", 16)]


def tool(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def run(folder, shape, regime, eta=1, beta=1):
    """Emulated cycles over estimated ones."""
    layers, width, heads, mesh, tokens = shape
    config, model, program = folder / "e.yaml", folder / "e.onnx", folder / "e.wafer"
    report, ids = folder / "e.json", folder / "e.npy"
    config.write_text(f"model: {{preset: tiny, layers: {layers}, width: {width}, heads: {heads}}}",
                      encoding="utf-8")
    tool("wsec", "model", f"--config={config}", "-o", model, "--weights=procedural",
         "--batch=1", f"--sequence={tokens}")
    tool("wsec", model, "-o", program, f"--mesh={mesh}", "--quiet")
    np.save(ids, np.arange(tokens).reshape(1, tokens))
    tool("wse-run", program, "--input", f"input_ids={ids}", f"--report={report}", "--quiet")
    measured = json.loads(report.read_text(encoding="utf-8"))
    cycles = measured["cycles"]["total"]
    estimate = json.loads(tool("wsec", "estimate", model, f"--mesh={mesh}", "--mode=eval",
                               "--batch=1", f"--eta={eta}", f"--beta={beta}", "--json"))
    expected = estimate["step_seconds"] * measured["machine"]["clock_ghz"] * 1e9
    print(f"{layers} layers of {width} on {mesh}, {tokens} tokens, {estimate['regime']}, eta "
          f"{eta:.3f}, beta {beta:.3f}: estimated {expected:.0f} cycles, emulated {cycles:.0f}, "
          f"{100 * (cycles / expected - 1):+.1f} %", flush=True)
    assert estimate["regime"] == regime
    return cycles / expected


def train(folder, shape):
    """Seconds of a step on the wafer, as `wsec train` reports them, and a function from eta to those that are estimated."""
    layers, width, heads, mesh, tokens = shape
    config, report, text = folder / f"t{layers}-{width}.yaml", folder / "t.json", folder / "t.npy"
    config.write_text(f"model: {{preset: tiny, layers: {layers}, width: {width}, heads: {heads}}}", encoding="utf-8")
    np.save(text, np.arange(tokens + 1))
    tool("wsec", "train", config, f"--tokens={text}", f"--sequence={tokens}", "--batch=1", "--steps=1", f"--mesh={mesh}",
         "--training-plan=recompute=pieces,inputs=store,kept=1", f"--report={report}", f"--cache={folder / 'programs'}", "--quiet")

    def estimated(eta):
        estimate = json.loads(tool("wsec", "estimate", config, f"--mesh={mesh}", "--batch=1", f"--sequence={tokens}",
                                   f"--eta={eta}", "--beta=1", "--json"))
        assert estimate["regime"] == "compute"
        return estimate["step_seconds"]
    return json.loads(report.read_text(encoding="utf-8"))["training"]["step"]["seconds"], estimated


def trainings(folder):
    """Emulated seconds over estimated ones, of all but the first, to which eta is fitted."""
    measured, estimated = train(folder, TRAINING[0])
    eta = 1
    for _ in range(8):  # a part of a step does not depend on it
        eta *= estimated(eta) / measured
    ratios = []
    for shape in TRAINING[1:]:
        measured, estimated = train(folder, shape)
        ratios.append(measured / estimated(eta))
        print(f"training {shape}, eta {eta:.3f}: estimated {1e3 * estimated(eta):.2f} ms, emulated {1e3 * measured:.2f} ms, "
              f"{100 * (ratios[-1] - 1):+.1f} %", flush=True)
    return ratios


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    beta = 1 / run(folder, STREAM[0], "stream")
    streams = [run(folder, shape, "stream", beta=beta) for shape in STREAM[1:]]
    eta = 1 / run(folder, COMPUTE[0], "compute")
    computes = [run(folder, shape, "compute", eta) for shape in COMPUTE[1:]]
    steps = trainings(folder)
    worst = [max(abs(ratio - 1) for ratio in ratios) for ratios in (streams, computes, steps)]
    good = max(worst) <= 0.1
    print(f"worst {', '.join(f'{100 * each:.1f}' for each in worst)} %: {'ok' if good else 'FAILED'}")
    return not good


if __name__ == "__main__":
    sys.exit(main())
