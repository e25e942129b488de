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

select::VariantChoice select::cheapestVariant(Operation *op,
                                              const Machine &region,
                                              bool littleScratch) {
  const Kernel *kernel = findKernel(op);
  int64_t left = region.usableBytes();
  for (Value value : op->getOperands())
    left -= bytesPerPE(value, region);
  for (Value value : op->getResults())
    left -= bytesPerPE(value, region);
  const int before = kernel->variantOf(op);
  std::optional<VariantChoice> best;
  for (int variant = 0; variant < kernel->variantCount(op); ++variant) {
    kernel->setVariant(op, variant);
    const bool keeps = kernel->keepsWeights(op);
    if (keeps && littleScratch)
      continue;
    const int64_t room = left - (keeps ? stationaryReserve : codeReserve);
    VariantChoice choice = {
        variant, std::max<int64_t>(0, kernel->scratchBytes(op, region) - room),
        kernel->cost(op, region).total()};
    if (!best || choice < *best)
      best = choice;
  }
  kernel->setVariant(op, before);
  return *best;
}

void select::chooseVariants(wse::ProgramOp program, bool littleScratch) {
  for (auto op : program.bodyBlock().getOps<wse::KernelOp>()) {
    const Kernel *kernel = findKernel(op);
    if (!kernel || kernel->variantCount(op) < 2)
      continue;
    const Machine region = wse::regionOf(op).machine();
    kernel->setVariant(op, cheapestVariant(op, region, littleScratch).variant);
  }
}
