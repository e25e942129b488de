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

int64_t select::bytesPerPE(Type tensor, const Machine &region) {
  return wse::DistAttr::bytesPerPE(tensor, region.width, region.height);
}

int64_t select::roomForOutput(Value input, const Machine &region) {
  return (region.usableBytes() - codeReserve -
          bytesPerPE(input.getType(), region)) /
         2;
}

select::Choice select::cheapestOffer(Operation *op, ArrayRef<Offer> offers,
                                     const Machine &region, Type input,
                                     bool littleScratch) {
  int64_t left = region.usableBytes();
  for (OpOperand &operand : op->getOpOperands())
    left -= bytesPerPE(input && operand.getOperandNumber() == 0
                           ? input
                           : operand.get().getType(),
                       region);
  for (Value value : op->getResults())
    left -= bytesPerPE(value.getType(), region);
  std::optional<Choice> best;
  for (const Offer &offer : offers) {
    if (offer.input != input || (offer.keepsWeights && littleScratch))
      continue;
    const int64_t room =
        left - (offer.keepsWeights ? stationaryReserve : codeReserve);
    Choice choice = {&offer, std::max<int64_t>(0, offer.scratchBytes - room),
                     offer.cost.total()};
    if (!best || choice < *best)
      best = choice;
  }
  return *best;
}

void select::chooseVariants(wse::ProgramOp program, bool littleScratch) {
  llvm::DenseMap<Operation *, Machine> regions; // looked up only
  for (wse::RegionOp region : program.kernelRegions())
    regions[region] = region.machine();
  for (auto op : program.bodyBlock().getOps<wse::KernelOp>()) {
    const Machine &region = regions[wse::regionOf(op)];
    SmallVector<Offer> offers = findKernel(op)->offers(op, region);
    if (offers.size() > 1)
      findKernel(op)->setVariant(
          op,
          cheapestOffer(op, offers, region, {}, littleScratch).offer->variant);
  }
}
