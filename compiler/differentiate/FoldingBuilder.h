// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes operators of which some operands are constants, such as the gradient of
// the loss itself: what need not be computed when the program runs is not.
#ifndef COMPILER_DIFFERENTIATE_FOLDINGBUILDER_H
#define COMPILER_DIFFERENTIATE_FOLDINGBUILDER_H

#include "compiler/values/Formula.h"

namespace wsec::differentiate {

class FoldingBuilder : public values::OperatorBuilder {
public:
  using OperatorBuilder::OperatorBuilder;

  /// As in OperatorBuilder, but operands are not repeated in vain, and what is
  /// a product of constants, or with 1, is found now.
  mlir::Value binary(onnx::BinaryKind kind, mlir::Value a, mlir::Value b);
  mlir::Value binary(onnx::BinaryKind kind, mlir::Value a, double b) {
    return binary(kind, a, values::scalarLike(build, loc(), a, b));
  }
  /// As in OperatorBuilder; of a constant, a view.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> perm);
  mlir::Value expand(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value sliceLast(mlir::Value x, int64_t start, int64_t size);
  /// Exchanges the last two axes.
  mlir::Value swapped(mlir::Value x);
  /// `x` as a matrix: its last axis, and all others as one.
  mlir::Value asRows(mlir::Value x);
  /// This number in each element of a tensor of f32.
  mlir::Value filled(llvm::ArrayRef<int64_t> shape, double number = 0);
  /// `x` between elements that are 0, so that `axis` has `extent` of them.
  mlir::Value padded(mlir::Value x, int64_t axis, int64_t start,
                     int64_t extent);
  /// The elements of `x` along `axis`, `step` apart from the first on; others
  /// of `extent` are 0. The inverse of a slice.
  mlir::Value spread(mlir::Value x, int64_t axis, int64_t first, int64_t step,
                     int64_t extent);
  /// Sums where `shape` broadcasts to that of `x`.
  mlir::Value sumTo(mlir::Value x, llvm::ArrayRef<int64_t> shape);

private:
  mlir::Value viewed(mlir::Value x,
                     llvm::function_ref<std::optional<values::StridedView>(
                         const values::StridedView &)>
                         change);
};

/// A term of a formula.
using Term = values::TermOf<FoldingBuilder>;

/// What is left of `x` along its last axis, which has one element then.
inline Term along(Term x, onnx::ReduceKind kind) {
  const int64_t last = values::typeOf(x.value).getRank() - 1;
  return {x.n, x.n.keptReduced(x.value, kind, last)};
}

} // namespace wsec::differentiate

#endif // COMPILER_DIFFERENTIATE_FOLDINGBUILDER_H
