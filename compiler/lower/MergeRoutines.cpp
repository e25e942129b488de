// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/lower/MergeRoutines.h"

#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace wsec;

static bool doTheSame(pe::RoutineOp a, pe::RoutineOp b) {
  return OperationEquivalence::isRegionEquivalentTo(
      &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

/// Equal for routines that do the same, different for nearly all others.
static llvm::hash_code hashOf(pe::RoutineOp routine) {
  llvm::hash_code hash = 0;
  routine.getBody().walk([&](Operation *op) {
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                     op, OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

pe::RoutineOp lower::RoutineSet::findOrInsert(pe::RoutineOp routine) {
  auto &candidates = routines[hashOf(routine)];
  for (pe::RoutineOp candidate : candidates)
    if (doTheSame(candidate, routine))
      return candidate;
  candidates.push_back(routine);
  return routine;
}
