// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/wsec/MicroBatch.h"

#include "gtest/gtest.h"

using wsec::tools::chooseMicroBatch;

namespace {

/// Weights take 100 cycles to stream, a sample 10; there is room for `most`.
uint64_t chosen(uint64_t batch, unsigned systems, uint64_t most) {
  return chooseMicroBatch(batch, systems, /*isQuiet=*/true,
                          [&](uint64_t samples) -> std::optional<double> {
                            if (samples > most)
                              return std::nullopt;
                            return 100 + 10 * double(samples);
                          });
}

} // namespace

TEST(ChooseMicroBatch, AsManyAsFit) {
  EXPECT_EQ(chosen(16, 1, 100), 16u);
  EXPECT_EQ(chosen(16, 1, 5), 4u);
  EXPECT_EQ(chosen(16, 1, 0), 1u); // which is refused where it is compiled
}

TEST(ChooseMicroBatch, TheyDivideTheBatchAndLeaveEachSystemACall) {
  EXPECT_EQ(chosen(12, 1, 100), 4u);
  EXPECT_EQ(chosen(16, 4, 100), 4u);
  EXPECT_EQ(chosen(16, 16, 100), 1u);
}

TEST(ChooseMicroBatch, TheSystemWithTheMostCallsCounts) {
  // Of 12 samples on 5 systems, calls of 1 are 3 in a row, and of 2 they are 2.
  const auto cycles = [](uint64_t samples) -> std::optional<double> {
    return samples == 1 ? 100 : 160; // 80 a sample
  };
  EXPECT_EQ(chooseMicroBatch(12, 5, true, cycles), 1u);
  EXPECT_EQ(chooseMicroBatch(12, 6, true, cycles), 2u);
}
