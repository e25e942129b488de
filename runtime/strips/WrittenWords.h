// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which words of the SRAM each PE of a strip has written.
#ifndef RUNTIME_STRIPS_WRITTENWORDS_H
#define RUNTIME_STRIPS_WRITTENWORDS_H

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace wsec::runtime {

/// A bit per word for what all lanes wrote together, and a bit per word and
/// lane for what lanes wrote by themselves.
class WrittenWords {
public:
  /// `lane` of what all lanes do.
  static constexpr int everyLane = -1;

  /// Words [0, words) of `lanes` lanes, none of them written.
  void reset(int64_t words, int lanes);
  /// The first of `count` words from `word` on that the lane (or some lane, of
  /// everyLane) has not written; word + count if there is none.
  int64_t firstMissing(int64_t word, int64_t count, int lane);
  void mark(int64_t word, int64_t count, int lane);

private:
  /// Of a group of 64 words, those that the lane has written.
  uint64_t writtenBy(int64_t group, int lane);

  struct Release {
    void operator()(uint64_t *memory) const { std::free(memory); }
  };
  int lanes = 0;
  std::vector<uint64_t> together; ///< by group of 64 words
  /// By group and lane; zero pages that take no memory until they are used.
  std::unique_ptr<uint64_t[], Release> alone;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_WRITTENWORDS_H
