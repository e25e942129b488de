// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Included before the tests of the emulator, this makes them run every program
// on strips and wavelet and hold the first to the last: what
// `StripsEngine` names in them then gives the results of strips.
#ifndef TEST_RUNTIME_WAVELET_ALLENGINES_H
#define TEST_RUNTIME_WAVELET_ALLENGINES_H

#include "runtime/strips/StripsEngine.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/ProgramBuilder.h"
#include "test/runtime/observe/CountersAgree.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>

namespace wsec::runtime {

class AllEngines {
public:
  explicit AllEngines(const program::Program &program,
                      EngineOptions options = {})
      : program(program), strips(program, options), wavelet(program, options) {}

  RunResult run(test::VectorHost &host) {
    const test::VectorHost before = host;
    const RunResult stepped = wavelet.run(host);
    test::VectorHost its = before;
    const RunResult result = strips.run(its);
    EXPECT_EQ(host.outputs, its.outputs);
    EXPECT_EQ(stepped.vectorInstructions, result.vectorInstructions);
    EXPECT_EQ(stepped.operations, result.operations);
    EXPECT_EQ(stepped.hostWordsIn, result.hostWordsIn);
    EXPECT_EQ(stepped.hostWordsOut, result.hostWordsOut);
    std::printf("cycles: wavelet %.1f, strips %.1f (%+.1f %%)\n",
                stepped.cycles, result.cycles,
                100 * (result.cycles / stepped.cycles - 1));
    EXPECT_NEAR(result.cycles, stepped.cycles,
                std::max(5.0, 0.05 * stepped.cycles));
    checkCounters(before, host.outputs, {result.cycles, stepped.cycles});
    return result;
  }

private:
  /// Once more, with somebody who looks on: that changes nothing, and both
  /// engines tell the same.
  template <class Outputs>
  void checkCounters(const test::VectorHost &before, const Outputs &outputs,
                     const std::array<double, 2> &cycles) {
    Counters onStrips(program), onWavelet(program);
    EngineOptions options;
    auto count = [&](auto &&engine, Counters &counters, double expected) {
      test::VectorHost host = before;
      RunResult result = engine.run(host);
      EXPECT_EQ(host.outputs, outputs);
      EXPECT_EQ(result.cycles, expected);
      test::expectBalanced(counters, result);
    };
    options.observer = &onStrips;
    count(wsec::runtime::StripsEngine(program, options), onStrips, cycles[0]);
    options.observer = &onWavelet;
    count(WaveletEngine(program, options), onWavelet, cycles[1]);
    test::expectAgreement(onStrips, onWavelet);
  }

  const program::Program &program;
  StripsEngine strips;
  WaveletEngine wavelet;
};

} // namespace wsec::runtime

#define StripsEngine AllEngines

#endif // TEST_RUNTIME_WAVELET_ALLENGINES_H
