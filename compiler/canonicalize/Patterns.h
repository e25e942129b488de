// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewrites of what exporters write that feed each other, to a fix-point
// (FuseMatMul.cpp): a file of CMakeLists.txt's list has some, and a function
// that adds them.
#ifndef COMPILER_CANONICALIZE_PATTERNS_H
#define COMPILER_CANONICALIZE_PATTERNS_H

#include "compiler/values/OnnxValues.h"
#include "mlir/IR/PatternMatch.h"

namespace wsec::canonicalize {
// What sources see that are `using namespace wsec::canonicalize`.
using namespace mlir;
using namespace wsec;
using namespace values;

#define WSEC_PATTERNS(Name) void add##Name(mlir::RewritePatternSet &patterns);
#include "compiler/canonicalize/Patterns.inc"
#undef WSEC_PATTERNS

/// Numbers of 16 bits are what leaves the wafer: nothing is done to them.
inline bool narrows(mlir::Operation *op) {
  mlir::Type element = values::typeOf(op->getResult(0)).getElementType();
  return mlir::isa<mlir::FloatType>(element) && !element.isF32();
}

/// The MatMul nodes of which all types are known.
inline llvm::SmallVector<onnx::NodeOp> typedProducts(mlir::Operation *root) {
  auto typed = [](mlir::Type type) {
    return mlir::isa<mlir::RankedTensorType>(type);
  };
  llvm::SmallVector<onnx::NodeOp> products;
  root->walk([&](onnx::NodeOp op) {
    if (values::qualifiedName(op) == "MatMul" &&
        llvm::all_of(op->getOperandTypes(), typed) &&
        llvm::all_of(op->getResultTypes(), typed))
      products.push_back(op);
  });
  return products;
}

} // namespace wsec::canonicalize

#endif // COMPILER_CANONICALIZE_PATTERNS_H
