// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group of element-wise operators that becomes one kernel.

#ifndef WSEC_COMPILER_SELECT_ELEMENTWISEGROUP_H
#define WSEC_COMPILER_SELECT_ELEMENTWISEGROUP_H

#include "compiler/select/Selector.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <deque>
#include <memory>
#include <tuple>

namespace wsec::select {

/// Builds one wse.elementwise out of `value` and all it is computed from, down
/// to inputs, constants and results of other kernels:
///
///   %d = div %x, 1.41      %e = erf %d       elementwise(%x) { divf, erf,
///   addf, %a = add %e, 1.0       %m = mul %x, %a                     mulf,
///   mulf } %y = mul %m, 0.5
///
/// Constants of one element become constants of the body, constants of one
/// element per feature become streamed vectors, and other tensors of the host
/// are loaded, as small as their broadcast allows.
class ElementwiseGroup {
public:
  /// The result is `value` broadcast to `shape`, distributed as `tiling`.
  ElementwiseGroup(Selector &selector, mlir::Value value,
                   llvm::ArrayRef<int64_t> shape, wse::TokenTiling tiling,
                   mlir::Operation *user);

  /// The kernel's result; a plain load if there is nothing to compute. Null if
  /// something was refused.
  mlir::Value build();

private:
  /// What turns the shape of a value into that of the group, a list: each
  /// either a shape-only operation or a broadcast. Equal lists are the same
  /// list, and null is the empty one.
  struct Step {
    mlir::Operation *op;
    mlir::DenseI64ArrayAttr broadcast;
    const Step *next;
  };

  /// An operand of the kernel: a tensor or a vector, and its scalar in the body
  /// while that is being built.
  struct Leaf {
    mlir::Value tensor;
    wse::WeightAttr vector;
    mlir::Value scalar;
  };

  /// A value to emit, seen through the steps to the group's shape.
  using Request = std::pair<mlir::Value, const Step *>;

  const Step *before(mlir::Operation *op, llvm::ArrayRef<int64_t> broadcast,
                     const Step *next);
  llvm::SmallVector<Request> requestsOf(mlir::Operation *op, const Step *steps);
  mlir::Value broughtBefore(mlir::Value current, const Step *steps);
  mlir::Value emit(mlir::Value value, const Step *steps);
  mlir::Value emitOperator(mlir::Operation *op,
                           llvm::ArrayRef<Request> operands);
  mlir::Value emitLeaf(mlir::Value value, const Step *steps);
  mlir::Value emitHost(mlir::Value value, const Step *steps);
  /// A constant, refused where 32 bits do not hold it.
  mlir::Value integer(double number);
  mlir::Value emitWafer(mlir::Value onnxValue, mlir::Value tensor,
                        const Step *steps);
  mlir::Value leaf(mlir::Value tensor, wse::WeightAttr vector);
  mlir::Operation *withoutStrides(const Step *steps);
  static mlir::Operation *applySteps(StridedView &view, const Step *steps);
  std::optional<StridedView> asTokens(const StridedView &view);
  mlir::Value load(values::TracedView traced);
  wse::TokenTiling operandTiling(bool perBatchElement, bool perToken);
  mlir::Value refuse(const llvm::Twine &reason);
  mlir::Value finish(mlir::Value result);

  Selector &selector;
  mlir::Value value;
  llvm::SmallVector<int64_t> shape;
  wse::TokenTiling tiling;
  int64_t features;
  mlir::Operation *user;
  mlir::ImplicitLocOpBuilder body;
  std::unique_ptr<mlir::Block> block;
  llvm::SmallVector<Leaf> leaves;
  llvm::SmallVector<mlir::Operation *> operators;
  std::deque<Step> allSteps;
  // Looked up only, never walked.
  llvm::DenseMap<std::tuple<mlir::Operation *, mlir::Attribute, const Step *>,
                 const Step *>
      knownSteps;
  llvm::DenseMap<Request, mlir::Value> emitted;
  bool vectorsAllowed = false;
};

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_ELEMENTWISEGROUP_H
