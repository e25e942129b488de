// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States of numbers of 8 bits. Of each token and head the features that a PE
// holds have a scale, in another state: they are multiples of its 127th part.
// Two are an element of i16, one of the first half of them and one of the
// second; of five features x0 .. x4 these are x3:x0, x4:x1 and 0:x2.
#ifndef DIALECTS_WSE_STATEBYTES_H
#define DIALECTS_WSE_STATEBYTES_H

#include "compiler/machine/Tiling.h"
#include "dialects/wse/Wse.h"

namespace wsec::wse {

/// The attribute of a state of i16 that names the state of its scales.
inline constexpr llvm::StringLiteral scalesAttrName = "wse.scales";

/// The state of the scales of `state`; null where it has none.
inline StateOp scalesOf(StateOp state) {
  auto name = state->getAttrOfType<mlir::FlatSymbolRefAttr>(scalesAttrName);
  return name ? mlir::SymbolTable::lookupNearestSymbolFrom<StateOp>(state, name)
              : StateOp();
}

/// A tiling of heads of so many features over as many columns.
inline TokenTiling withHeadSize(TokenTiling tiling, int64_t size) {
  return tiling.withColumns(ColumnPlacement::Heads, size)
      .withHeadColumns(tiling.getHeadColumns());
}
/// The tiling of a state of floats, once it holds numbers of 8 bits.
inline TokenTiling inBytes(TokenTiling floats) {
  const int64_t columns = floats.getHeadColumns();
  const int64_t most = tileSizeMax(floats.getHeadSize(), columns);
  return withHeadSize(floats, columns * tileSizeMax(most, 2));
}
/// The tiling of the scales of a state: a column has one for each of its heads.
inline TokenTiling ofScales(TokenTiling state) {
  return withHeadSize(state, state.getHeadColumns());
}

} // namespace wsec::wse

#endif // DIALECTS_WSE_STATEBYTES_H
