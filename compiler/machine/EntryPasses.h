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
#include <vector>

namespace wsec {

struct EntryProduct {
  int64_t tokens, entries, inputs, results;
  int64_t columns, rows; ///< of PEs, these with a channel
  bool areColumnsEven;   ///< whether inputs can be taken apart in columns
  int64_t ownInputs, ownResults; ///< most of a column
};

/// Sums are there for one part of the results, activations for one depth at a
/// time, weights for one turn; a part has all depths. Where each column's
/// results are of one row, a part has some of every row's, and so of every
/// column's that can be, which then take them side by side; else it has
/// neighbours.
struct EntryPasses {
  int64_t parts = 1, depths = 1;
  int64_t rowFeatures = 0; ///< most result features of a row in a part
  int64_t ownInputs = 0, ownResults = 0;
  int64_t turn = 0; ///< result features whose weights a buffer holds
  bool ofEachRow = false;

  /// Words of SRAM that a product may take.
  static constexpr int64_t mostWords = 6144;
  /// Parts have code of their own, depths share it.
  static constexpr int64_t mostParts = 8, mostDepths = 32;

  int64_t words(const EntryProduct &of) const {
    return of.tokens * (ownInputs + rowFeatures + 1) +
           of.entries * turn * ownInputs;
  }

  /// All that have room; none: it cannot run so.
  static std::vector<EntryPasses> of(const EntryProduct &product) {
    std::vector<EntryPasses> found;
    for (int64_t parts = 1; parts <= mostParts; ++parts)
      for (int64_t depths = 1; depths <= mostDepths; ++depths)
        if (EntryPasses its{parts, depths}; its.canBe(product))
          for (int64_t turns = 1, last = 0; last != 1;
               turns += (turns + 7) / 8) {
            its.turn = (its.rowFeatures + turns - 1) / turns;
            if (its.turn != last && its.words(product) <= mostWords)
              found.push_back(its);
            last = its.turn;
          }
    return found;
  }

  static bool fits(const EntryProduct &product) { return !of(product).empty(); }

private:
  /// Whether the product can be taken apart so; sets all else but the turn.
  bool canBe(const EntryProduct &product) {
    if (product.inputs < 2 * depths || product.results == 0 ||
        product.results % parts != 0 ||
        (depths > 1 && (!product.areColumnsEven ||
                        product.inputs % (product.columns * depths) != 0)))
      return false;
    const int64_t results = product.results / parts;
    rowFeatures = tileSizeMax(results, product.rows);
    ownInputs = product.ownInputs / depths;
    const int64_t own = product.ownResults, ofRow = rowFeatures * parts;
    ofEachRow = own * product.columns == product.results &&
                ofRow * product.rows == product.results && ofRow % own == 0;
    ownResults = std::min(own, ofEachRow ? rowFeatures : results);
    return true;
  }
};

} // namespace wsec

#endif // COMPILER_MACHINE_ENTRYPASSES_H
