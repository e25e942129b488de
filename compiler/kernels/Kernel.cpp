// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/Kernel.h"

#include "compiler/kernels/KernelLibrary.h"

namespace wsec {

llvm::ArrayRef<const Kernel *> allKernels() {
  static const Kernel *const kernels[] = {
#define WSEC_KERNEL(NAME) get##NAME##Kernel(),
#include "compiler/kernels/Kernels.inc"
#undef WSEC_KERNEL
  };
  return kernels;
}

const Kernel *findKernel(mlir::Operation *op) {
  const llvm::StringRef name = op->getName().getStringRef();
  for (const Kernel *kernel : allKernels())
    if (kernel->opName() == name)
      return kernel;
  return nullptr;
}

Match Kernel::match(mlir::Operation *, const Selection &) const { return {}; }

mlir::Value Kernel::build(mlir::Operation *, Selection &) const {
  llvm_unreachable("a kernel that matches operators builds itself for them");
}

llvm::SmallVector<Offer> Kernel::offers(mlir::Operation *op,
                                        const Machine &machine) const {
  Offer only;
  only.cost = cost(op, machine);
  only.scratchBytes = scratchBytes(op, machine);
  return {only};
}

Pairing pairingOf(llvm::ArrayRef<mlir::Value> tensors, const Machine &machine) {
  for (Pairing along : {Pairing::Channels, Pairing::Features})
    if (llvm::all_of(tensors, [&](mlir::Value tensor) {
          auto type = llvm::cast<mlir::RankedTensorType>(tensor.getType());
          if (!isNarrow(tensor) || type.getRank() < 2)
            return false;
          // Neighbouring tokens are neighbours in the model's tensor, too.
          const bool whole = along == Pairing::Features ||
                             type.getDimSize(type.getRank() - 2) % 2 == 0;
          return whole && Layout::of(type, machine.height)
                              .inPairs(along, machine.width, machine.height);
        }))
      return along;
  return Pairing::None;
}

Pairing hostPairingOf(mlir::Value tensor, const Machine &machine) {
  const Pairing pairing = pairingOf(tensor, machine);
  const bool tails =
      pairing == Pairing::None && isNarrow(tensor) &&
      Layout::of(tensor, machine.height)
          .inPairs(Pairing::Tails, machine.width, machine.height);
  return tails ? Pairing::Tails : pairing;
}

Layout layoutOf(mlir::Value tensor, Pairing pairing, const Machine &machine) {
  Layout layout = Layout::of(tensor, machine.height);
  return pairing == Pairing::None
             ? layout
             : *layout.inPairs(pairing, machine.width, machine.height);
}

mlir::Value Kernel::moved(mlir::Operation *) const { return {}; }

int64_t colorsOf(wse::StreamPattern pattern) {
  switch (pattern) {
  case wse::StreamPattern::RowWest:
  case wse::StreamPattern::RowEast:
  case wse::StreamPattern::KeyNorth:
  case wse::StreamPattern::ValueNorth:
  case wse::StreamPattern::OutNorth:
  case wse::StreamPattern::OutColumn:
  case wse::StreamPattern::RootWest:
    return 2;
  default:
    return 1;
  }
}

double startCycles(const Machine &machine, bool streams) {
  double command = machine.hopCycles * (machine.x + machine.width + machine.y +
                                        machine.height) +
                   2 * machine.rampCycles + machine.taskOverhead;
  return command + (streams ? machine.storeLatencyCycles : 0);
}

} // namespace wsec
