// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/AxisKinds.h"

#include <algorithm>
#include <utility>

namespace wsec::runtime {

AxisKinds bothKinds(const AxisKinds &a, const AxisKinds &b) {
  if (a.count() <= 1)
    return b;
  if (b.count() <= 1)
    return a;
  if (a.count() < b.count())
    return bothKinds(b, a);
  AxisKinds kinds;
  // For each kind of a, those of b it is met with: one or two as a rule.
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> met(a.count());
  for (size_t i = 0; i < a.of.size(); ++i) {
    auto &list = met[a.of[i]];
    auto at = std::find_if(list.begin(), list.end(), [&](const auto &entry) {
      return entry.first == b.of[i];
    });
    if (at == list.end())
      at = list.insert(list.end(), {b.of[i], uint32_t(kinds.count())});
    kinds.add(at->second);
  }
  return kinds;
}

} // namespace wsec::runtime
