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

Layout Layout::of(RankedTensorType type) {
  auto tiled = cast<wse::TiledAttr>(type.getEncoding());
  Layout layout;
  layout.batch = tiled.getBatch();
  layout.tokens = tiled.getTokens();
  layout.replicatedRows = tiled.getRows() == wse::RowPlacement::Replicated;
  layout.group = tiled.getGroup();
  layout.span = tiled.rowsUsed();
  int64_t features = type.getShape().back();
  switch (tiled.getColumns()) {
  case wse::ColumnPlacement::Balanced:
    layout.features = {features, 1, false};
    break;
  case wse::ColumnPlacement::Heads:
    layout.features = {features / tiled.getHeadSize(), tiled.getHeadSize(),
                       false, tiled.getHeadColumns()};
    break;
  case wse::ColumnPlacement::Replicated:
    layout.features = {features, 1, true};
    break;
  }
  return layout;
}

Layout Layout::of(Value value) {
  return of(cast<RankedTensorType>(value.getType()));
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

int64_t Layout::pitch(int64_t height) const {
  if (group == 0)
    return tileSizeMax(batch, height) * tokens;
  return replicatedRows ? tokens : tileSizeMax(tokens, span);
}

} // namespace wsec
