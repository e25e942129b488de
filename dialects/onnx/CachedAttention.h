// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an onnx.cached_attention may do besides causality, and so may its
// kernel, wse.cached_attention.
#ifndef DIALECTS_ONNX_CACHEDATTENTION_H
#define DIALECTS_ONNX_CACHEDATTENTION_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace wsec::onnx {

/// How many tokens a query sees, the last up to its own: i64, 1 or more; absent:
/// all.
inline constexpr llvm::StringLiteral windowAttrName = "onnx.window";
/// A scaled score s counts as c * tanh(s / c), c f32 and positive; absent: as
/// s.
inline constexpr llvm::StringLiteral softcapAttrName = "onnx.softcap";

/// Both, as an attention has them.
struct Sight {
  std::optional<int64_t> window;
  std::optional<double> softcap;

  static Sight of(mlir::Operation *attention);
  void setOn(mlir::Operation *attention) const;
};

/// Fails with an error where one of them is not what it should be.
llvm::LogicalResult verifySight(mlir::Operation *attention);

} // namespace wsec::onnx

#endif // DIALECTS_ONNX_CACHEDATTENTION_H
