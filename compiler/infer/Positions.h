// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decoder that takes its past at the length it has, as calls that all have
// the capacity. The model is known at several lengths: the entry, whose past
// and tokens fill the capacity, and samples of it that find less. What the
// entry computes from the length alone is a constant of it, and true of all
// calls if
//
//   it is the same in all samples, but for its extent: places that no call has
//   written yet are there, and nobody sees them;
//   it is a mask that hides from each token exactly those behind it, which
//   attention to states does by itself;
//   it is rows of a table, those of the positions of the call's tokens: then
//   they are looked up, at positions that each call is given; so are rows of
//   another mask, up to the last token that is there.
//
// All else is refused.
#ifndef COMPILER_INFER_POSITIONS_H
#define COMPILER_INFER_POSITIONS_H

#include "compiler/values/Facts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <functional>
#include <string>

namespace wsec::infer {

/// What folding took away with a node: whether an If's condition held, or how
/// often a Loop's body was gone through.
struct Decision {
  std::string node, operation;
  int64_t number = 0;
};

/// A model at one length, inferred.
struct CallSample {
  mlir::func::FuncOp function;
  std::function<const values::Fact *(mlir::Value)> lookup;
  llvm::ArrayRef<Decision> decisions = {}; ///< in order, of results in use
};

/// Gives a node a reason; nobody has its results.
void refuseNode(onnx::NodeOp node, const llvm::Twine &why);
/// Gives those a reason that need what was refused.
void refuseConsequences(mlir::func::FuncOp function);

/// Puts lookups where constants of `entry` are rows of a table; nodes that need
/// something else get a reason. The last of `samples` has the tokens of the
/// whole capacity.
void followPositions(const CallSample &entry,
                     llvm::ArrayRef<CallSample> samples);

} // namespace wsec::infer

#endif // COMPILER_INFER_POSITIONS_H
