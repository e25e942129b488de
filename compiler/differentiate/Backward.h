// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backward graph of a block while it is made: gradients of one number, the
// loss, with respect to the values before it.
#ifndef COMPILER_DIFFERENTIATE_BACKWARD_H
#define COMPILER_DIFFERENTIATE_BACKWARD_H

#include "compiler/Refusals.h"
#include "compiler/values/Formula.h"

namespace wsec::differentiate {

/// Rows of a table that a lookup took, with their gradient: row i of `rows`,
/// [ids..., features], belongs to row ids[i] of the table.
struct LookedUp {
  mlir::Value ids, rows;
};

/// Builds before the terminator of a block, in the name of the operator whose
/// rule is at work.
class Backward : public values::OperatorBuilder {
public:
  explicit Backward(mlir::Block &block);

  /// Asks for the gradient of `value`, of floats.
  void want(mlir::Value value) { wanted.insert(value); }
  /// Whether a gradient that is asked for depends on that of `value`.
  bool wants(mlir::Value value) const { return wanted.contains(value); }

  /// Makes the gradients of `loss`, of one element, of all that is wanted and
  /// before it. False if something of it has no gradient; see `refusals`.
  bool run(mlir::Value loss);

  /// Adds `gradient` to that of `value`, if it is wanted: of its shape, or of
  /// one that broadcasts to it or to which it broadcasts, which sums up.
  void add(mlir::Value value, mlir::Value gradient);
  /// Adds the gradient of rows of a table.
  void addRows(mlir::Value table, LookedUp lookedUp);
  /// Composes an operator anew of others, between which `compose` returns its
  /// result, and adds to the gradients of its operands by way of theirs.
  void through(mlir::Value dy, llvm::function_ref<mlir::Value()> compose);
  /// The operator at work has no gradient, and why: "what is wrong; what to
  /// do".
  void refuse(const llvm::Twine &reason);

  /// What was added to the gradient of `value`, of its shape; null if nothing
  /// was. That of rows is left out unless `withRows`.
  mlir::Value of(mlir::Value value, bool withRows = true);
  llvm::ArrayRef<LookedUp> rowsOf(mlir::Value table) const;

  Refusals refusals;

  //===--------------------------------------------------------------------===//
  // For rules
  //===--------------------------------------------------------------------===//

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
  /// Exchanges the last two axes.
  mlir::Value swapped(mlir::Value x);
  /// `x` as a matrix: its last axis, and all others as one.
  mlir::Value asRows(mlir::Value x);
  /// This number in each element of a tensor of f32.
  mlir::Value filled(llvm::ArrayRef<int64_t> shape, double number = 0);
  /// `x` between elements that are 0, so that `axis` has `extent` of them.
  mlir::Value padded(mlir::Value x, int64_t axis, int64_t start,
                     int64_t extent);
  /// Sums where `shape` broadcasts to that of `x`.
  mlir::Value sumTo(mlir::Value x, llvm::ArrayRef<int64_t> shape);

private:
  mlir::Value viewed(mlir::Value x,
                     llvm::function_ref<std::optional<values::StridedView>(
                         const values::StridedView &)>
                         change);
  void at(mlir::Operation *op);
  void markWanted(mlir::Operation *op);
  void differentiate(llvm::ArrayRef<mlir::Operation *> forward);
  mlir::Value scattered(mlir::Value table, const LookedUp &lookedUp);

  // All are looked up only, so the order of pointers does not matter.
  llvm::DenseSet<mlir::Value> wanted;
  llvm::DenseMap<mlir::Value, mlir::Value> sums;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<LookedUp, 1>> rows;
  mlir::Block &block;
  mlir::Operation *atWork = nullptr;
};

/// A term of a formula.
using Term = values::TermOf<Backward>;

} // namespace wsec::differentiate

#endif // COMPILER_DIFFERENTIATE_BACKWARD_H
