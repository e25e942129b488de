// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PE_FILTER_H
#define RUNTIME_PE_FILTER_H

#include "runtime/pe/Code.h"
#include "runtime/pe/Coordinate.h"

#include <optional>

namespace wsec::runtime::pe {

/// Lets some wavelets of a color up the ramp of a PE.
class Filter {
public:
  Filter(program::FilterKind kind, int64_t min, int64_t max, int64_t limit)
      : kind(kind), min(min), max(max), limit(limit), count(min) {}

  /// Whether a wavelet passes; counts it.
  bool pass(uint32_t payload) {
    if (kind == program::FilterKind::Range)
      return min <= int64_t(payload >> 16) && int64_t(payload >> 16) <= max;
    const bool passes = count <= max;
    count = count >= limit ? 0 : count + 1;
    return passes;
  }

private:
  program::FilterKind kind;
  int64_t min, max, limit;
  int64_t count;
};

/// What filters a color at the ramp of a PE of a class.
std::optional<Filter> filterOf(const ClassCode &code, int color, Coordinate pe);

} // namespace wsec::runtime::pe

#endif // RUNTIME_PE_FILTER_H
