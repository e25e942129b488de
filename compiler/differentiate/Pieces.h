// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lies between values of a model that alone live on, as its layers do.
#ifndef COMPILER_DIFFERENTIATE_PIECES_H
#define COMPILER_DIFFERENTIATE_PIECES_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstddef>
#include <cstdint>

namespace wsec::differentiate {

/// Operators from where one value alone lives on to where another one does.
struct Piece {
  llvm::SmallVector<mlir::Operation *> ops;
  mlir::Value start; ///< null: of the first
};

/// Cuts `ops` where, of what is wanted, one value alone lives on.
llvm::SmallVector<Piece>
cutIntoPieces(llvm::ArrayRef<mlir::Operation *> ops,
              llvm::function_ref<bool(mlir::Value)> isWanted);

/// Operators of all of them.
llvm::SmallVector<mlir::Operation *> opsOf(llvm::ArrayRef<Piece> pieces);

/// Layers that are alike but for their weights, one behind the other.
struct Repeats {
  size_t first = 0;  ///< piece
  size_t length = 0; ///< pieces of a layer; 0: there are none
  size_t count = 0;  ///< layers
};

/// The longest run of such layers, behind which a piece follows.
Repeats findRepeats(llvm::ArrayRef<Piece> pieces);

/// Takes all but the first `most` of the layers out of the model.
void leaveOut(llvm::SmallVectorImpl<Piece> &pieces, const Repeats &repeats,
              size_t most);

} // namespace wsec::differentiate

#endif // COMPILER_DIFFERENTIATE_PIECES_H
