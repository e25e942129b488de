#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes seven calls of the small gpt, right and wrong: write_batches.py FOLDER"""

import sys
from pathlib import Path

import numpy as np

folder = Path(sys.argv[1])
ids = np.random.default_rng(7).integers(0, 97, (7, 8))
np.savez(folder / "good.npz", ids=ids)
np.savez(folder / "narrow.npz", ids=ids[:, :5])
ids[3, 2] = ids[6, 1] = 900
np.savez(folder / "wrong.npz", ids=ids)
