// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs .wafer files that nobody trusts, for fuzz targets.
#ifndef TEST_RUNTIME_FUZZ_RUNPROGRAM_H
#define TEST_RUNTIME_FUZZ_RUNPROGRAM_H

#include "test/runtime/fuzz/FuzzTarget.h"

namespace wsec::test {

enum class RunEngine { Burst, Wavelet };

/// Loads a file and runs it on inputs of zeros, with little work and memory
/// allowed; returns how that ended. Burst is the engine that `wse-run` takes
/// for such a program: there is one for compiled programs and one for programs
/// of remote calls.
std::string runProgram(Bytes file, const std::string &folder, RunEngine engine);

/// Small programs that run: of commands and streams, and of remote calls.
std::vector<Example> runExamples();

} // namespace wsec::test

#endif // TEST_RUNTIME_FUZZ_RUNPROGRAM_H
