#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles headers, and writes beside them a checksum of all that went into
# them. Precompiled headers name the build they are of; by the checksum ccache
# knows the objects of another build with the same headers.
# Usage: precompile.sh COMPILER ARGUMENT ... -MF DEPENDENCIES ... -o OUTPUT ...
set -euo pipefail
"$@"
while [ $# -gt 0 ]; do
  case "$1" in
    -MF) dependencies=$2 ;;
    -o) output=$2 ;;
  esac
  shift
done
sed -e 's/^[^:]*: *//' -e 's/\\$//' "$dependencies" | xargs cat | sha256sum > "$output.sum"
