# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a program of 8**LEVELS statements in few lines: nested_procedures.py LEVELS."""

import sys

levels = int(sys.argv[1])
print('pe.program @many mesh [1, 1] machine "wse2" {')
print("  procedure @level0(@v) {")
print("    vector mov @v[0, strides = [1]] = 1.0 over (1)")
print("  }")
for level in range(levels):
    print(f"  procedure @level{level + 1}(@v) {{")
    for _ in range(8):
        print(f"    call @level{level}(@v)")
    print("  }")
print("  class @all [0:1, 0:1] {")
print("    buffer @v 4 bytes of f32")
print("    routine @main {")
print(f"      call @level{levels}(@v)")
print("    }")
print("  }")
print("  launch @main")
print("}")
