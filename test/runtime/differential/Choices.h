// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TEST_RUNTIME_DIFFERENTIAL_CHOICES_H
#define TEST_RUNTIME_DIFFERENTIAL_CHOICES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace wsec::runtime::test {

/// The decisions of a generator: drawn by lot and written down, or given. They
/// come in sections, each a list of its own: one for the whole, then one for
/// each part. Any lists make a program; where a given list ends or holds too
/// large a number, the generator gets a smaller one. So a program is made
/// smaller by making its lists smaller, and stays as well formed as all
/// programs of its kind. Generators see to it that 0 is the simplest choice.
class Choices {
public:
  using List = std::vector<uint32_t>;
  using Lists = std::vector<List>;

  explicit Choices(uint64_t seed) : state(seed), made(1) {}
  explicit Choices(Lists given)
      : given(std::move(given)), replays(true), made(1) {}

  /// A number below `n`.
  uint32_t draw(uint32_t n) {
    uint32_t choice = n < 2 ? 0 : next(n);
    made[section].push_back(choice);
    return choice;
  }
  /// One number of [low, high], low the simplest.
  int between(int low, int high) {
    return low + int(draw(uint32_t(high - low + 1)));
  }
  /// True once in `n` times.
  bool rarely(uint32_t n) { return draw(n) + 1 == n; }

  /// Goes on with another section, 0 for the whole.
  void enter(size_t other) {
    section = other;
    if (made.size() <= other)
      made.resize(other + 1);
  }
  /// Whether there is a further part: with luck, or if its list is given.
  bool another() {
    return replays ? made.size() < given.size() : random(4) != 0;
  }

  const Lists &lists() const { return made; }

private:
  uint32_t next(uint32_t n) {
    if (!replays)
      return random(n);
    const size_t at = made[section].size();
    return section < given.size() && at < given[section].size()
               ? std::min(given[section][at], n - 1)
               : 0;
  }
  /// SplitMix64 (Steele, Lea, Flood 2014): the same everywhere.
  uint32_t random(uint32_t n) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return uint32_t(((z ^ z >> 31) >> 32) * n >> 32);
  }

  uint64_t state = 0;
  Lists given;
  bool replays = false;
  Lists made;
  size_t section = 0;
};

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_DIFFERENTIAL_CHOICES_H
