// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backward graph of a block while it is made: gradients of one number, the
// loss, with respect to the values before it.
#ifndef COMPILER_DIFFERENTIATE_BACKWARD_H
#define COMPILER_DIFFERENTIATE_BACKWARD_H

#include "compiler/Refusals.h"
#include "compiler/differentiate/FoldingBuilder.h"
#include "compiler/differentiate/Pieces.h"
#include "mlir/IR/IRMapping.h"
#include <functional>
#include <limits>
#include <map>
#include <tuple>

namespace wsec::differentiate {

/// What of a model is computed again for its gradients, and from what.
struct Recomputation {
  /// Nothing; each piece from what it begins with, which in a segment is made
  /// again, too; or each segment as a whole.
  enum class Of { None, Pieces, Segments } of = Of::Pieces;
  int64_t segment = 1;  ///< pieces of one
  int64_t kept = 1;     ///< pieces at the end of which nothing is
  bool onWafer = false; ///< what segments begin with waits there
  int64_t repeats = 0;  ///< layers that are alike, at most; 0: all
  /// Whether functions of elements between other operators are made again in
  /// all cases.
  bool elements = true;
};

/// Into how many parts to cut an extent, at least `least`: some more where they
/// are then alike, and share their code.
int64_t evenParts(int64_t extent, int64_t least);

/// Builds before the terminator of a block, in the name of the operator whose
/// rule is at work.
class Backward : public FoldingBuilder {
public:
  explicit Backward(mlir::Block &block);

  /// Asks for the gradient of `value`, of floats.
  void want(mlir::Value value) { wanted.insert(value); }
  /// Wants the gradient of `value`, of which what is added to it leaves one by
  /// one, by `leave`, as soon as it is there, and need not stay on the wafer.
  void wantLeaving(mlir::Value value) {
    want(value);
    leaves.insert(value);
  }
  /// Takes a gradient of its value's shape or, with ids, of rows of it.
  std::function<void(mlir::Value value, mlir::Value gradient, mlir::Value ids)>
      leave;
  /// Whether a gradient that is asked for depends on that of `value`.
  bool wants(mlir::Value value) const { return wanted.contains(value); }

  /// Makes the gradients of `loss`, of one element, of all that is wanted and
  /// before it. False if something of it has no gradient; see `refusals`.
  bool run(mlir::Value loss, mlir::Value gradient,
           const Recomputation &recomputation);

  /// What follows is built in the name of `op`.
  void at(mlir::Operation *op);
  /// Adds `gradient` to that of `value`, if it is wanted: of its shape, or of
  /// one that broadcasts to it or to which it broadcasts, which sums up.
  void add(mlir::Value value, mlir::Value gradient);
  /// Adds that of `part`, a view of `value` from `start` on of its last axis.
  void addPart(mlir::Value value, mlir::Value part, int64_t start,
               mlir::Value gradient);
  /// Adds the gradient of rows of a table: row i of `rows`, [ids..., features],
  /// belongs to its row ids[i].
  void addRows(mlir::Value table, mlir::Value ids, mlir::Value rows);
  /// Composes an operator anew of others, between which `compose` returns its
  /// result, and adds to the gradients of its operands by way of theirs.
  void through(mlir::Value dy, llvm::function_ref<mlir::Value()> compose);
  /// The operator at work has no gradient, and why: "what is wrong; what to
  /// do".
  void refuse(const llvm::Twine &reason);

  /// What was added to the gradient of `value`, of its shape; null if nothing
  /// was.
  mlir::Value of(mlir::Value value);
  /// The gradient of a table of which rows were looked up.
  mlir::Value scattered(mlir::Value table, mlir::Value ids, mlir::Value rows);

  /// How the model was cut: pieces, and its layers that are alike.
  size_t pieces = 0;
  Repeats layers;
  Refusals refusals;
  std::vector<std::string> notes; ///< for the report
  /// Whether an attention has an operator for its gradients, if that can be.
  bool fusesAttention = false;
  /// And a norm.
  bool fusesNorms = false;
  /// Parts along its last axis in which the gradient of `value` is made: more
  /// than one where it leaves, and would take more than an eighth of the wafer.
  int64_t partsOf(mlir::Value value) const;
  /// Elements of f32 that the wafer's SRAM has room for.
  int64_t room = std::numeric_limits<int64_t>::max();
  /// Logits that are there at a time, at most.
  int64_t mostLogits = std::numeric_limits<int64_t>::max();
  /// Masks of later keys of all layers: by queries, keys, the bits of what a
  /// later key has, and of whether that is a bound.
  std::map<std::tuple<int64_t, int64_t, uint64_t, bool>, mlir::Attribute>
      masksOfLater;

private:
  void markWanted(mlir::Operation *op);
  /// Numbers of the results whose gradients matter, of what is computed.
  llvm::SmallVector<unsigned, 1> wantedResults(mlir::Operation *op) const;
  mlir::Value kept(mlir::Value value, bool onWafer);
  mlir::Operation *again(mlir::Operation *op, mlir::IRMapping &values);
  void recompute(llvm::ArrayRef<mlir::Operation *> ops,
                 llvm::ArrayRef<mlir::Value> origins,
                 const mlir::IRMapping &from, bool byRuns);
  void recompute(llvm::ArrayRef<Piece> segment, const Recomputation &how);
  void differentiate(llvm::ArrayRef<mlir::Operation *> forward);
  bool elementsAgain = true;
  void differentiateByRuns(llvm::ArrayRef<mlir::Operation *> forward);

  // All are looked up only, so the order of pointers does not matter.
  llvm::DenseSet<mlir::Value> wanted, leaves;
  llvm::DenseMap<mlir::Value, mlir::Value> sums;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> originals;
  mlir::Block &block;
  mlir::Operation *atWork = nullptr;
};

} // namespace wsec::differentiate

#endif // COMPILER_DIFFERENTIATE_BACKWARD_H
