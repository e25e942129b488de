// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which words of the SRAM each PE of a strip has written, in halves.
#ifndef RUNTIME_STRIPS_WRITTENWORDS_H
#define RUNTIME_STRIPS_WRITTENWORDS_H

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace wsec::runtime {

/// A bit per half of a word for what all lanes wrote together, and a bit per
/// half and lane for what lanes wrote by themselves.
class WrittenWords {
public:
  /// `lane` of what all lanes do.
  static constexpr int everyLane = -1;

  /// Halves [0, halves) of `lanes` lanes, none of them written.
  void reset(int64_t halves, int lanes);
  /// The first of `count` halves from `half` on that the lane (or some lane, of
  /// everyLane) has not written; half + count if there is none.
  int64_t firstMissing(int64_t half, int64_t count, int lane);
  void mark(int64_t half, int64_t count, int lane);

private:
  int64_t findMissing(int64_t half, int64_t count, int lane);
  /// Of a group of 64 halves, those that the lane has written.
  uint64_t writtenBy(int64_t group, int lane);

  struct Release {
    void operator()(uint64_t *memory) const { std::free(memory); }
  };
  int lanes = 0;
  /// Halves that all lanes were found to have written, the last in turns.
  struct Range {
    int64_t from = 0, to = 0;
  };
  std::array<Range, 4> known;
  size_t turn = 0;
  std::vector<uint64_t> together; ///< by group of 64 halves
  /// By group and lane; zero pages that take no memory until they are used.
  std::unique_ptr<uint64_t[], Release> alone;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_WRITTENWORDS_H
