// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs of every kind on both engines: the same bits, instructions
// and error classes, always; the same cycles, but for the measured exceptions.
#include "test/runtime/differential/Campaign.h"

#include <gtest/gtest.h>

namespace wsec::runtime::test {
namespace {

/// How far the cycles of streams or strips may be off.
struct Band {
  const char *kind;
  uint64_t count;
  double beyond;      ///< most programs outside the tolerance, a part of all
  double least, most; ///< of any program
  double low, high;   ///< of nineteen in twenty programs, on either side
};

class DifferentialTest : public testing::TestWithParam<Band> {};

TEST_P(DifferentialTest, EnginesAgree) {
  const Band &band = GetParam();
  Campaign campaign;
  ASSERT_TRUE(campaign.setKind(band.kind));
  campaign.first = 1;
  campaign.count = band.count;
  campaign.tries = 500;
  const Tally tally = campaign.run();
  std::fputs(tally.describe().c_str(), stdout);
  for (const Tally::Disagreement &its : tally.disagreements)
    ADD_FAILURE() << its.text;
  ASSERT_FALSE(tally.offBy.empty());
  auto at = [&](double part) {
    return tally.offBy[size_t(part * double(tally.offBy.size() - 1))].first;
  };
  EXPECT_LE(double(tally.slow.size()), band.beyond * double(band.count));
  EXPECT_GE(at(0), band.least);
  EXPECT_LE(at(1), band.most);
  EXPECT_GE(at(0.05), band.low);
  EXPECT_LE(at(0.95), band.high);
}

// Streams runs programs of both kinds; strips, which runs those with command
// wavelets on large meshes, lets links carry two colors at once and knows no
// full queues.
INSTANTIATE_TEST_SUITE_P(
    RandomPrograms, DifferentialTest,
    testing::Values(Band{"well-formed", 3000, 0, -0.02, 0.03, -0.001, 0.001},
                    Band{"broken", 3200, 0, -0.02, 0.03, -0.001, 0.001},
                    Band{"commands", 800, 0, -0.001, 0.001, -0.0001, 0.0001},
                    Band{"broken-commands", 800, 0, -0.001, 0.001, -0.0001,
                         0.0001},
                    Band{"strips", 1500, 0.22, -0.4, 0.2, -0.13, 0.05},
                    Band{"broken-strips", 1500, 0.22, -0.4, 0.2, -0.13, 0.05}),
    [](const testing::TestParamInfo<Band> &info) {
      std::string name = info.param.kind;
      for (char &c : name)
        c = c == '-' ? '_' : c;
      return name;
    });

} // namespace
} // namespace wsec::runtime::test
