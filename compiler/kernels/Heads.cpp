// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/Heads.h"

using namespace mlir;
using namespace wsec;

Value wsec::wholeHeads(Value value, int64_t heads, Operation *op,
                       Selection &selection, int64_t repeat) {
  Value tensor = selection.onWafer(value, op);
  if (!tensor)
    return {};
  int64_t headSize = wse::featuresOf(tensor) / heads;
  wse::TokenTiling tiling = tilingOf(tensor);
  if (tiling.getBatch() != shapeOf(value)[0]) {
    tiling = selection.defaultTiling(shapeOf(value))
                 .withColumns(wse::ColumnPlacement::Heads, headSize);
    tensor = selection.bring(value, shapeOf(value), tiling, op);
    if (!tensor)
      return {};
  }
  if (tiling.holdsHeads(headSize) && repeat == 1)
    return tensor;
  return selection.redistribute(tensor, wse::ColumnPlacement::Heads, headSize,
                                op, repeat);
}
