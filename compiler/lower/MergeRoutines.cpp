// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/lower/MergeRoutines.h"

#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace wsec;

static bool doTheSame(pe::RoutineOp a, pe::RoutineOp b) {
  return OperationEquivalence::isRegionEquivalentTo(
      &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

pe::RoutineOp lower::RoutineSet::findOrInsert(pe::RoutineOp routine) {
  unsigned statements = 0;
  routine.walk([&](Operation *) { ++statements; });
  auto &candidates = routines[statements];
  for (pe::RoutineOp candidate : candidates)
    if (doTheSame(candidate, routine))
      return candidate;
  candidates.push_back(routine);
  return routine;
}
