# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A language model learns on an emulated wafer.

    python -m wsec.manual [--folder=DIR] [flags of wsec train]

A decoder of 0.8 million parameters, from random weights, learns from the manual
that ships with Python, byte by byte: 300 steps of 20 x 64 bytes on 32x32 PEs.
DIR (default: build/manual) gets the text, the configuration, the log, and
curve.svg. Killed, or stopped by Ctrl-C, it goes on with the same command.
"""

import os
import pydoc_data.topics
import subprocess
import sys
from pathlib import Path

from wsec import tools
from wsec.training import History

STEPS, BATCH, SEQUENCE = 300, 20, 64
RATE, WARMUP, BETAS, CLIP = 1e-3, 20, (0.9, 0.95), 1.0

CONFIG = f"""\
model: {{preset: tiny, layers: 4, width: 128, heads: 4, vocabulary: 256, positions: {SEQUENCE}}}
batch_size: {BATCH}
sequence: {SEQUENCE}
training: {{tokens: manual.txt, steps: {STEPS}, lr: {RATE}, warmup_steps: {WARMUP}, schedule: cosine,
           betas: [{BETAS[0]}, {BETAS[1]}], clip_norm: {CLIP}, mesh: 32x32,
           log: log.jsonl, log_every: 20, checkpoint_dir: checkpoints, checkpoint_every: 50, checkpoint_keep: 2, resume: true}}
"""


def write(folder: Path) -> None:
    """The text and the configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    topics = pydoc_data.topics.topics
    (folder / "manual.txt").write_text("\n\n".join(topics[name] for name in sorted(topics)), encoding="utf-8")
    (folder / "run.yaml").write_text(CONFIG)


def history(folder: Path) -> History:
    """Of the log."""
    result = History()
    for line in (folder / "log.jsonl").read_text().splitlines():
        result.add(line)
    return result


def main() -> int:
    flags = sys.argv[1:]
    if "--help" in flags:
        print(__doc__)
        return 0
    folder = Path("build/manual")
    for flag in [flag for flag in flags if flag.startswith("--folder=")]:
        folder = Path(flag.removeprefix("--folder="))
        flags.remove(flag)
    write(folder)
    code = subprocess.run([os.path.abspath(tools.tool("wsec")), "train", "run.yaml", *flags], cwd=folder,
                          check=False).returncode
    if code == 0:
        curve = folder / "curve.svg"
        curve.write_text(history(folder).svg())
        print(f"curve    {curve}")
    return code


if __name__ == "__main__":
    sys.exit(main())
