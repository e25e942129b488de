// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/check/Extents.h"

namespace wsec::runtime {

std::string extentsProblem(const int64_t *extents, int count) {
  std::string text;
  for (int d = 0; d < count; ++d) {
    if (extents[d] < 0)
      return "has a negative extent " + std::to_string(extents[d]);
    text += (d ? " x " : "") + std::to_string(extents[d]);
  }
  return "has " + text + " elements, an instruction has at most " +
         std::to_string(largestInstruction) + "; put it into a loop";
}

} // namespace wsec::runtime
