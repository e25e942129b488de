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

int64_t wsec::pe::codeBytes(ClassOp op) {
  int64_t words = findUsedScalars(op.getBody().front()).size();
  op.walk([&](Operation *inner) {
    if (auto vector = dyn_cast<VectorOp>(inner))
      words += 2 + operandWords(vector.getDst()) +
               operandWords(vector.getAAttr()) +
               operandWords(vector.getBAttr());
    else if (isa<RoutineOp>(inner))
      words += 2;
    else if (isa<ForOp>(inner))
      words += 3;
    else if (isa<AwaitOp>(inner))
      words += 1;
  });
  return 4 * words;
}
