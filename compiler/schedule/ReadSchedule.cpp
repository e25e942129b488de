// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/ReadSchedule.h"
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

/// An element-wise kernel reads element i of an operand that is laid out as
/// its result just before it writes element i.
static bool mayOverwrite(wse::KernelOp kernel, Value operand) {
  return isa<wse::ElementwiseOp>(kernel.getOperation()) &&
         operand.getType() == kernel->getResult(0).getType();
}

FailureOr<SchedulingProblem> wsec::readSchedulingProblem(wse::ProgramOp program,
                                                         int64_t codeReserve) {
  Machine machine = program.targetMachine();
  SchedulingProblem problem;
  problem.firstAddress = machine.runtimeBytes + codeReserve;
  problem.endAddress = machine.sramBytes;
  llvm::DenseMap<Operation *, size_t> index;
  for (auto kernel : program.bodyBlock().getOps<wse::KernelOp>()) {
    const Kernel *library = findKernel(kernel);
    if (!library)
      return kernel.emitError("the kernel library has no kernel for this");
    KernelMemory memory;
    memory.name = kernel.getReportName();
    memory.resultBytes = resultBytes(kernel, machine);
    memory.scratchBytes = library->scratchBytes(kernel, machine);
    for (Value operand : kernel->getOperands()) {
      size_t producer = index.lookup(operand.getDefiningOp());
      memory.operands.push_back(producer);
      if (mayOverwrite(kernel, operand))
        memory.overwrites.push_back(producer);
    }
    index[kernel] = problem.kernels.size();
    problem.kernels.push_back(std::move(memory));
  }
  return problem;
}
