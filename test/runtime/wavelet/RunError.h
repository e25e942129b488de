// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TEST_RUNTIME_WAVELET_RUNERROR_H
#define TEST_RUNTIME_WAVELET_RUNERROR_H

#include "runtime/program/Errors.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

#include <string>

namespace wsec::runtime::test {

/// The name of the error that a run ends in; empty if none.
inline std::string runError(const program::Program &program,
                            VectorHost host = {}) {
  try {
    WaveletEngine(program).run(host);
  } catch (const Error &error) {
    return std::string(errorClassName(error.errorClass()));
  }
  return "";
}

/// Programs that are proved free never hang. Of the others some are run, to see
/// that programs do.
class VerdictTally {
public:
  template <typename Run>
  void add(bool proved, uint32_t seed, Run run) {
    if (!proved && seed % 8 != 0)
      return;
    const bool hangs = run() == "Deadlock";
    EXPECT_FALSE(proved && hangs) << "seed " << seed;
    free += proved;
    hang += hangs;
  }
  void expectEnough() const {
    EXPECT_GT(free, 500);
    EXPECT_GT(hang, 100);
  }

private:
  int free = 0, hang = 0;
};

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_WAVELET_RUNERROR_H
