// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The best features of tokens that are too large to be on the wafer at once,
// such as logits of a large vocabulary: of each piece, then of what these give.

#ifndef WSEC_COMPILER_KERNELS_ELEMENTWISE_TOPK_H
#define WSEC_COMPILER_KERNELS_ELEMENTWISE_TOPK_H

#include "compiler/kernels/Selection.h"

namespace wsec {

/// The operator that alone uses `value`, if it looks for the best of it.
onnx::TopKOp onlyTopK(mlir::Value value);

/// Builds a top_k whose operand comes in `pieces`, each with no fewer features
/// than it looks for, tokens as `tiling` has them. Candidates of all pieces
/// meet in the store.
class BestOfPieces {
public:
  /// Bytes of scratch that do not fit a PE, and cycles, of looking for the best
  /// of one piece.
  static std::pair<int64_t, double>
  lookingIn(mlir::Value piece, onnx::TopKOp op, Selection &selection);
  BestOfPieces(onnx::TopKOp op, Selection &selection, wse::TokenTiling tiling,
               int64_t pieces);
  /// The next piece, whose first feature has that number.
  void add(mlir::Value piece, int64_t first);
  /// After the last: the results of the operator are in the store.
  void finish();
  /// Numbers of features are sums of floats, and exact.
  static constexpr int64_t mostFeatures = 1 << 24;
  /// Bytes of SRAM that looking takes for each feature, beside the feature.
  static constexpr int64_t bytesPerFeature = 4;

private:
  mlir::Value fromStarts(mlir::Value numbers);

  onnx::TopKOp op;
  Selection &selection;
  const wse::TokenTiling tiling;
  const int64_t found;
  const values::Shape shape; ///< of the candidates
  wse::IntermediateOp candidates, numbers;
  llvm::SmallVector<float> starts; ///< of each candidate: of its piece
  int64_t added = 0;
};

} // namespace wsec

#endif // WSEC_COMPILER_KERNELS_ELEMENTWISE_TOPK_H
