// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/KernelChoice.h"

using namespace mlir;
using namespace wsec;

// Code and small tables of a PE, set aside when a tensor has to be cut to fit.
static constexpr int64_t codeReserve = 8192;

int64_t select::bytesPerPE(Value value, const Machine &region) {
  return wse::TiledAttr::of(value.getType())
      .bytesPerPE(wse::featuresOf(value), region.width, region.height);
}

int64_t select::roomForOutput(Value input, const Machine &region) {
  return (region.usableBytes() - codeReserve - bytesPerPE(input, region)) / 2;
}

select::ProductChoice select::cheapestVariant(wse::MatmulOp matmul,
                                              const Machine &region) {
  const Kernel *kernel = findKernel(matmul);
  int64_t room = region.usableBytes() - codeReserve -
                 bytesPerPE(matmul.getInput(), region) -
                 bytesPerPE(matmul.getResult(), region);
  const wse::MatmulVariant before = matmul.getVariant();
  auto choiceOf = [&](wse::MatmulVariant variant) -> ProductChoice {
    matmul.setVariant(variant);
    int64_t bytes = kernel->scratchBytes(matmul, region);
    return {variant, std::max<int64_t>(0, bytes - room),
            kernel->cost(matmul, region).total()};
  };
  ProductChoice best = choiceOf(wse::MatmulVariant::Reduce);
  for (auto variant :
       {wse::MatmulVariant::Broadcast, wse::MatmulVariant::Stationary})
    best = std::min(best, choiceOf(variant));
  matmul.setVariant(before);
  return best;
}
