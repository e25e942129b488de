// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hides keys behind each query, in blocks of keys. A PE knows the number of its
// first token only as a scalar, so it counts up to it once per launch:
//
//   number[j] = j                      key of the block
//   limit[v]  = first + v + 1 - (keys of earlier blocks)
//   scores[j, v] = limit[v] <= number[j] ? lowest : scores[j, v]

#ifndef COMPILER_KERNELS_CAUSALMASK_H
#define COMPILER_KERNELS_CAUSALMASK_H

#include "compiler/kernels/RoutineBuilder.h"

namespace wsec {

class CausalMask {
public:
  /// Scratch words for `block` keys and at most `lanes` queries.
  static int64_t scratchWords(int64_t block, int64_t lanes) {
    return block * lanes + block + lanes;
  }

  CausalMask(RoutineBuilder &builder, const Tile &queries, int64_t block,
             int64_t lanes);

  /// Counts, once per launch.
  void prepare();
  /// Hides keys of the block at hand in `scores`, rows of `lanes` words.
  void apply(const std::string &scores, int64_t keys);
  /// Goes on to the next block, or with a negative number back.
  void advance(int64_t keys);

private:
  void countUp(const std::string &buffer, int64_t count);

  RoutineBuilder &b;
  const Tile &queries;
  int64_t block, lanes;
  std::string hidden, number, limit;
};

} // namespace wsec

#endif // COMPILER_KERNELS_CAUSALMASK_H
