// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs .wafer files that nobody trusts, for fuzz targets.
#ifndef TEST_RUNTIME_FUZZ_RUNPROGRAM_H
#define TEST_RUNTIME_FUZZ_RUNPROGRAM_H

#include "test/runtime/fuzz/FuzzTarget.h"

namespace wsec::test {

/// Loads a file and runs it on inputs of small numbers, with little work and
/// memory allowed, on each engine that `wse-run` may take for such a program:
/// wavelet, and strips for compiled programs, whatever wavelet says of them.
/// Returns how that ended.
std::string runProgram(Bytes file, const std::string &folder);

/// Small programs that run: of commands and streams, and of remote calls.
std::vector<Example> runExamples();

} // namespace wsec::test

#endif // TEST_RUNTIME_FUZZ_RUNPROGRAM_H
