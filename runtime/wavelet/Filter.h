// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_WAVELET_FILTER_H
#define RUNTIME_WAVELET_FILTER_H

#include "runtime/program/program_generated.h"
#include "runtime/wavelet/Wavelet.h"

namespace wsec::runtime::wavelet {

/// Lets some wavelets of a color up the ramp of a PE.
class Filter {
public:
  Filter(program::FilterKind kind, int64_t min, int64_t max, int64_t limit)
      : kind(kind), min(min), max(max), limit(limit), count(min) {}

  /// Whether this wavelet passes; counts it.
  bool pass(const Wavelet &wavelet) {
    if (kind == program::FilterKind::Range) {
      const int64_t index = wavelet.payload >> 16;
      return min <= index && index <= max;
    }
    const bool passes = count <= max;
    count = count >= limit ? 0 : count + 1;
    return passes;
  }

private:
  program::FilterKind kind;
  int64_t min, max, limit;
  int64_t count;
};

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_FILTER_H
