#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what two programs keep on the wafer: same_residency.py A.json B.json."""

import json
import sys

first, second = (json.load(open(path)) for path in sys.argv[1:3])
for what, section, key in (("weight bytes on the wafer", "weights", "resident_bytes"),
                           ("weight bytes buffered", "weights", "buffered_bytes"),
                           ("SRAM high water", "sram", "peak_bytes"), ("code bytes", "sram", "code_bytes")):
    a, b = first[section][key], second[section][key]
    print(f"{what}: {'equal' if a == b else 'DIFFERENT'} ({a}, {b})")
