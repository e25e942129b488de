#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what two engines count for the channels: same_channels.py A.json B.json."""

import json
import sys

first, second = ({channel["row"]: channel["measured"] for channel in json.load(open(path))["channels"]}
                 for path in sys.argv[1:3])
assert first.keys() == second.keys() and first
off = max(abs(its[kind] - second[row][kind]) for row, its in first.items() for kind in its)
# `streams` sees a word enter when the first router passes it on, which holds two.
print("channels:", "within 16 cycles" if off <= 16 else f"{off} CYCLES APART")
