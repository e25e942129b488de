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

  /// In words of SRAM.
  static constexpr int64_t bufferWords = 512, mostWords = 6144;
  /// Each has code of its own.
  static constexpr int64_t mostPasses = 4;

  int64_t words(const EntryProduct &of) const {
    return of.tokens * (ownInputs + rowFeatures + 1 +
                        std::min(rowFeatures, ownResults)) +
           of.entries * std::min(2 * turn, rowFeatures) * ownInputs;
  }

  /// As few as have room; none: it cannot run so.
  static std::optional<EntryPasses> of(const EntryProduct &product) {
    EntryPasses its;
    for (int64_t passes = 1; passes <= mostPasses; ++passes)
      for (its.depths = 1; its.depths <= passes; ++its.depths) {
        its.parts = passes / its.depths;
        if (its.parts * its.depths != passes ||
            product.results % its.parts != 0 ||
            (its.depths > 1 &&
             (!product.areColumnsEven ||
              product.inputs % (product.columns * its.depths) != 0)))
          continue;
        const int64_t results = product.results / its.parts;
        its.rowFeatures = tileSizeMax(results, product.rows);
        its.ownInputs = product.ownInputs / its.depths;
        its.ownResults = std::min(product.ownResults, results);
        its.turn = std::clamp<int64_t>(
            bufferWords /
                (product.entries * std::max<int64_t>(1, its.ownInputs)),
            1, its.rowFeatures);
        if (its.words(product) <= mostWords)
          return its;
      }
    return std::nullopt;
  }
};

} // namespace wsec

#endif // COMPILER_MACHINE_ENTRYPASSES_H
