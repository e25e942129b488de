// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TEST_RUNTIME_DIFFERENTIAL_CHOICES_H
#define TEST_RUNTIME_DIFFERENTIAL_CHOICES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace wsec::runtime::test {

/// The decisions of a generator, one number after the other: drawn by lot and
/// written down, or given. Any list of numbers makes a program; where a given
/// list ends or holds too large a number, the generator gets a smaller one. So
/// a program is made smaller by making its list smaller, and stays as well
/// formed as all programs of its kind. Generators see to it that 0 is the
/// simplest choice.
class Choices {
public:
  explicit Choices(uint64_t seed) : state(seed) {}
  explicit Choices(std::vector<uint32_t> given)
      : given(std::move(given)), replays(true) {}

  /// A number below `n`.
  uint32_t draw(uint32_t n) {
    uint32_t choice = n < 2 ? 0 : next(n);
    made.push_back(choice);
    return choice;
  }
  /// One number of [low, high], low the simplest.
  int between(int low, int high) {
    return low + int(draw(uint32_t(high - low + 1)));
  }
  /// True once in `n` times.
  bool rarely(uint32_t n) { return draw(n) + 1 == n; }

  const std::vector<uint32_t> &list() const { return made; }

private:
  uint32_t next(uint32_t n) {
    if (replays)
      return made.size() < given.size() ? std::min(given[made.size()], n - 1)
                                        : 0;
    // SplitMix64 (Steele, Lea, Flood 2014): the same everywhere.
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return uint32_t(((z ^ z >> 31) >> 32) * n >> 32);
  }

  uint64_t state = 0;
  std::vector<uint32_t> given, made;
  bool replays = false;
};

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_DIFFERENTIAL_CHOICES_H
