# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much faster a step of training is on several emulated wafers, beside what `wsec estimate --mesh` says: the same batch on all
(strong), and a batch that grows with them (weak), within 5 %.

Of one wafer eta is fitted. What is measured are passes of the slowest wafer; the estimate also has what the emulator has no time of:
the way of weights and gradients at the boundary of steps. A batch that does not divide into passes leaves wafers idle in both.

Usage: scale.py FOLDER. Prints a table; exit code 1 if a row is off.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

LAYERS, WIDTH, HEADS, MESH, TOKENS, BATCH = 2, 256, 4, "16x16", 16, 48
SYSTEMS = [1, 2, 5, 16]


def tool(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    config, report, text = folder / "s.yaml", folder / "s.json", folder / "s.npy"
    config.write_text(f"model: {{preset: tiny, layers: {LAYERS}, width: {WIDTH}, heads: {HEADS}}}", encoding="utf-8")
    np.save(text, np.arange(BATCH * TOKENS + 1) % 200)

    def measured(systems, batch):
        """Seconds of a step."""
        tool("wsec", "train", config, f"--tokens={text}", f"--sequence={TOKENS}", f"--batch={batch}", "--steps=1", f"--mesh={MESH}",
             "--training-plan=recompute=pieces,inputs=store,kept=1", f"--num-systems={systems}", f"--report={report}", f"--cache={folder / 'programs'}", "--quiet")
        return json.loads(report.read_text(encoding="utf-8"))["training"]["step"]["seconds"]

    def estimated(systems, batch, eta):
        return json.loads(tool("wsec", "estimate", config, f"--mesh={MESH}", f"--batch={batch}", f"--sequence={TOKENS}",
                               f"--num-systems={systems}", f"--eta={eta}", "--beta=1", "--json"))

    one = measured(1, BATCH)
    eta = 1
    for _ in range(8):  # a part of a step does not depend on it
        eta *= estimated(1, BATCH, eta)["step_seconds"] / one
    print(f"{LAYERS} layers of {WIDTH} on {MESH}, {TOKENS} tokens; eta {eta:.3f}")
    worst = 0
    for kind, batches in (("strong", dict.fromkeys(SYSTEMS, BATCH)), ("weak", {n: BATCH // max(SYSTEMS) * n for n in SYSTEMS})):
        base = batches[1]
        first = measured(1, base), estimated(1, base, eta)["step_seconds"]
        for systems, batch in batches.items():
            estimate = estimated(systems, batch, eta)
            speed, expected = (batch / base * alone / its for alone, its in zip(first, (measured(systems, batch), estimate["step_seconds"])))
            worst = max(worst, abs(speed / expected - 1))
            print(f"{kind:6} {systems:3} wafers, batch {batch:3}: {speed:6.2f} times as fast, estimated {expected:6.2f}, "
                  f"{100 * (speed / expected - 1):+5.1f} %; {100 * speed / systems:5.1f} % of linear, {estimate['regime']}", flush=True)
    print(f"worst {100 * worst:.1f} %: {'ok' if worst <= 0.05 else 'FAILED'}")
    return worst > 0.05


if __name__ == "__main__":
    sys.exit(main())
