# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a program of the tutorial and writes inputs for it.

    run_tutorial.py NAME WORK

Makes WORK/NAME.wafer and WORK/NAME.npz; every input counts up from 0.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

INPUTS = {
    "relay": {"x": (1, 8), "bias": (4, 1)},
    "broadcast": {"x": (1, 64)},
}


def main():
    name, work = sys.argv[1], Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    tutorial = Path(__file__).resolve().parents[3] / "dialects" / "pe" / "tutorial"
    subprocess.run(["wsec", tutorial / f"{name}.mlir", "-o", work / f"{name}.wafer", "--quiet"],
                   check=True)
    np.savez(work / f"{name}.npz", **{
        key: np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        for key, shape in INPUTS[name].items()
    })


if __name__ == "__main__":
    main()
