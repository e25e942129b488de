#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compiles ../pe.in and ../onnx.in with names for their weight file that have no
# business there, and prints why each is refused.
for file in /etc/passwd ../secret link dangling absent fifo; do
  for level in pe onnx; do
    sed "s|FILE|$file|" ../$level.in > $level.mlir
    wsec $level.mlir -o x.wafer --bundle 2>&1 | grep -o "'$file'.*\|not a regular file"
  done
done
