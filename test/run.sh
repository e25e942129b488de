#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sets up, builds and runs every test. Usage: test/run.sh [--quick]
#   --quick  without the models that PyTorch makes, the sanitizers, fuzzing, and
#            the wheel, which builds the tools a second time
set -euo pipefail
cd "$(dirname "$0")/.."
quick=0
[ "${1:-}" = --quick ] && quick=1

say() { printf '\033[1m==> %s\033[0m\n' "$*"; }

if [ "$quick" = 1 ]; then
  tools/setup.sh
else
  tools/setup.sh --torch
  say "Making the models that need PyTorch"
  .venv/bin/python test/e2e/models/make_torch_models.py
  .venv/bin/python test/e2e/families/make_families.py
fi

say "Documentation"
cmake --build --preset release --target wsec-docs

# sanitized_runtime FOLDER FLAGS [CMAKE OPTION ...]: configures the runtime alone.
sanitized_runtime() {
  cmake -S runtime -B "$1" -G Ninja \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g" \
    -DCMAKE_CXX_FLAGS="$2" -DCMAKE_TOOLCHAIN_FILE="$PWD/tools/Toolchain.cmake" \
    "${@:3}" > "$1.log" 2>&1 || { cat "$1.log"; exit 1; }
}

if [ "$quick" = 0 ]; then
  say "The runtime alone, under sanitizers, with damaged programs"
  sanitized_runtime build/runtime-asan \
    "-fsanitize=address,undefined -fno-sanitize-recover=undefined" \
    -DWSEC_MUTATIONS=100000 -DWSEC_RANDOM_PROGRAMS=2000
  cmake --build build/runtime-asan
  ctest --test-dir build/runtime-asan --output-on-failure --parallel "$(nproc)"

  say "The emulator's threads, under the thread sanitizer"
  sanitized_runtime build/runtime-tsan -fsanitize=thread
  cmake --build build/runtime-tsan --target StripsTest
  build/runtime-tsan/bin/StripsTest --gtest_brief=1
fi

say "All tests"
if [ "$quick" = 1 ]; then
  ctest --preset release --parallel "$(nproc)" -LE "torch|install"
else
  ctest --preset release --parallel "$(nproc)"
fi

if [ "$quick" = 0 ]; then
  say "Hostile input, led by coverage, under sanitizers"
  tools/fuzz.sh 60 LoaderFuzz EmulatorFuzz WaveletFuzz
fi
