// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/ReadSchedule.h"
#include "compiler/kernels/ElementwisePlan.h"
#include "compiler/kernels/Kernel.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace wsec;

static int64_t resultBytes(wse::KernelOp kernel, const Machine &machine) {
  if (kernel->getNumResults() == 0)
    return 0;
  Type type = kernel->getResult(0).getType();
  return wse::TiledAttr::of(type).bytesPerPE(wse::featuresOf(type),
                                             machine.width, machine.height);
}

/// True if an element-wise kernel may write its result over input `index`: the
/// two are laid out alike, and no instruction reads the input after one has
/// begun to write the result.
static bool mayOverwrite(wse::ElementwiseOp op, unsigned index) {
  if (op.getInputs()[index].getType() != op.getResult().getType())
    return false;
  FailureOr<ElementwisePlan> plan = planElementwise(op);
  if (failed(plan))
    return false; // lowering says why
  bool written = false;
  for (const ElementwiseStep &step : plan->steps) {
    for (const ElementwiseSource &source : step.sources)
      if (written && source.kind == ElementwiseSource::Input &&
          op.getInputs()[source.index] == op.getInputs()[index])
        return false;
    written |= step.slot == 0;
  }
  return true;
}

FailureOr<SchedulingProblem>
wsec::readSchedulingProblem(wse::ProgramOp program) {
  const Machine mesh = program.targetMachine();
  SchedulingProblem problem;
  problem.firstAddress = mesh.runtimeBytes;
  problem.endAddress = mesh.sramBytes;
  llvm::DenseMap<Attribute, size_t> regions; // looked up only
  SmallVector<Machine, 1> machines;
  for (wse::RegionOp region : program.kernelRegions()) {
    regions[region.getSymNameAttr()] = machines.size();
    machines.push_back(region.machine());
  }
  llvm::DenseMap<Operation *, size_t> index;
  llvm::DenseMap<StringAttr, llvm::SmallVector<size_t>> storedBy;
  for (auto kernel : program.bodyBlock().getOps<wse::KernelOp>()) {
    const Kernel *library = findKernel(kernel);
    if (!library)
      return kernel.emitError("the kernel library has no kernel for this");
    KernelMemory memory;
    memory.name = kernel.getReportName();
    memory.region = regions.lookup(kernel.getRegionRef().getAttr());
    const Machine &machine = machines[memory.region];
    memory.resultBytes = resultBytes(kernel, machine);
    memory.scratchBytes = library->scratchBytes(kernel, machine);
    for (Value operand : kernel->getOperands())
      memory.operands.push_back(index.lookup(operand.getDefiningOp()));
    if (auto elementwise = dyn_cast<wse::ElementwiseOp>(*kernel))
      for (unsigned i = 0; i < elementwise.getInputs().size(); ++i)
        if (mayOverwrite(elementwise, i))
          memory.overwrites.push_back(memory.operands[i]);
    memory.cycles = library->cost(kernel, machine).total();
    for (StringAttr name : wse::tensorsRead(kernel))
      llvm::append_range(memory.after, storedBy[name]);
    if (auto store = dyn_cast<wse::StoreOp>(*kernel))
      storedBy[store.getOutputAttr()].push_back(problem.kernels.size());
    index[kernel] = problem.kernels.size();
    problem.kernels.push_back(std::move(memory));
  }
  return problem;
}
