// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/ReadSchedule.h"
#include "compiler/kernels/Kernel.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace wsec;

namespace {

/// Kernels that read or write what others do: each follows those that wrote
/// what it touches, one that replaces it also those that read it. Pieces of an
/// output or intermediate go to different places.
class Accesses {
public:
  void add(wse::KernelOp kernel, size_t number, std::vector<size_t> &after) {
    for (StringAttr name : wse::tensorsRead(kernel)) {
      llvm::append_range(after, written[name]);
      read[name].push_back(number);
    }
    StringAttr name = wse::tensorWritten(kernel);
    if (!name)
      return;
    if (findKernel(kernel)->replaces()) {
      llvm::append_range(after, written[name]);
      llvm::append_range(after, read[name]);
    }
    written[name].push_back(number);
  }

private:
  llvm::DenseMap<StringAttr, llvm::SmallVector<size_t>> written, read;
};

} // namespace

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
  for (wse::PersistentOp held : program.persistents()) {
    auto region = regions.find(held.getHome().getAttr());
    if (region == regions.end())
      return held.emitError("stays on ")
             << held.getHome() << ", which no kernel is on";
    problem.persistents.push_back(
        {held.getHeldName().str(), region->second,
         held.getHeldBytes(machines[region->second].width,
                           machines[region->second].height)});
  }
  llvm::DenseMap<Type, size_t> layoutClasses; // looked up only
  llvm::DenseMap<Operation *, size_t> index;
  for (auto [entry, block] : llvm::enumerate(program.entryBlocks())) {
    Accesses accesses;
    for (auto kernel : block->getOps<wse::KernelOp>()) {
      const Kernel *library = findKernel(kernel);
      if (!library)
        return kernel.emitError("the kernel library has no kernel for this");
      KernelMemory memory;
      memory.name = kernel.getReportName();
      memory.region = regions.lookup(kernel.getRegionRef().getAttr());
      const Machine &machine = machines[memory.region];
      memory.resultBytes =
          wse::resultBytes(kernel, machine.width, machine.height);
      memory.scratchBytes = library->scratchBytes(kernel, machine);
      for (OpOperand &operand : kernel->getOpOperands()) {
        if (!operand.get().getDefiningOp())
          continue; // an argument of the call
        memory.operands.push_back(index.lookup(operand.get().getDefiningOp()));
        if (library->mayOverwrite(kernel, operand.getOperandNumber()))
          memory.overwrites.push_back(memory.operands.back());
      }
      if (kernel->getNumResults())
        memory.layoutClass = layoutClasses
                                 .try_emplace(kernel->getResult(0).getType(),
                                              layoutClasses.size() + 1)
                                 .first->second;
      memory.cycles = library->cost(kernel, machine).total();
      memory.entry = entry;
      accesses.add(kernel, problem.kernels.size(), memory.after);
      index[kernel] = problem.kernels.size();
      problem.kernels.push_back(std::move(memory));
    }
  }
  return problem;
}
