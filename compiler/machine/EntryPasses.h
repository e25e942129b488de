// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a product is taken apart of which each token has a matrix of its own, out
// of several that stream past once: what a PE of a row with a channel holds
// meanwhile has to have room.

#ifndef COMPILER_MACHINE_ENTRYPASSES_H
#define COMPILER_MACHINE_ENTRYPASSES_H

#include "compiler/machine/Tiling.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace wsec {

struct EntryProduct {
  int64_t tokens, entries, inputs, results;
  int64_t columns, rows; ///< of PEs, these with a channel
  bool areColumnsEven;   ///< whether inputs can be taken apart in columns
  int64_t ownInputs, ownResults; ///< most of a column
};

/// Activations are there for one depth at a time, sums for one part of the
/// results; a pass is one of both.
struct EntryPasses {
  int64_t parts = 1, depths = 1;
  int64_t rowFeatures = 0; ///< most result features of a row in a pass
  int64_t ownInputs = 0, ownResults = 0;
  int64_t turn = 0; ///< result features whose weights a buffer holds

  /// Words of SRAM that a product may take: few, if more passes make these do,
  /// for code of other kernels needs room, too.
  static constexpr int64_t bufferWords = 512, fewWords = 4096, mostWords = 6144;
  /// Passes at most, each of which has code of its own.
  static constexpr int64_t mostPasses = 8;

  int64_t words(const EntryProduct &of) const {
    return of.tokens * (ownInputs + rowFeatures + 1) +
           of.entries * turn * ownInputs;
  }

  /// The fewest passes that have room; none: it cannot run so.
  static std::optional<EntryPasses> of(const EntryProduct &product) {
    for (int64_t room : {fewWords, mostWords})
      for (int64_t passes = 1; passes <= mostPasses; ++passes)
        for (int64_t depths = 1; depths <= passes; ++depths)
          if (EntryPasses its{passes / depths, depths};
              its.parts * depths == passes && its.canBe(product, room))
            return its;
    return std::nullopt;
  }

private:
  /// Whether the product can be taken apart so; then all else is set.
  bool canBe(const EntryProduct &product, int64_t room) {
    if (product.inputs < 2 * depths || product.results % parts != 0 ||
        (depths > 1 && (!product.areColumnsEven ||
                        product.inputs % (product.columns * depths) != 0)))
      return false;
    const int64_t results = product.results / parts;
    rowFeatures = tileSizeMax(results, product.rows);
    ownInputs = product.ownInputs / depths;
    ownResults = std::min(product.ownResults, results);
    turn = std::clamp<int64_t>(
        bufferWords / (product.entries * std::max<int64_t>(1, ownInputs)), 1,
        rowFeatures);
    return words(product) <= room;
  }
};

} // namespace wsec

#endif // COMPILER_MACHINE_ENTRYPASSES_H
