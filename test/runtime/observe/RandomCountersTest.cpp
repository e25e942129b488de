// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The random programs of test/runtime/differential, watched: what the counters
// of one engine say must balance, and be what those of the other say.
#include "runtime/streams/StreamsEngine.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/differential/RandomProgram.h"
#include "test/runtime/observe/CountersAgree.h"

#include <gtest/gtest.h>

namespace wsec::runtime::test {
namespace {

bool hasFilters(const program::Program &program) {
  for (const program::PEClass *its : *program.classes())
    if (its->filters() && its->filters()->size() > 0)
      return true;
  return false;
}

template <class Engine>
RunResult runWatched(const program::Program &program, TensorHost host,
                     Counters &counters) {
  EngineOptions options;
  options.observer = &counters;
  const RunResult result = Engine(program, options).run(host);
  expectBalanced(counters, result, hasFilters(program));
  return result;
}

TEST(RandomCountersTest, EnginesCountTheSame) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("RandomPrograms --kind=well-formed --count=1 --seed=" +
                 std::to_string(seed));
    Choices choices(seed);
    RandomProgram random = randomProgram(choices);
    const program::Program &program = random.finish();
    Counters onStreams(program), onWavelet(program);
    const RunResult streams =
        runWatched<StreamsEngine>(program, random.host(), onStreams);
    const RunResult wavelet =
        runWatched<WaveletEngine>(program, random.host(), onWavelet);
    EXPECT_EQ(streams.vectorInstructions, wavelet.vectorInstructions);
    expectAgreement(onStreams, onWavelet);
    if (HasFailure())
      return;
  }
}

} // namespace
} // namespace wsec::runtime::test
