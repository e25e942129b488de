// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs of every kind. Of those that strips runs both engines give
// the same bits, instructions and error classes, always, and the same cycles,
// but for the measured exceptions. Of all others wavelet gives what it has
// given when a second engine, which moved words far ahead, agreed with it on
// every bit and cycle.
#include "test/runtime/differential/Campaign.h"

#include <gtest/gtest.h>

namespace wsec::runtime::test {
namespace {

/// What wavelet gives, and how far the cycles of strips may be off.
struct Band {
  const char *kind;
  uint64_t count;
  uint64_t digest;    ///< of what wavelet gives, cycles too
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
  EXPECT_EQ(tally.digest, band.digest);
  EXPECT_LE(double(tally.slow.size()), band.beyond * double(band.count));
  EXPECT_GE(at(0), band.least);
  EXPECT_LE(at(1), band.most);
  EXPECT_GE(at(0.05), band.low);
  EXPECT_LE(at(0.95), band.high);
}

// Strips runs programs with command wavelets. It lets links carry two colors at
// once.
INSTANTIATE_TEST_SUITE_P(
    RandomPrograms, DifferentialTest,
    testing::Values(
        Band{"well-formed", 3000, 0xfa9477b7c6b530e8, 0, 0, 0, 0, 0},
        Band{"broken", 3200, 0x271f66d8794ae36f, 0, 0, 0, 0, 0},
        Band{"commands", 800, 0xc59015ffafbf7894, 0, 0, 0, 0, 0},
        Band{"broken-commands", 800, 0xaa1b7304c198ae88, 0, 0, 0, 0, 0},
        Band{"strips", 1500, 0xc7d5126bb4068d32, 0.22, -0.4, 0.2, -0.13, 0.05},
        Band{"broken-strips", 1500, 0x36e00518ca2c0c4f, 0.22, -0.4, 0.2, -0.13,
             0.05}),
    [](const testing::TestParamInfo<Band> &info) {
      std::string name = info.param.kind;
      for (char &c : name)
        c = c == '-' ? '_' : c;
      return name;
    });

} // namespace
} // namespace wsec::runtime::test
