// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which words of the SRAM each PE of a strip has written, in halves.
#ifndef RUNTIME_STRIPS_WRITTENWORDS_H
#define RUNTIME_STRIPS_WRITTENWORDS_H

#include <algorithm>
#include <array>
#include <bit>
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
  /// Calls `visit(begin, end)` for the halves of [from, to) that a lane has
  /// written, in runs that may touch.
  template <class Visit>
  void forEachRun(int64_t from, int64_t to, int lane, const Visit &visit) {
    for (int64_t at = from; at < to;) {
      const int64_t next = std::min(to, at / 64 * 64 + 64);
      const uint64_t group = writtenBy(at / 64, lane);
      while (at < next) {
        const uint64_t rest = group >> at % 64;
        const int64_t skip = rest ? std::countr_zero(rest) : 64;
        const int64_t begin = std::min(next, at + skip);
        if (begin == next) {
          at = next;
          break;
        }
        const int64_t end =
            std::min(next, begin + std::countr_one(group >> begin % 64));
        visit(begin, end);
        at = end;
      }
    }
  }

private:
  int64_t findMissing(int64_t half, int64_t count, int lane);
  /// The halves of a group of 64 that the lane has written.
  uint64_t writtenBy(int64_t group, int lane);

  struct Release {
    void operator()(uint64_t *memory) const { std::free(memory); }
  };
  int lanes = 0;
  /// Halves that all lanes were found to have written, the last in turns.
  struct Range {
    int64_t from = 0, to = 0;
  };
  std::array<Range, 8> known;
  size_t turn = 0, last = 0;      ///< of `known`; the last that was found
  std::vector<uint64_t> together; ///< by group of 64 halves
  /// By group and lane; zero pages that take no memory until they are used.
  std::unique_ptr<uint64_t[], Release> alone;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_WRITTENWORDS_H
