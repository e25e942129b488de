// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Included before the tests of the emulator, this makes them run every program
// on both engines and hold one to the other: what `Emulator` names in them is
// then a pair of engines that gives the results of the burst engine.
#ifndef TEST_RUNTIME_WAVELET_BOTHENGINES_H
#define TEST_RUNTIME_WAVELET_BOTHENGINES_H

#include "runtime/emulator/Emulator.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/ProgramBuilder.h"
#include "test/runtime/observe/CountersAgree.h"

#include <gtest/gtest.h>

namespace wsec::runtime {

class BothEngines {
public:
  explicit BothEngines(const program::Program &program,
                       EmulatorOptions options = {})
      : program(program), burst(program, options), wavelet(program, options) {}

  RunResult run(test::VectorHost &host) {
    test::VectorHost burstHost = host, observedHost = host;
    RunResult stepped = wavelet.run(host);
    RunResult moved = burst.run(burstHost);
    EXPECT_EQ(host.outputs, burstHost.outputs);
    EXPECT_EQ(stepped.vectorInstructions, moved.vectorInstructions);
    EXPECT_EQ(stepped.operations, moved.operations);
    EXPECT_EQ(stepped.hostWordsIn, moved.hostWordsIn);
    EXPECT_EQ(stepped.hostWordsOut, moved.hostWordsOut);
    std::printf("cycles: wavelet %.1f, burst %.1f (%+.1f %%)\n", stepped.cycles,
                moved.cycles, 100 * (moved.cycles / stepped.cycles - 1));
    checkCounters(observedHost, host.outputs, stepped.cycles, moved.cycles);
    return moved;
  }

private:
  /// Once more, with somebody who looks on: that changes nothing, and both
  /// engines tell the same.
  template <class Outputs>
  void checkCounters(const test::VectorHost &before, const Outputs &outputs,
                     double stepped, double moved) {
    Counters onBurst(program), onWavelet(program);
    auto count = [&](auto &&engine, Counters &counters, double cycles) {
      test::VectorHost host = before;
      RunResult result = engine.run(host);
      EXPECT_EQ(host.outputs, outputs);
      EXPECT_EQ(result.cycles, cycles);
      test::expectBalanced(counters, result);
    };
    EmulatorOptions options;
    options.observer = &onBurst;
    count(wsec::runtime::Emulator(program, options), onBurst, moved);
    options.observer = &onWavelet;
    count(WaveletEngine(program, options), onWavelet, stepped);
    test::expectAgreement(onBurst, onWavelet);
  }

  const program::Program &program;
  Emulator burst;
  WaveletEngine wavelet;
};

} // namespace wsec::runtime

#define Emulator BothEngines

#endif // TEST_RUNTIME_WAVELET_BOTHENGINES_H
