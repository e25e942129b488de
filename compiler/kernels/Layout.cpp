// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/Layout.h"

#include "compiler/machine/Tiling.h"
#include "dialects/wse/Wse.h"

using namespace mlir;

namespace wsec {

int64_t FeatureTiling::before(int64_t column, int64_t width) const {
  if (replicated)
    return column * (total() + extra);
  if (columns == 1)
    return spreadStart(units, width, column) * unitSize * words +
           column * extra;
  int64_t start = column / columns * unitSize +
                  spreadStart(unitSize, columns, column % columns);
  return std::min(total(), start * words) + column * extra;
}

std::array<FeatureTiling::Sizes, 3>
FeatureTiling::sizes(int64_t begin, int64_t end, int64_t width) const {
  if (replicated)
    return {Sizes{total() + extra, end - begin}};
  // A unit in each column, or each unit spread over some; behind the last unit
  // columns are empty.
  const int64_t parts = columns == 1 ? width : columns;
  const int64_t each = columns == 1 ? units : unitSize;
  const int64_t feature = columns == 1 ? unitSize * words : words;
  const int64_t used = columns == 1 ? width : units * columns;
  auto larger = [&](int64_t column) {
    return column / parts * (each % parts) +
           column % parts * (each % parts) / parts;
  };
  const int64_t first = std::min(begin, used), last = std::min(end, used);
  const int64_t large = larger(last) - larger(first);
  const int64_t least = each / parts;
  return {Sizes{(least + 1) * feature + extra, large},
          Sizes{least * feature + extra, last - first - large},
          Sizes{extra, end - begin - (last - first)}};
}

int64_t FeatureTiling::largest(int64_t width) const {
  if (replicated)
    return total() + extra;
  return words * (columns == 1 ? tileSizeMax(units, width) * unitSize
                               : tileSizeMax(unitSize, columns)) +
         extra;
}

bool FeatureTiling::everywhere(int64_t width) const {
  return replicated ||
         (columns == 1 ? units >= width : units * columns == width);
}

std::optional<FeatureTiling> FeatureTiling::inPairs(int64_t width) const {
  FeatureTiling pairs = *this;
  if (words != 1 || extra != 0)
    return std::nullopt;
  if (unitSize % (replicated ? 2 : 2 * columns) == 0)
    pairs.unitSize /= 2;
  else if (columns == 1 && units % (replicated ? 2 : 2 * width) == 0)
    pairs.units /= 2;
  else
    return std::nullopt;
  return pairs;
}

// A column with one feature more than others has as many words, or one more:
// the words are tiled as features are.
std::optional<FeatureTiling>
FeatureTiling::inPairsAndTails(int64_t width) const {
  if (std::optional<FeatureTiling> even = inPairs(width))
    return even;
  if (words != 1 || extra != 0 || (columns == 1 && unitSize != 1))
    return std::nullopt;
  FeatureTiling pairs = *this;
  auto wordsOver = [](int64_t features, int64_t columns) {
    const int64_t least = features / columns, larger = features % columns;
    return least % 2 == 0 ? least / 2 * columns + larger
                          : (least + 1) / 2 * columns;
  };
  if (columns > 1)
    pairs.unitSize = wordsOver(unitSize, columns);
  else
    pairs.units = replicated ? (units + 1) / 2 : wordsOver(units, width);
  return pairs;
}

Layout Layout::of(RankedTensorType type, int64_t height) {
  const auto tiled = wse::TokenTiling::of(type);
  Layout layout;
  layout.batch = tiled.getBatch();
  layout.tokens = tiled.getTokens();
  layout.replicatedRows = !tiled.splitsRows();
  layout.cyclic = tiled.isCyclic();
  layout.group = tiled.group(height);
  layout.span = tiled.rowsUsed(height);
  layout.features = {type.getShape().back() / tiled.getHeadSize(),
                     tiled.getHeadSize(),
                     tiled.getColumns() == wse::ColumnPlacement::Replicated,
                     tiled.getHeadColumns()};
  return layout;
}

Layout Layout::of(Value value, int64_t height) {
  return of(cast<RankedTensorType>(value.getType()), height);
}

RowSet Layout::rows(int64_t height) const {
  return group == 0 ? RowSet{height, 1, 1} : RowSet{batch, group, span};
}

RowSet Layout::columnRows(int64_t height) const {
  RowSet set = rows(height);
  if (set.used < set.pitch)
    return set;
  int64_t all = set.groups * set.pitch;
  return {1, all, all};
}

std::optional<Layout> Layout::inPairs(Pairing along, int64_t width,
                                      int64_t height) const {
  Layout pairs = *this;
  if (along == Pairing::Channels) {
    const int64_t rows = group == 0 || replicatedRows ? 1 : span;
    if (tokens % (2 * rows) != 0 || cyclic)
      return std::nullopt;
    pairs.tokens /= 2;
    return pairs;
  }
  std::optional<FeatureTiling> tiling = along == Pairing::Tails
                                            ? features.inPairsAndTails(width)
                                            : features.inPairs(width);
  if (along == Pairing::None || pitch(height) != 1 || !tiling)
    return std::nullopt;
  pairs.features = *tiling;
  return pairs;
}

int64_t Layout::pitch(int64_t height) const {
  if (group == 0)
    return tileSizeMax(batch, height) * tokens;
  return replicatedRows ? tokens : tileSizeMax(tokens, span);
}

} // namespace wsec
