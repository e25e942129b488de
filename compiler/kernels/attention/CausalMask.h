// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hides keys behind each query, in blocks of keys. A PE knows the number of its
// first token only as a scalar, so it counts up to it once per launch:
//
//   number[j] = key j of the block, less what blocks have advanced by
//   limits[v]  = first + v + 1 - (what blocks have advanced by)
//   later[j, v] = limits[v] <= number[j]
//
// Where tokens are dealt to the rows, those of a row are as far apart as there
// are rows, and those of one row begin one behind those of the row before.
//
// What is added is added as often as makes it that, to NaN and infinity, too;
// 0 times minus infinity would be NaN, twice the lowest number is infinity.

#ifndef COMPILER_KERNELS_ATTENTION_CAUSALMASK_H
#define COMPILER_KERNELS_ATTENTION_CAUSALMASK_H

#include "compiler/kernels/code/RoutineBuilder.h"

#include <limits>

namespace wsec {

/// Minus this is a score of no weight, whatever is added to it.
inline constexpr float infinity = std::numeric_limits<float>::infinity();
/// What has no weight beside any other score.
inline constexpr float lowestScore = std::numeric_limits<float>::lowest();

class CausalMask {
public:
  /// Scratch words for `block` keys and at most `channels` queries, beside
  /// `hidden`.
  static int64_t scratchWords(int64_t block, int64_t channels) {
    return block + channels;
  }

  /// `hidden`: a buffer of `block * channels` words for apply() to use.
  CausalMask(RoutineBuilder &builder, const Tile &queries, pe::Affine asked,
             int64_t block, int64_t channels, const std::string &hidden,
             bool isDealt);

  /// Sets the limits, once per launch.
  void prepare();
  /// Numbers the keys of a block: `rows` rows of `tokens`, or `tokensOfLarger`
  /// in the first `larger` rows, of tokens of which a row holds `least` or one
  /// more.
  void numberKeys(int64_t rows, int64_t larger, int64_t least,
                  int64_t tokensOfLarger, int64_t tokens);
  /// Changes the block at hand: later scores, in rows of `channels` words,
  /// become `number`, or it is added to them.
  void replace(const std::string &scores, int64_t keys, float number);
  void add(const std::string &scores, int64_t keys, float number);
  /// `hidden` becomes `number` for later keys, infinity for others.
  void limit(int64_t keys, float number);
  /// The scores at hand are of keys from this one of the block on.
  void startAt(int64_t key) { firstKey = key; }
  /// Goes on to the next block, or with a negative number back.
  void advance(int64_t keys);

private:
  void findLater(int64_t keys);
  pe::Operand rows(const std::string &buffer) const {
    return pe::Operand::memory(buffer, 0, {channels, 1});
  }
  void countUp(const std::string &buffer, int64_t count, int64_t first = 0,
               int64_t size = 1, int64_t step = 1);

  RoutineBuilder &b;
  const Tile &queries;
  pe::Affine asked; ///< own ones that are computed
  int64_t channels, firstKey = 0;
  bool isDealt;
  int64_t apart; ///< tokens of a row
  std::string hidden, number, limits;
};

} // namespace wsec

#endif // COMPILER_KERNELS_ATTENTION_CAUSALMASK_H
