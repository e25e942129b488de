#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the cycles of two run reports: same_cycles.py A.json B.json."""

import json
import sys

first, second = (json.load(open(path)) for path in sys.argv[1:3])
print("cycles:", "equal" if first["cycles"] == second["cycles"] else "DIFFERENT",
      first["cycles"]["total"], second["cycles"]["total"])
