// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the body of an element-wise kernel to vector instructions on as few
// temporary tensors as its order of operations allows.
//
//   %0 = mulf %x, 0.5        slot 0 = mul x, 0.5
//   %1 = math.erf %x         slot 1 = erf x
//   %2 = mulf %0, %1         slot 0 = mul slot 0, slot 1

#ifndef COMPILER_KERNELS_ELEMENTWISE_ELEMENTWISEPLAN_H
#define COMPILER_KERNELS_ELEMENTWISE_ELEMENTWISEPLAN_H

#include "dialects/pe/Pe.h"
#include "dialects/wse/Wse.h"

namespace wsec {

struct ElementwiseSource {
  enum Kind { Slot, Input, Vector, Immediate };
  Kind kind = Immediate;
  unsigned index = 0; // of the slot, input or vector
  float value = 0;    // Immediate
};

struct ElementwiseStep {
  pe::Opcode opcode;
  unsigned slot; // where the result goes
  llvm::SmallVector<ElementwiseSource, 2> sources;
  bool noWrap = false;
  /// Bits move as they are, between words of floats and of integers.
  bool keepsBits = false;
};

/// Slot 0 is the result of the kernel, the others are scratch memory.
struct ElementwisePlan {
  llvm::SmallVector<ElementwiseStep> steps;
  unsigned slots = 1;
  /// Whether each slot holds integers.
  llvm::SmallVector<bool> integers;
  /// Vectors in the order in which steps consume them, once per use.
  llvm::SmallVector<unsigned> vectorUses;
};

/// How `body` computes elements of `result` from those of `inputs` and of
/// vectors. Says what has no vector instruction at the operation it belongs to.
llvm::FailureOr<ElementwisePlan>
planElementwise(mlir::ValueRange inputs, mlir::Value result, mlir::Block &body);

} // namespace wsec

#endif // COMPILER_KERNELS_ELEMENTWISE_ELEMENTWISEPLAN_H
