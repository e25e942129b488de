// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_CHECK_EXTENTS_H
#define RUNTIME_PROGRAM_CHECK_EXTENTS_H

#include <cstdint>
#include <string>

namespace wsec::runtime {

/// Elements of one instruction, and words of one of its windows: more than a
/// PE computes in a second.
inline constexpr int64_t largestInstruction = int64_t(1) << 31;

/// Whether no extent is negative and their product, zeros counted as ones, is
/// small enough for sums and products of it to be computed freely.
inline bool usableExtents(const int64_t *extents, int count) {
  int64_t product = 1;
  for (int d = 0; d < count; ++d) {
    if (extents[d] < 0 || extents[d] > largestInstruction)
      return false;
    product *= extents[d] > 0 ? extents[d] : 1;
    if (product > largestInstruction)
      return false;
  }
  return true;
}

/// Why they are not usable.
std::string extentsProblem(const int64_t *extents, int count);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CHECK_EXTENTS_H
