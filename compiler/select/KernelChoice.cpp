// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/KernelChoice.h"

using namespace mlir;
using namespace wsec;

// Code and small tables of a PE, set aside when a tensor has to be cut to fit.
static constexpr int64_t codeReserve = 8192;
// The same, and results of other kernels that lie in between, set aside where
// a variant needs much scratch that others do without: models of many different
// products have over 20 kB of code.
static constexpr int64_t stationaryReserve = 23040;

int64_t select::bytesPerPE(Value value, const Machine &region) {
  return wse::TiledAttr::of(value.getType())
      .bytesPerPE(wse::featuresOf(value), region.width, region.height);
}

int64_t select::roomForOutput(Value input, const Machine &region) {
  return (region.usableBytes() - codeReserve - bytesPerPE(input, region)) / 2;
}

select::ProductChoice select::cheapestVariant(wse::MatmulOp matmul,
                                              const Machine &region,
                                              bool littleScratch) {
  const Kernel *kernel = findKernel(matmul);
  const int64_t left = region.usableBytes() -
                       bytesPerPE(matmul.getInput(), region) -
                       bytesPerPE(matmul.getResult(), region);
  const wse::MatmulVariant before = matmul.getVariant();
  auto choiceOf = [&](wse::MatmulVariant variant) -> ProductChoice {
    matmul.setVariant(variant);
    const int64_t room =
        left - (variant == wse::MatmulVariant::Stationary ? stationaryReserve
                                                          : codeReserve);
    int64_t bytes = kernel->scratchBytes(matmul, region);
    return {variant, std::max<int64_t>(0, bytes - room),
            kernel->cost(matmul, region).total()};
  };
  ProductChoice best = choiceOf(wse::MatmulVariant::Reduce);
  best = std::min(best, choiceOf(wse::MatmulVariant::Broadcast));
  if (!littleScratch)
    best = std::min(best, choiceOf(wse::MatmulVariant::Stationary));
  matmul.setVariant(before);
  return best;
}

void select::chooseVariants(wse::ProgramOp program, bool littleScratch) {
  for (auto matmul : program.bodyBlock().getOps<wse::MatmulOp>()) {
    auto kernel = cast<wse::KernelOp>(matmul.getOperation());
    const Machine region = wse::regionOf(kernel).machine();
    matmul.setVariant(cheapestVariant(matmul, region, littleScratch).variant);
  }
}
