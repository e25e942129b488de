// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much of the mesh a model should use. Large regions compute faster, small
// ones have shorter rows to exchange along, fewer columns to feed, and are
// reached sooner; tall ones have more I/O channels.

#ifndef WSEC_COMPILER_SELECT_REGIONCHOOSER_H
#define WSEC_COMPILER_SELECT_REGIONCHOOSER_H

#include "dialects/wse/Wse.h"

namespace wsec::select {

struct RegionShape {
  int64_t columns = 0, rows = 0;
  /// Whether each head has as many columns as there are for it, or one.
  bool spreadHeads = false;
  bool operator==(const RegionShape &other) const {
    return columns == other.columns && rows == other.rows &&
           spreadHeads == other.spreadHeads;
  }
};

struct RegionChoice {
  RegionShape shape;
  /// What was compared, the best first: candidatesAttrName.
  mlir::ArrayAttr candidates;
};

/// The shape with the fewest predicted cycles, then the fewest PEs, among those
/// whose SRAM holds the tensors. `program` has all kernels on the whole mesh;
/// other shapes are told from it, without selecting anew.
RegionChoice chooseRegion(wse::ProgramOp program);

/// `shape` with the heads of a program selected for it as they cost least.
RegionShape chooseHeads(wse::ProgramOp program, RegionShape shape);

/// Gives the values of a program selected for `shape` its heads.
void spreadHeads(wse::ProgramOp program, RegionShape shape);

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_REGIONCHOOSER_H
