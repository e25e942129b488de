// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/RoutineSet.h"

#include "compiler/kernels/Kernel.h"

#include "mlir/IR/BuiltinOps.h"
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

pe::RoutineOp RoutineSet::findOrInsert(pe::RoutineOp routine) {
  auto &candidates = routines[hashOf(routine)];
  for (pe::RoutineOp candidate : candidates)
    if (doTheSame(candidate, routine))
      return candidate;
  candidates.push_back(routine);
  return routine;
}

FailureOr<pe::RoutineOp> RoutineSet::write(wse::KernelOp kernel,
                                           RoutineBuilder &code) {
  const Kernel *library = findKernel(kernel);
  if (!library)
    return kernel.emitOpError("has no kernel that runs it");
  if (failed(library->lower(kernel, code)))
    return failure();
  code.finish();
  pe::RoutineOp own = code.getRoutine();
  pe::RoutineOp routine = findOrInsert(own);
  if (routine != own)
    own.erase();
  return routine;
}

FailureOr<SmallVector<wse::KernelOp>>
wsec::kernelsInOrder(wse::ProgramOp scheduled) {
  SmallVector<wse::KernelOp> kernels(
      scheduled.bodyBlock().getOps<wse::KernelOp>());
  for (wse::KernelOp kernel : kernels)
    if (!kernel.getTimeSlot() || !kernel.getStreamRefs() ||
        !wse::regionOf(kernel).isPlaced())
      return kernel.emitOpError(
          "lacks its slot, its streams or the place of its region");
  llvm::sort(kernels, [](wse::KernelOp a, wse::KernelOp b) {
    return *a.getTimeSlot() < *b.getTimeSlot();
  });
  return kernels;
}

FailureOr<int64_t> wsec::codeBytes(wse::ProgramOp scheduled) {
  auto kernels = kernelsInOrder(scheduled);
  if (failed(kernels))
    return failure();
  OwningOpRef<ModuleOp> dropped = ModuleOp::create(scheduled.getLoc());
  auto builder = OpBuilder::atBlockEnd(dropped->getBody());
  const Machine machine = scheduled.kernelMachine();
  ProgramBuilder shared(machine, scheduled, /*launchColor=*/0, builder);
  RoutineSet routines;
  for (wse::KernelOp kernel : *kernels) {
    RoutineBuilder code(shared, kernel, shared.freshSymbol("routine"));
    if (failed(routines.write(kernel, code)))
      return failure();
  }
  return pe::codeBytes(shared.everyPE);
}
