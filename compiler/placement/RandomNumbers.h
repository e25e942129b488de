// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_PLACEMENT_RANDOMNUMBERS_H
#define WSEC_COMPILER_PLACEMENT_RANDOMNUMBERS_H

#include <cstddef>
#include <cstdint>

namespace wsec {

/// splitmix64: the same numbers on every machine.
class RandomNumbers {
public:
  explicit RandomNumbers(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  /// In [0, bound).
  int32_t below(size_t bound) {
    return int32_t(((next() >> 32) * uint64_t(bound)) >> 32);
  }

private:
  uint64_t state;
};

} // namespace wsec

#endif // WSEC_COMPILER_PLACEMENT_RANDOMNUMBERS_H
