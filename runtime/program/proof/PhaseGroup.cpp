// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/PhaseGroup.h"

namespace wsec::runtime {

using program::Port;

void PhaseGroup::add(Port direction, const LinkLines &lines) {
  addLines(lines, directions[direction]);
}

/// Words that go along rows alone never leave theirs, so that each row may have
/// a direction of its own; likewise columns. Where some turn from one into the
/// other, ways in opposite directions could close in a circle.
bool PhaseGroup::bothWays(Port one, Port other) const {
  if (!has(one) || !has(other))
    return false;
  const LinkLines &a = directions.at(one), &b = directions.at(other);
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (a[i] & b[i])
      return true;
  return directions.size() > 2;
}

} // namespace wsec::runtime
