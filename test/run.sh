#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sets up, builds and runs every test; says how long each part took. Usage: test/run.sh [--quick]
#   --quick  without the models that PyTorch makes, what ctest calls slow, the
#            sanitizers, fuzzing, the wheel, and how fast the emulator is
set -euo pipefail
cd "$(dirname "$0")/.."
quick=0
[ "${1:-}" = --quick ] && quick=1

# part WHAT COMMAND ...: runs it, and says how long it took, in seconds.
part() {
  printf '\033[1m==> %s\033[0m\n' "$1"
  local TIMEFORMAT="    $1: %0R s, of processors %0U + %0S s"
  time "${@:2}"
}

# sanitized_runtime FOLDER FLAGS [CMAKE OPTION ...]: configures the runtime alone.
sanitized_runtime() {
  cmake -S runtime -B "$1" -G Ninja \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -gline-tables-only" \
    -DCMAKE_CXX_FLAGS="$2" -DCMAKE_TOOLCHAIN_FILE="$PWD/tools/Toolchain.cmake" \
    "${@:3}" > "$1.log" 2>&1 || { cat "$1.log"; exit 1; }
}

build_for_addresses() {
  sanitized_runtime build/runtime-asan \
    "-fsanitize=address,undefined -fno-sanitize-recover=undefined" \
    -DWSEC_MUTATIONS=30000 -DWSEC_RANDOM_PROGRAMS=700
  cmake --build build/runtime-asan
}

# The random programs of the slow tests are those of EnginesDifferentialTest.
test_addresses() {
  ctest --test-dir build/runtime-asan --output-on-failure --parallel "$(nproc)" -E EnginesDifferentialTest
}

test_threads() {
  sanitized_runtime build/runtime-tsan -fsanitize=thread
  cmake --build build/runtime-tsan --target StripsTest
  build/runtime-tsan/bin/StripsTest --gtest_brief=1
}

if [ "$quick" = 1 ]; then
  part "Set-up and build" tools/setup.sh
else
  part "Set-up and build" tools/setup.sh --torch
  part "Models that need PyTorch" .venv/bin/python test/e2e/models/make_torch_models.py
  # Of those with experts and state spaces, which have exporters of their own, the few that newer.py --few takes.
  part "Models of exporters" .venv/bin/python test/e2e/families/make_families.py --of=families
  part "A few with experts and state spaces" .venv/bin/python test/e2e/families/make_families.py --of=newer \
    "$(.venv/bin/python test/e2e/families/newer.py --pattern)"
fi

if [ "$quick" = 1 ]; then
  part "Documentation" cmake --build --preset release --target wsec-docs
  part "Tests" ctest --preset release --parallel "$(nproc)" -LE "torch|install|slow"
  exit
fi
part "Documentation, as a site" tools/docs.sh
part "The runtime alone, for the address sanitizer" build_for_addresses
part "Its tests, with damaged and random programs" test_addresses
part "The emulator's threads, under the thread sanitizer" test_threads
# Suites that are run whole need not be run in part; what takes hours is run on request.
part "All tests" ctest --preset release --parallel "$(nproc)" -LE "few|hours"
sort -gr build/release/test/.lit_test_times.txt | sed -n '1,20p'
part "Hostile input, led by coverage, under sanitizers" tools/fuzz.sh 90 LoaderFuzz EmulatorFuzz
# Last, when nothing else runs.
part "Speed" .venv/bin/python test/bench/bench.py --check --quick
