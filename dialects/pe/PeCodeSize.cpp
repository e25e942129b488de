// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/pe/Pe.h"

using namespace mlir;
using namespace wsec::pe;

static bool isScalar(Operation *op) { return isa<ConstantOp, ScalarOp>(op); }

// From last to first, so that a scalar is met after all that use it.
DenseSet<Operation *> wsec::pe::findUsedScalars(Block &block) {
  DenseSet<Operation *> used;
  for (Operation &op : llvm::reverse(block)) {
    if (!isScalar(&op))
      continue;
    bool needed = llvm::any_of(op.getUsers(), [&](Operation *user) {
      return !isScalar(user) || used.contains(user);
    });
    if (needed)
      used.insert(&op);
  }
  return used;
}

static int64_t operandWords(Attribute operand) {
  if (!operand || isa<FloatAttr>(operand))
    return 0;
  auto fabric = dyn_cast<FabricAttr>(operand);
  return fabric && fabric.getWindowTotal() ? 3 : 2;
}

// Words of an op alone, without what is inside.
static int64_t codeWords(Operation *op) {
  if (auto vector = dyn_cast<VectorOp>(op))
    return 2 + operandWords(vector.getDst()) + operandWords(vector.getAAttr()) +
           operandWords(vector.getBAttr());
  if (isa<ForOp>(op))
    return 3;
  if (isa<RoutineOp, TaskOp, LoadOp, StoreOp, IfOp, ControlOp, ClockOp,
          SetRouteOp>(op))
    return 2;
  if (isa<AwaitOp, ComputeOp, ActivateOp, BlockOp, UnblockOp>(op))
    return 1;
  return 0;
}

int64_t wsec::pe::codeBytes(ClassOp op) {
  int64_t words = findUsedScalars(op.getBody().front()).size();
  op.walk([&](Operation *inner) { words += codeWords(inner); });
  return 4 * words;
}
