// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TEST_RUNTIME_FUZZ_RUNTARGET_H
#define TEST_RUNTIME_FUZZ_RUNTARGET_H

#include "test/runtime/fuzz/ProgramTarget.h"
#include "test/runtime/fuzz/RunProgram.h"

namespace wsec::test {

/// Runs files.
class RunTarget : public ProgramTarget {
public:
  std::vector<Example> examples() override { return runExamples(); }
  std::string run(Bytes file, const std::string &folder) override {
    return runProgram(std::move(file), folder);
  }
};

} // namespace wsec::test

#endif // TEST_RUNTIME_FUZZ_RUNTARGET_H
