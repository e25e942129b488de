// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hides keys behind each query, in blocks of keys. A PE knows the number of its
// first token only as a scalar, so it counts up to it once per launch:
//
//   number[j] = key j of the block, less what blocks have advanced by
//   limit[v]  = first + v + 1 - (what blocks have advanced by)
//   scores[j, v] = limit[v] <= number[j] ? lowest : scores[j, v]
//
// or, where it is strict, minus infinity instead of the lowest number. What is
// added is added as many times as makes it that: to NaN, and to infinity, too.
//
//   scores[j, v] += (limit[v] <= number[j]) * lowest
//
// Beside a bias, which may hide, too, the lowest number is not added twice:
//
//   scores[j, v] += min(bias[j, v], limit[v] <= number[j] ? lowest : infinity)

#ifndef COMPILER_KERNELS_CAUSALMASK_H
#define COMPILER_KERNELS_CAUSALMASK_H

#include "compiler/kernels/RoutineBuilder.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace wsec {

class CausalMask {
public:
  /// Scratch words for `block` keys and at most `channels` queries, beside
  /// `hidden`.
  static int64_t scratchWords(int64_t block, int64_t channels) {
    return block + channels;
  }

  /// `hidden`: a buffer of `block * channels` words for apply() to use.
  CausalMask(RoutineBuilder &builder, const Tile &queries, int64_t block,
             int64_t channels, const std::string &hidden, wse::AttentionOp op);

  /// Sets the limits, once per launch.
  void prepare();
  /// Numbers the keys of a block: `rows` rows of `tokens`, or `tokensOfLarger`
  /// in the first `larger` rows, of tokens of which a row holds `least` or one
  /// more.
  void numberKeys(int64_t rows, int64_t larger, int64_t least,
                  int64_t tokensOfLarger, int64_t tokens);
  /// Hides keys of the block at hand in `scores`, rows of `channels` words.
  /// `lower` takes the lesser of what is in a buffer of as many, infinity where
  /// keys are seen, and a bias; the result is added.
  void apply(const std::string &scores, int64_t keys,
             llvm::function_ref<void(const std::string &)> lower = nullptr);
  /// Goes on to the next block, or with a negative number back.
  void advance(int64_t keys);

private:
  void countUp(const std::string &buffer, int64_t count, int64_t first = 0,
               int64_t size = 1, int64_t step = 1);

  RoutineBuilder &b;
  const Tile &queries;
  int64_t channels;
  const bool isStrict, isAdded;
  std::string hidden, number, limit;
};

} // namespace wsec

#endif // COMPILER_KERNELS_CAUSALMASK_H
