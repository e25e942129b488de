// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/Kernel.h"

#include "compiler/kernels/KernelLibrary.h"

namespace wsec {

const Kernel *findKernel(mlir::Operation *op) {
  llvm::StringRef name = op->getName().getStringRef();
  for (const Kernel *kernel :
       {attentionKernel(), elementwiseKernel(), fillKernel(), gatherKernel(),
        layerNormKernel(), loadKernel(), matmulKernel(), recallKernel(),
        redistributeKernel(), reduceTokensKernel(), rmsNormKernel(),
        rotaryKernel(), softmaxKernel(), sparseMatmulKernel(), storeKernel(),
        transferKernel(), updateKernel()})
    if (kernel->opName() == name)
      return kernel;
  return nullptr;
}

double startCycles(const Machine &machine, bool streams) {
  double command = machine.hopCycles * (machine.x + machine.width + machine.y +
                                        machine.height) +
                   2 * machine.rampCycles + machine.taskOverhead;
  return command + (streams ? machine.storeLatencyCycles : 0);
}

} // namespace wsec
