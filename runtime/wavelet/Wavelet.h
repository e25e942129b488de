// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What travels over the fabric.
#ifndef RUNTIME_WAVELET_WAVELET_H
#define RUNTIME_WAVELET_WAVELET_H

#include <bit>
#include <cstdint>

namespace wsec::runtime::wavelet {

/// Cycles since the start of the run.
using Cycle = int64_t;

/// A wavelet and the cycle from which on whoever is next may take it.
struct Wavelet {
  Cycle ready = 0;
  uint32_t payload = 0;
  uint32_t commands = 0; ///< of a control wavelet: 4 bits each, the next lowest
  int16_t task = -1;     ///< of a control wavelet: control task to start
  uint8_t form = 0;      ///< how elements are packed, to find mismatches
  bool control = false;
  /// How often the sender's own switch advances once this has passed.
  uint8_t advances = 0;

  float number() const { return std::bit_cast<float>(payload); }
  static Wavelet word(Cycle ready, float value) {
    return {ready, std::bit_cast<uint32_t>(value)};
  }
};

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_WAVELET_H
