// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What must hold of the counters of any run that ends well, and between those
// of two engines.
#ifndef TEST_RUNTIME_OBSERVE_COUNTERSAGREE_H
#define TEST_RUNTIME_OBSERVE_COUNTERSAGREE_H

#include "runtime/observe/Counters.h"
#include "runtime/strips/StripsEngine.h"

#include <gtest/gtest.h>
#include <map>
#include <numeric>

namespace wsec::runtime::test {

inline std::map<std::string, std::vector<double>>
mapsByName(const Counters &counters) {
  std::map<std::string, std::vector<double>> result;
  for (PeMap &map : counters.maps())
    result[map.name] = std::move(map.values);
  return result;
}

inline double total(const std::vector<double> &values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Links lead from one PE to the next: what a PE sends and what comes in from
/// its neighbours is what its router has to work with. `drops`: some PE has a
/// filter, which takes words off its ramp.
inline void expectBalanced(const Counters &counters, const RunResult &result,
                           bool drops = false) {
  auto maps = mapsByName(counters);
  EXPECT_EQ(total(maps["instructions"]), double(result.vectorInstructions));
  if (drops)
    EXPECT_GE(total(maps["link_words_ramp"]), total(maps["words_received"]));
  else
    EXPECT_EQ(maps["link_words_ramp"], maps["words_received"]);
  const int width = counters.width();
  double leaving = 0;
  for (int y = 0; y < counters.height(); ++y)
    leaving += maps["link_words_east"][size_t(y * width + width - 1)];
  EXPECT_EQ(leaving, double(result.hostWordsOut));
  for (const auto &[name, values] : maps)
    for (double value : values)
      EXPECT_GE(value, 0) << name;
}

/// Two engines do the same, each in its own time.
inline void expectAgreement(const Counters &a, const Counters &b) {
  auto left = mapsByName(a), right = mapsByName(b);
  for (const char *name :
       {"instructions", "words_sent", "words_received", "sram_bytes",
        "link_words_north", "link_words_south", "link_words_east",
        "link_words_west", "link_words_ramp"})
    EXPECT_EQ(left[name], right[name]) << name;
}

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_OBSERVE_COUNTERSAGREE_H
