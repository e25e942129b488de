// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/place/ReadPlacement.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace wsec;

llvm::SmallVector<wse::KernelOp> wsec::kernelsOf(wse::ProgramOp program) {
  return llvm::to_vector(program.bodyBlock().getOps<wse::KernelOp>());
}

/// One past the last row of the mesh that holds part of a tensor.
static int64_t lastRow(mlir::Type type, int64_t height) {
  wse::TiledAttr tiled = wse::TiledAttr::of(type);
  if (!tiled)
    return 1;
  if (tiled.getGroup() == 0)
    return height;
  return (tiled.getBatch() - 1) * tiled.getGroup() + tiled.rowsUsed();
}

static int64_t rowsOf(mlir::Operation *op, int64_t height) {
  int64_t rows = 1;
  for (mlir::Type type : op->getOperandTypes())
    rows = std::max(rows, lastRow(type, height));
  for (mlir::Type type : op->getResultTypes())
    rows = std::max(rows, lastRow(type, height));
  return rows;
}

PlacementProblem wsec::readPlacementProblem(wse::ProgramOp program) {
  Machine machine = program.targetMachine();
  PlacementProblem problem;
  problem.width = machine.width;
  problem.height = machine.height;
  problem.channels = machine.channelsInUse();

  llvm::SmallVector<wse::KernelOp> kernels = kernelsOf(program);
  llvm::DenseMap<mlir::Operation *, int64_t> index;
  llvm::EquivalenceClasses<int64_t> sharing;
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    index[kernel] = i;
    sharing.insert(i);
    for (mlir::Value operand : kernel->getOperands())
      if (mlir::Operation *producer = operand.getDefiningOp())
        sharing.unionSets(index.lookup(producer), i);
  }
  for (auto [i, kernel] : llvm::enumerate(kernels))
    // Work and words are spread over all columns, whatever the distribution.
    problem.kernels.push_back({kernel.getReportName(), machine.width,
                               rowsOf(kernel, machine.height),
                               sharing.getLeaderValue(i)});
  return problem;
}
